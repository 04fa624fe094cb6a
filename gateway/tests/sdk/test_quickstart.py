"""docs/quickstart.md: its programs run as they stand there, against the echo provider, and print
what it says that they print. Nothing leaves this machine."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from provider import Reply, completion

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parents[2] / "docs" / "quickstart.md").read_text()
ADDRESS = "http://127.0.0.1:8080"
PROGRAMS = re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", PAGE, re.DOTALL)
NAMES = ["langchain", "agents"]


def run(program, gateway):
    assert program.count(ADDRESS) == 1
    own = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "LANGSMITH_", "LANGCHAIN_"))}
    # A key of the provider's in the environment is what makes the SDKs' telemetry want to go out.
    environment = own | {
        "GATEHOUSE_KEY": gateway.key, "OPENAI_API_KEY": "sk-not-to-be-used",
        "PYTHONPATH": str(HERE / "offline"), "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program.replace(ADDRESS, gateway.url)], env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_program_of_the_page_is_run():
    assert len(PROGRAMS) == len(NAMES) == PAGE.count("```python")
    for name, (program, _) in zip(NAMES, PROGRAMS):
        assert name in program


@pytest.mark.parametrize("name, program, printed", [(n, *p) for n, p in zip(NAMES, PROGRAMS)])
def test_prints_what_the_page_says(echo, name, program, printed):
    assert run(program, echo) == printed


def test_the_provider_sees_tokens_only(scripted):
    """The same program, in front of a provider that shows what it was sent."""
    token = re.compile(r"<EMAIL_[a-z0-9]+>")

    def call(request):
        arguments = json.dumps({"email": token.search(request["messages"][0]["content"])[0]})
        function = {"name": "find_order", "arguments": arguments}
        reply = completion(None)
        reply["choices"][0]["message"]["tool_calls"] = [
            {"id": "call_1", "type": "function", "function": function}
        ]
        reply["choices"][0]["finish_reason"] = "tool_calls"
        return Reply(200, reply)

    def say(request):
        return Reply(200, completion(f"Said: {request['messages'][-1]['content']}"))

    scripted.provider.will(call, say)
    printed = run(PROGRAMS[0][0], scripted)
    mail = "jane.doe@example.com"
    assert printed == f"the tool got {mail}\nSaid: Order 1042 of {mail}: shipped.\n"
    requests = scripted.provider.requests
    assert len(requests) == 2
    assert all(mail.encode() not in request.body for request in requests)
    tokens = {found for request in requests for found in token.findall(request.body.decode())}
    assert len(tokens) == 1, "one session, one token"


def test_the_guard_of_these_tests_works():
    environment = os.environ | {"PYTHONPATH": str(HERE / "offline")}
    program = "import socket; socket.create_connection(('192.0.2.1', 443), 1)"
    assert subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True).returncode == 99
