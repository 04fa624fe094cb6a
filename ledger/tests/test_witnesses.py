"""A real gateway and two real witnesses: every seal is cosigned, a witness that is killed catches up, the
quorum holds in both verifiers, and a log that was rolled back and went on gets no cosignature."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target"))
AUDITOR = os.environ.get("GATEHOUSE_AUDITOR_BIN") or str(TARGET / "debug" / "gatehouse-auditor")
GATEWAY = os.environ.get("GATEHOUSE_BIN") or str(TARGET / "debug" / "gatehouse")
# How long anything may take that has to happen.
PATIENCE = 240


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait(what, done):
    end = time.monotonic() + PATIENCE
    while not (found := done()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)
    return found


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True


class Process:
    """A process that ends with the test."""

    def __init__(self, *command, log):
        self.log = log
        environment = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment
            )

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def said(self):
        return self.log.read_text(errors="replace")


class Witness:
    def __init__(self, folder, name):
        self.folder, self.name, self.port = folder / name, name, free_port()
        self.folder.mkdir()
        self.words = ["--name", f"{name}.example", "--key", self.folder / "key"]
        line = subprocess.run([AUDITOR, "witness", "key", *map(str, self.words)], capture_output=True, check=True)
        self.vkey = line.stdout.decode().split()[2]
        self.id = self.vkey.split("+")[1]
        self.process = None

    def start(self, trust, log):
        self.process = Process(
            AUDITOR, "witness", "serve", *self.words, "--state", self.folder / "state", "--trust", trust, "--also", log,
            "--listen", f"127.0.0.1:{self.port}", "--log", "json", log=self.folder / "log",
        )
        wait(f"{self.name} to listen", lambda: listens(self.port))

    def section(self):
        return f'[[ledger.witness]]\nurl = "http://127.0.0.1:{self.port}"\nkey = "{self.vkey}"\n'

    def evidence(self):
        return list((self.folder / "state" / "evidence").glob("*.txt"))


class Gateway:
    def __init__(self, folder, witnesses=()):
        self.folder, self.data = folder, folder / "data"
        folder.mkdir(exist_ok=True)
        self.witnesses, self.process = witnesses, None

    def start(self):
        self.port, self.admin = free_port(), free_port()
        config = self.folder / "gatehouse.toml"
        config.write_text(
            f'config_version = 1\nlisten = "127.0.0.1:{self.port}"\nadmin_listen = "127.0.0.1:{self.admin}"\n'
            f'data_dir = "{self.data}"\n[[provider]]\nname = "echo"\nprotocol = "echo"\n'
            '[ledger]\nappend_timeout = "20s"\n' + "".join(one.section() for one in self.witnesses)
        )
        self.process = Process(GATEWAY, "up", "--no-model", "--config", config, log=self.folder / "log")
        wait("the gateway to be ready", lambda: "ready" in self.ready())

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz") as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return f"{error.code}"
        except OSError:
            return ""

    def exchange(self):
        token = re.search(r"gk_[A-Za-z0-9_-]{20,}", self.process.said())[0]
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            assert answer.status == 200

    def seals(self):
        """How many seals there are, and by how many of them each witness stands."""
        [folder] = (self.data / "ledger" / "seal").iterdir()
        numbers = sorted(int(path.stem) for path in folder.glob("*.note"))
        cosigned = self.data / "ledger" / "cosig" / folder.name
        by = {one.name: sorted(int(path.parent.name) for path in cosigned.glob(f"*/{one.id}.note")) for one in self.witnesses}
        return numbers[-1], by

    def last_is_cosigned_by(self, *witnesses):
        last, by = self.seals()
        return all(last in by[one.name] for one in witnesses)


def verified(folder, trust):
    """The exit code of both verifiers, which agree, and what ours says."""
    ours = subprocess.run([AUDITOR, "verify", folder, "--trust", trust], capture_output=True)
    theirs = subprocess.run([sys.executable, HERE / "verify.py", folder, "--trust", trust], capture_output=True)
    assert ours.returncode == theirs.returncode, (ours, theirs)
    return ours.returncode, ours.stdout.decode()


def test_seals_are_witnessed(tmp_path):
    gateway = Gateway(tmp_path / "gateway")
    gateway.start()
    gateway.exchange()
    assert gateway.process.stop() == 0
    trust = gateway.data / "trust.policy"
    witnesses = one, two = Witness(tmp_path, "w1"), Witness(tmp_path, "w2")
    quorum = tmp_path / "quorum.policy"
    lines = [line for line in trust.read_text().splitlines() if line.startswith("log ")]
    lines += [f"witness {witness.name} {witness.vkey}" for witness in witnesses]
    quorum.write_text("\n".join([*lines, "group both all w1 w2", "quorum both", ""]))
    code, said = verified(gateway.data / "ledger", quorum)
    assert code == 2 and "no seal has the cosignatures" in said, said
    try:
        follow(tmp_path, gateway, witnesses, trust, quorum)
    finally:
        for running in (gateway, one, two):
            running.process.stop(signal.SIGKILL)


def follow(tmp_path, gateway, witnesses, trust, quorum):
    one, two = witnesses
    [log] = [path.name for path in (gateway.data / "ledger" / "seal").iterdir()]
    for witness in witnesses:
        witness.start(trust, log)
    gateway.witnesses = witnesses
    gateway.start()
    wait("both cosignatures", lambda: gateway.last_is_cosigned_by(one, two))
    # The stream that has just begun may have no segment yet.
    code, said = verified(gateway.data / "ledger", quorum)
    assert code != 1 and "witnessed up to seal" in said, said

    # One is killed: the other goes on, and the gateway says so.
    two.process.stop(signal.SIGKILL)
    gateway.exchange()
    assert gateway.process.stop() == 0
    assert gateway.last_is_cosigned_by(one), "the last seal is shown once more at the end"
    gateway.start()
    line = wait("the gateway to say so", lambda: re.search("w2.example is [1-9][0-9]* seals behind: not reached", gateway.ready()))
    assert line
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin}/metrics") as answer:
        metrics = answer.read().decode()
    assert 'gatehouse_log_unwitnessed{witness="w2.example"} 1' in metrics
    assert 'gatehouse_log_unwitnessed{witness="w1.example"} 0' in metrics
    wait("the other's cosignature", lambda: gateway.last_is_cosigned_by(one))
    two.start(trust, log)
    wait("the killed one to catch up", lambda: gateway.last_is_cosigned_by(one, two))
    wait("the gateway to say that", lambda: "w2.example is 0 seals behind\n" in gateway.ready())
    assert gateway.process.stop() == 0
    assert gateway.last_is_cosigned_by(one, two)
    code, said = verified(gateway.data / "ledger", quorum)
    last, _ = gateway.seals()
    assert code == 0 and f"witnessed up to seal {last} " in said, said
    assert not one.evidence() and not two.evidence()

    # The store is rolled back to now, after it has gone on: the witnesses know better.
    shutil.copytree(gateway.data, tmp_path / "kept")
    gateway.start()
    wait("both cosignatures", lambda: gateway.last_is_cosigned_by(one, two))
    gateway.exchange()
    assert gateway.process.stop() == 0
    assert gateway.last_is_cosigned_by(one, two)
    longest, _ = gateway.seals()
    shutil.rmtree(gateway.data)
    shutil.copytree(tmp_path / "kept", gateway.data)
    gateway.start()
    wait("the gateway to say so", lambda: re.search("w1.example is [1-9].*(fewer seals than|another history|does not continue)", gateway.ready()))
    # It goes on past what they know, and gets nothing for it.
    while gateway.seals()[0] < longest:
        assert gateway.process.stop() == 0
        gateway.start()
    assert gateway.process.stop() == 0
    forked, by = gateway.seals()
    assert forked > last and max(by["w1"] + by["w2"]) == last
    assert "the witness does not cosign the log's seals" in gateway.process.said()
    assert one.evidence() and two.evidence()
    code, said = verified(gateway.data / "ledger", quorum)
    assert f"witnessed up to seal {last} " in said, said
