"""The second verifier against the first: the same verdict on every log of ledger-fixtures, which
`cargo test -p gatehouse-ledger --test it` leaves in cargo's target folder."""

import base64
import json
import os
import pathlib
import subprocess
import sys

import pytest

import stamps
import verify

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target"))
FIXTURES = TARGET / "tmp" / "ledger-fixtures"
AUDITOR = os.environ.get("GATEHOUSE_AUDITOR_BIN") or str(TARGET / "debug" / "gatehouse-auditor")


def log(name):
    folder = FIXTURES / name / "ledger"
    return {object: (folder / object).read_bytes() for object in verify.objects(folder)}


@pytest.fixture(scope="module")
def cases():
    return [json.loads(line) for line in (FIXTURES / "cases.jsonl").read_text().splitlines()]


def test_every_case(cases):
    logs, wrong = {}, []
    for case in cases:
        if case["log"] not in logs:
            logs[case["log"]] = log(case["log"])
        objects = dict(logs[case["log"]])
        for name, changed in case["change"].items():
            objects.pop(name, None)
            if changed is not None:
                objects[name] = base64.b64decode(changed)
        trust = case["trust"] and verify.read_trust(case["trust"])
        if case["log"].startswith("shown-"):
            exit = verify.check_proof(list(objects), lambda name, limit: objects[name], trust)
        else:
            authorities = case["tsa"] and stamps.read_authorities(case["tsa"])
            exit = verify.verify(list(objects), lambda name, limit: objects[name], trust, authorities)
        if exit != case["exit"]:
            wrong.append((case["log"], case["case"], case["exit"], exit))
    assert not wrong, wrong
    assert len(cases) > 800


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode


@pytest.mark.parametrize("name", ["clean", "open", "recovered", "crafted-end-recovered", "crafted-time-back"])
def test_the_programs_on_folders(name, cases):
    folder = FIXTURES / name
    [wanted] = {case["exit"] for case in cases if case["log"] == name and case["case"] == "as it is"}
    for program in ([sys.executable, HERE / "verify.py"], [AUDITOR, "verify"]):
        assert run(*program, folder / "ledger", "--trust", folder / "trust.policy") == wanted
        assert run(*program, folder / "ledger") == (1 if wanted == 1 else 2)
        assert run(*program, folder / "nowhere", "--trust", folder / "trust.policy") == 2


@pytest.mark.parametrize("name", ["shown-plain", "shown-witnessed"])
def test_the_programs_on_a_session_shown_alone(name, tmp_path):
    folder, trust = FIXTURES / name / "ledger", FIXTURES / name / "trust.policy"
    programs = ([sys.executable, HERE / "verify.py", "--proof"], [AUDITOR, "check-proof"])
    for program in programs:
        assert run(*program, folder, "--trust", trust) == 0
        assert run(*program, folder) == 64
        assert run(*program, folder / "nowhere", "--trust", trust) == 2
        assert run(*program, tmp_path, "--trust", trust) == 2
        assert run(*program, folder, "--trust", FIXTURES / "clean" / "trust.policy") == 1


def test_what_is_in_a_folder(tmp_path):
    """What is hidden is no part of the log, and what cannot be read is not passed over."""
    for source in (FIXTURES / "clean").rglob("*"):
        if source.is_file():
            target = tmp_path / source.relative_to(FIXTURES / "clean")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    ledger, trust = tmp_path / "ledger", tmp_path / "trust.policy"
    programs = ([sys.executable, HERE / "verify.py"], [AUDITOR, "verify"])
    both = lambda: {run(*program, ledger, "--trust", trust) for program in programs}
    (ledger / ".new").mkdir()
    (ledger / ".new" / "x").write_bytes(b"")
    (ledger / "seal").mkdir(exist_ok=True)
    assert both() == {0}
    (ledger / "seal" / "link").symlink_to(tmp_path)
    assert both() == {2}
    (ledger / "seal" / "link").unlink()
    certificate = next((ledger / "cert").iterdir())
    certificate.rename(tmp_path / "certificate")
    certificate.symlink_to(tmp_path)
    assert both() == {2}


def test_several_places_are_one_log(tmp_path):
    """Copies may overlap, but not differ; and none may be empty."""
    source, trust = FIXTURES / "clean" / "ledger", FIXTURES / "clean" / "trust.policy"
    names = sorted(verify.objects(source))
    places = [tmp_path / "a", tmp_path / "b"]
    last = [name for name in names if name.startswith("log/")][-1]
    for place, wanted in zip(places, ([name for name in names if name != last], names[1:])):
        for name in wanted:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((source / name).read_bytes())
    programs = ([sys.executable, HERE / "verify.py"], [AUDITOR, "verify"])
    both = lambda *folders: {run(*program, *folders, "--trust", trust) for program in programs}
    assert 0 not in both(places[0]) | both(places[1])
    assert both(*places) == {0}
    (tmp_path / "empty").mkdir()
    assert both(*places, tmp_path / "empty") == {2}
    assert both(*places, tmp_path / "nowhere") == {2}
    shared = places[1] / names[1]
    shared.write_bytes(shared.read_bytes()[:-1] + b"!")
    assert both(*places) == both(*reversed(places)) == {1}


GOOD = "log v https://example.org\nquorum none\n"


@pytest.mark.parametrize("text", [
    "", "quorum none\n", "log v\n", "log v\nlog v\nquorum none\n", "log v\nquorum none\nquorum none",
    "log v\nquorum none\r\n", "log v\nquorum x\n", "trust v\n" + GOOD, "log v a b\nquorum none\n",
    "witness none v\n" + GOOD, "witness a v\nwitness a v\n" + GOOD, "group g all a\n" + GOOD,
    "witness a v\ngroup g 2 a\n" + GOOD, "witness a v\ngroup g any a a\n" + GOOD,
    "witness a v\ngroup g 0 a\n" + GOOD, "witness a v\ngroup g any\n" + GOOD,
    "witness a v\ngroup g any a\ngroup h any a\n" + GOOD, "log V\nquorum none\n",
])
def test_bad_trust_files_are_errors_of_the_call(text, tmp_path):
    clean = FIXTURES / "clean"
    vkey = next(l for l in (clean / "trust.policy").read_text().splitlines() if l.startswith("log "))[4:]
    good = tmp_path / "good"
    good.write_text(GOOD.replace("log v", f"log {vkey}"))
    bad = tmp_path / "bad"
    bad.write_bytes(text.replace(" v", f" {vkey}").replace(" V", f" {vkey[:-1]}").encode())
    for program in ([sys.executable, HERE / "verify.py"], [AUDITOR, "verify"]):
        assert run(*program, clean / "ledger", "--trust", good) == 0
        assert run(*program, clean / "ledger", "--trust", bad) == 64
