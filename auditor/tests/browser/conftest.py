"""Reports for the browser, made by the auditor from the log of a real gateway."""

import csv
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from chromium import Chromium

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
GATEWAY = pathlib.Path(os.environ.get("GATEHOUSE_BIN") or TARGET / "debug" / "gatehouse")
AUDITOR = GATEWAY.with_name("gatehouse-auditor")
ANSWER = "Try jane.roe@example.com, or the card 5555 5555 5555 4444."


class Provider(http.server.BaseHTTPRequestHandler):
    """Answers with values that no request held, so that they are masked."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def send(method, url, key, body=None):
    """Status and body of an answer."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(origin, key, content, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    return send("POST", f"{origin}/v1/chat/completions", key, body)[0]


def converse(origin, key, other):
    """Requests that are admitted, and requests that are refused for several reasons."""
    for number in range(5):
        text = f"I am caller{number}@example.org, my card is 4111 1111 1111 1111 and my IBAN GB82 WEST 1234 5698 7654 32"
        assert ask(origin, key, text) == 200
    session = json.loads(send("POST", f"{origin}/v1/sessions", key, {})[1])
    assert ask(origin, key, "Nothing of interest.", session_id=session["session_id"]) == 200
    assert ask(origin, other, "Whose is it?", session_id=session["session_id"]) == 404
    assert send("DELETE", f"{origin}/v1/sessions/{session['reference']}", key)[0] in (200, 204)
    assert ask(origin, key, "Too late.", session_id=session["session_id"]) == 404
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
    assert [ask(origin, key, picture) for _ in range(2)] == [422, 422]
    assert ask(origin, "gk_" + "A" * 43, "Let me in.") == 401


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """The data directory of a gateway that has ended."""
    folder = tmp_path_factory.mktemp("gateway")
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    config = folder / "gatehouse.toml"
    config.write_text(
        'config_version = 1\nlisten = "127.0.0.1:0"\nadmin_listen = "127.0.0.1:0"\n'
        '[[provider]]\nname = "scripted"\nprotocol = "openai"\nallow_plain_http = true\n'
        f'base_url = "http://127.0.0.1:{provider.server_port}/v1"\n'
        '[ledger]\nappend_timeout = "20s"\n'
    )
    up = [GATEWAY, "up", "--no-model", "--config", config, "--data", folder / "data"]
    gateway = subprocess.Popen(up, stdout=subprocess.PIPE, text=True, env={})
    try:
        printed = ""
        for line in gateway.stdout:
            printed += line
            if "Anthropic(" in line:
                break
        origin, key = re.search(r"listens on (\S+);", printed)[1], re.search(r"gk_\S+", printed)[0]
        create = [GATEWAY, "key", "create", "--name", "second", "--data", folder / "data"]
        made = subprocess.run(create, check=True, env={}, capture_output=True, text=True)
        converse(origin, key, made.stdout.strip())
        gateway.send_signal(signal.SIGTERM)
        assert gateway.wait(60) == 0
    finally:
        gateway.kill()
        gateway.wait()
        provider.shutdown()
    return folder / "data"


class Package:
    """What `evidence` wrote, and how it was asked."""

    def __init__(self, data, folder, *more):
        self.trust, self.out, self.db = data / "trust.policy", folder / "package", folder / "views.sqlite"
        arguments = [data / "ledger", "--trust", self.trust, "--out", self.out, "--db", self.db, *more]
        self.command = [AUDITOR, "evidence", *map(str, arguments)]
        ended = subprocess.run(self.command, capture_output=True, text=True)
        self.status, self.said = ended.returncode, ended.stdout + ended.stderr
        self.report = self.out / "report.html"

    def csv(self, name):
        with open(self.out / name, newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def package(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    package = Package(data, folder, "--key", folder / "auditor.key")
    assert package.status == 0, package.said
    return package


@pytest.fixture(scope="session")
def browser():
    browser = Chromium()
    yield browser
    browser.stop()
