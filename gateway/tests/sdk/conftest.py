"""Starts real gateways for the official SDKs: one with the built-in echo provider, one in front of
a scripted provider whose every request can be looked at."""

import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from provider import Provider

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("GATEHOUSE_BIN") or str(
    pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "gatehouse"
)
START_SECONDS = 60


class Gateway:
    """A running gateway: its address, its first caller key, and what it printed."""

    def __init__(self, folder, providers):
        self.data = folder / "data"
        config = folder / "gatehouse.toml"
        config.write_text(
            "config_version = 1\n"
            'listen = "127.0.0.1:0"\nadmin_listen = "127.0.0.1:0"\n'
            f"data_dir = {str(self.data)!r}\n{providers}"
            # A slow disk is not what these tests are about.
            '\n[ledger]\nappend_timeout = "20s"\n'
        )
        self.log = open(folder / "stderr.log", "w+b")
        # The caller's own provider keys must not decide what is tested.
        environment = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
        self.process = subprocess.Popen(
            [BINARY, "up", "--no-model", "--config", str(config)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env=environment,
        )
        self.printed = ""
        self.url = self.key = None
        ready = threading.Event()
        threading.Thread(target=self._read, args=(ready,), daemon=True).start()
        if not ready.wait(START_SECONDS) or not (self.url and self.key):
            self.stop()
            pytest.fail(f"the gateway did not start; it printed:\n{self.printed}\n{self.errors()}")

    def _read(self, ready):
        for line in self.process.stdout:
            self.printed += line.decode()
            url = re.search(r"listens on (http://[0-9.:]+)", self.printed)
            key = re.search(r"gk_[A-Za-z0-9_-]{20,}", self.printed)
            if url and key and "Anthropic(" in self.printed:
                self.url, self.key = url[1], key[0]
                ready.set()
        ready.set()

    def errors(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


@pytest.fixture(scope="session")
def echo(tmp_path_factory):
    """A gateway whose only provider is the built-in echo."""
    configuration = (
        '[[provider]]\nname = "echo"\nprotocol = "echo"\n[sessions.phases]\ninitial = "intake"\n'
        'by_model = ["work"]\nnext = { intake = ["work"], work = ["intake"] }\n'
    )
    gateway = Gateway(tmp_path_factory.mktemp("echo"), configuration)
    yield gateway
    assert gateway.stop() == 0, gateway.errors()


@pytest.fixture(scope="session")
def scripted_gateway(tmp_path_factory):
    provider = Provider()
    providers = "".join(
        f'[[provider]]\nname = "{name}"\nprotocol = "{name}"\nbase_url = "{provider.url}{path}"\n'
        f'api_key = "file:{tmp_path_factory.getbasetemp() / "provider-key"}"\n'
        for name, path in (("openai", "/v1"), ("anthropic", ""))
    )
    providers += (
        '[[provider]]\nname = "down"\nprotocol = "openai"\nmodels = ["down-*"]\n'
        'base_url = "http://127.0.0.1:1/v1"\n[sessions]\nwait = "300ms"\n'
    )
    key = tmp_path_factory.getbasetemp() / "provider-key"
    key.touch(mode=0o600)
    key.write_text("provider-secret-key\n")
    gateway = Gateway(tmp_path_factory.mktemp("scripted"), providers)
    gateway.provider = provider
    yield gateway
    assert gateway.stop() == 0, gateway.errors()
    provider.stop()


@pytest.fixture
def scripted(scripted_gateway):
    """A gateway in front of a provider that says what the test tells it to."""
    scripted_gateway.provider.reset()
    return scripted_gateway
