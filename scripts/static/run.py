"""Runs the static gateway as the image would. Called by scripts/static.sh, in namespaces of its own.

The root holds the two programs and what a container engine adds (/proc, hosts, resolv.conf), and
cannot be written to but for /data. There is no nsswitch.conf and no library: what getaddrinfo of a
static glibc needs beyond itself would be missing here.
"""

import fcntl
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request

USER = 65532
NAME = "provider.example"
IN_HOSTS = "hosts.example"
PROVIDER = ("127.0.0.1", 9000)
CONFIG = f"""
config_version = 1
listen = "127.0.0.1:8080"
[[provider]]
name = "openai"
protocol = "openai"
base_url = "http://{NAME}:{PROVIDER[1]}/v1"
allow_plain_http = true
[[provider]]
name = "other"
protocol = "openai"
models = ["other"]
base_url = "http://{IN_HOSTS}:{PROVIDER[1]}/v1"
allow_plain_http = true
"""


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def make_root(built: pathlib.Path) -> pathlib.Path:
    root = pathlib.Path(tempfile.mkdtemp())
    root.chmod(0o755)
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "-o", "mode=755", "root", root)
    for name in ("gatehouse", "gatehouse-auditor"):
        target = root / name
        target.write_bytes((built / name).read_bytes())
        target.chmod(0o755)
    for folder in ("data", "etc/gatehouse", "proc"):
        (root / folder).mkdir(parents=True)
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    (root / "etc/hosts").write_text(f"127.0.0.1 {IN_HOSTS}\n")
    (root / "etc/gatehouse/gatehouse.toml").write_text(CONFIG)
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "tmpfs", "-o", f"uid={USER},gid={USER},mode=700", "data", root / "data")
    mount("-o", "remount,ro", root)
    return root


def loopback_up():
    """A new network namespace has it down; `ip` is not on every machine."""
    set_flags, up = 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH22x", b"lo", up))


def answer_names(server: socket.socket, asked: list):
    """A name server that knows one name, and says of the others that they do not exist."""
    while True:
        query, peer = server.recvfrom(512)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += query[at] + 1
        name, kind = ".".join(labels), struct.unpack("!H", query[at + 1 : at + 3])[0]
        asked.append(name)
        question = query[12 : at + 5]
        known = name == NAME
        record = struct.pack("!HHHIH4B", 0xC00C, 1, 1, 60, 4, 127, 0, 0, 1) if known and kind == 1 else b""
        head = struct.pack("!2sHHHHH", query[:2], 0x8180 if known else 0x8183, 1, bool(record), 0, 0)
        server.sendto(head + question + record, peer)


class Provider(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "found by name"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask(key: str, model: str) -> str:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}]}).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request("http://127.0.0.1:8080/v1/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def main():
    root = make_root(pathlib.Path(sys.argv[1]))
    loopback_up()
    names, asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
    names.bind(("127.0.0.1", 53))
    threading.Thread(target=answer_names, args=(names, asked), daemon=True).start()
    provider = http.server.HTTPServer(PROVIDER, Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()

    inside = [shutil.which("chroot"), f"--userspec={USER}:{USER}", root]
    up = [*inside, "/gatehouse", "up", "--no-model", "--config", "/etc/gatehouse/gatehouse.toml", "--data", "/data"]
    gateway = subprocess.Popen(up, stdout=subprocess.PIPE, text=True, env={})
    key = None
    for line in gateway.stdout:
        if found := re.fullmatch(r"\s*(gk_\S+)\s*", line):
            key = found[1]
        if "Anthropic(" in line:
            break
    assert key, "no key was shown"
    health = [*inside, "/gatehouse", "health", "--config", "/etc/gatehouse/gatehouse.toml"]
    subprocess.run(health, check=True, env={})
    assert ask(key, "m") == "found by name"
    assert NAME in asked, asked
    assert ask(key, "other") == "found by name"
    assert IN_HOSTS not in asked, asked
    print("requests reached providers that were found by DNS and in /etc/hosts")
    owners = {path.stat().st_uid for path in (root / "data").rglob("*")}
    assert owners == {USER}, owners
    gateway.terminate()
    assert gateway.wait(timeout=60) == 0, "the gateway ended in order"
    verify = ["/gatehouse-auditor", "verify", "/data/ledger", "--trust", "/data/trust.policy"]
    subprocess.run([*inside, *verify], check=True, env={})
    write = [*inside, "/gatehouse", "demo", "--keep", "/outside"]
    refused = subprocess.run(write, env={}, capture_output=True, text=True)
    assert refused.returncode != 0 and not os.path.exists(root / "outside"), "the root can be written to"
    print("nothing but /data was or can be written")


main()
