"""The second reader of sealed payloads against the first, on what `cargo test -p gatehouse-auditor
--test it` leaves in cargo's target folder, whole and changed in every way that there is."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import payloads

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target"))
FIXTURE = TARGET / "tmp" / "payload-fixture"
AUDITOR = os.environ.get("GATEHOUSE_AUDITOR_BIN") or str(TARGET / "debug" / "gatehouse-auditor")
LATER = 4_000_000_000_000_000


@pytest.fixture
def book(tmp_path):
    shutil.copytree(FIXTURE, tmp_path / "book")
    return tmp_path / "book"


def ours(book, keys=None, now_us=1):
    counts, texts, code = payloads.check(book / "ledger", book / "payloads", keys, now_us)
    return {word: count for word, count in counts.items() if count}, texts, code


def theirs(book):
    command = [AUDITOR, "verify", book / "ledger", "--trust", book / "trust.policy"]
    done = subprocess.run([*command, "--payloads", book / "payloads", "--json"], capture_output=True)
    return json.loads(done.stdout)["payloads"]["counts"], done.returncode


def agree(book):
    counts, _, code = ours(book)
    assert theirs(book) == (counts, code)
    return counts, code


def objects(book):
    return sorted(path for path in (book / "payloads").rglob("*.bin"))


def test_every_text_opens(book):
    wanted = json.loads((book / "texts.json").read_text())
    _, texts, code = ours(book, payloads.read_keys(book / "keys.jsonl"))
    assert code == 0 and texts == wanted and len(wanted) > 6
    counts, _ = agree(book)
    assert counts == {"whole": len(wanted), "erased": 2}


def test_a_key_of_another_session_opens_nothing(book):
    keys = payloads.read_keys(book / "keys.jsonl")
    names = sorted(keys)
    mixed = {name: keys[other] for name, other in zip(names, names[1:] + names[:1])}
    _, texts, _ = ours(book, mixed)
    assert set(texts.values()) == {"with another key"}


def test_every_byte_counts(book):
    """All bytes of small objects, and some of large ones, by the second reader; both on one of each."""
    for path in objects(book):
        stored = path.read_bytes()
        places = range(len(stored)) if len(stored) < 1000 else range(0, len(stored), 4099)
        erased = "s_" + "c" * 26 in str(path)
        for at in places:
            changed = bytearray(stored)
            changed[at] ^= 1 << (at % 8)
            path.write_bytes(changed)
            counts, _, code = ours(book)
            assert (counts.get("altered"), code) == ((None, 0) if erased else (1, 1)), (path, at)
        agree(book)
        path.write_bytes(stored)


def test_objects_that_are_dropped_cut_swapped_or_added(book):
    all_of = [path for path in objects(book) if "c" * 26 not in str(path)]
    first, second = all_of[:2]
    stored = first.read_bytes()
    first.unlink()
    assert agree(book)[1] == 2
    counts, _, code = ours(book, now_us=LATER + 1)
    assert (counts["expired"], code) == (1, 0)
    for changed in (stored[:-1], stored + b"\0", b"", second.read_bytes()):
        first.write_bytes(changed)
        assert agree(book)[1] == 1
    first.write_bytes(stored)
    key = first.parent / "key.bin"
    key.write_bytes(b"wrapped")
    assert agree(book)[1] == 1
    key.unlink()
    assert agree(book)[1] == 0
