"""Schemathesis on docs/openapi.yaml and a running gateway: what the page describes is taken and answered
as described, what it does not is refused, and nothing is a failure of the gateway's."""

import os
import pathlib
import subprocess
import sys

import httpx
import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
EXAMPLES = 12
# What a well-formed request may meet all the same: a session that is not there, a state that does not
# allow the change or has another version.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 404, 409, 412]
"""


@pytest.fixture(scope="module")
def session(echo):
    """A session with something of each kind in it."""
    with httpx.Client(base_url=echo.url, headers={"authorization": f"Bearer {echo.key}"}) as client:
        reference = client.post("/v1/sessions", json={}).json()["reference"]
        for method, part, body in (
            ("PUT", "artifacts/plan.md", {"content": "# Plan"}),
            ("PUT", "tool-results/call_1", {"text": "3 seats"}),
            ("POST", "checkpoints", {"name": "plan.md"}),
            ("POST", "errors", {"text": "timed out"}),
        ):
            answer = client.request(method, f"/v1/sessions/{reference}/{part}", json=body)
            assert answer.status_code == 200, answer.text
    return reference


def schemathesis(gateway, folder, configuration, *options):
    """Runs it, and says what it found where that is anything."""
    path = folder / "schemathesis.toml"
    path.write_text(CONFIGURATION + configuration)
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(path), "run", str(PAGE),
        "--url", gateway.url, "--header", f"Authorization: Bearer {gateway.key}",
        "--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none",
        # Two keys that do not agree are 401, and then nothing else is seen.
        "--generation-with-security-parameters", "false",
        "--warnings", "off", "--no-color", *options,
    ]
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_proxy")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    said = (done.stdout + done.stderr).replace(gateway.key, "gk_…")
    lines = [line[:300] for line in said.splitlines()]
    assert done.returncode == 0, "\n".join(lines[-200:])
    assert gateway.process.poll() is None


def test_any_session(echo, tmp_path):
    schemathesis(echo, tmp_path, "")


def test_a_session_that_is_there(echo, session, tmp_path):
    parameters = f'[parameters]\nreference = "{session}"\n'
    schemathesis(echo, tmp_path, parameters, "--exclude-operation-id", "closeSession")
