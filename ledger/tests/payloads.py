#!/usr/bin/env python3
"""A second reader of sealed payloads, written from docs/audit-log.md §14 and from nothing else. It
shares no code with the first; records it takes from the second verifier. Needs what that needs, and
cryptography.

    payloads.py LOG PAYLOADS [KEYS]         a JSON object: how many there are of each kind, and, with
                                            keys, the SHA-256 of the texts; exit 0, 1 broken, 2 cannot be told"""

import base64
import collections
import hashlib
import hmac
import json
import os
import re
import sys
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import verify

CHUNK, TAG = 65536, 16
HEX = "[0-9a-f]"
LOCATION = re.compile(rf"p/(s_[A-Za-z0-9_]{{1,62}})/(0|[1-9][0-9]*)-(req|rep)-({HEX}{{16}})\.bin")
MEMBERS = {"n", "ct", "len", "kid", "kc", "pm", "loc", "until_us"}


def lp(part):
    return len(part).to_bytes(8, "big") + part


def derive(key, info):
    """HKDF-SHA-256 without a salt, one block."""
    extracted = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(extracted, info + b"\1", "sha256")


def events(folder):
    """Every event with the place of its record."""
    for name in sorted(verify.objects(folder)):
        match = verify.SEGMENT.fullmatch(name)
        if match:
            with open(os.path.join(folder, name), "rb") as file:
                lines = verify.unpack(file.read()).decode().splitlines()
            for number, line in enumerate(lines[1:-1], int(match[3])):
                yield f"{match[2]}/{number}", json.loads(line)["e"]


class Body:
    """One entry of a record's `body`; an error if it is not in its form."""

    def __init__(self, entry, session):
        verify.need(set(entry) == MEMBERS)
        location = LOCATION.fullmatch(entry["loc"])
        verify.need(location and location[1] == session and location[3] == entry["n"])
        self.loc, self.session, self.part = entry["loc"], session, entry["n"]
        self.number, self.length = int(location[2]), entry["len"]
        self.kid, self.until_us = entry["kid"], entry["until_us"]
        verify.need(re.fullmatch(r"[A-Za-z0-9_.:/-]{1,128}", self.kid))
        for number in (self.number, self.length, self.until_us):
            verify.need(type(number) is int and 0 <= number <= verify.MAX_INTEGER)
        verify.need(re.fullmatch(f"sha256:{HEX}{{64}}", entry["ct"]) and entry["ct"][7:23] == location[4])
        verify.need(re.fullmatch(f"{HEX}{{64}}", entry["kc"]) and re.fullmatch(f"{HEX}{{64}}", entry["pm"]))
        self.ct, self.kc, self.pm = (bytes.fromhex(entry[key].removeprefix("sha256:")) for key in ("ct", "kc", "pm"))

    def size(self):
        return 17 + self.length + TAG * max(1, -(-self.length // CHUNK))

    def open(self, stored, key):
        """The text, or what does not fit."""
        secret = base64.urlsafe_b64decode(key["key"] + "==")
        payload, commit = secret[:32], secret[32:]
        if hashlib.sha256(stored).digest() != self.ct:
            return "altered"
        if hashlib.sha256(b"gatehouse-kc-v1" + commit).digest() != self.kc:
            return "with another key"
        if stored[0] != 1 or len(stored) != self.size():
            return "with another text"
        cipher = AESGCM(derive(payload, lp(b"payload object") + lp(stored[1:17])))
        fields = [b"\1", key["kid"].encode(), b"payload", self.part.encode(), key["tenant"].encode(), self.session.encode()]
        aad = b"".join(map(lp, fields + [self.number.to_bytes(8, "big")]))
        text, chunks = b"", [stored[at : at + CHUNK + TAG] for at in range(17, len(stored), CHUNK + TAG)]
        for number, chunk in enumerate(chunks):
            last = bytes([number + 1 == len(chunks)])
            try:
                text += cipher.decrypt(bytes(3) + number.to_bytes(8, "big") + last, chunk, aad)
            except InvalidTag:
                return "not opened here"
        tag = hmac.digest(commit, lp(b"gatehouse payload") + lp(hashlib.sha256(text).digest()), "sha256")
        return text if tag == self.pm and len(text) == self.length else "with another text"


def check(log, payloads, keys, now_us):
    """Counts by word, texts, and the exit code."""
    erased, counts, texts, named = set(), collections.Counter(), {}, set()
    for _, event in events(log):
        if event["kind"] == "session.erase.request":
            erased.add(event.get("sid") or event["outside"]["session"])
    for _, event in events(log):
        session = event.get("sid") or event.get("outside", {}).get("session")
        try:
            bodies = [Body(entry, session) for entry in event.get("body", [])]
        except (verify.Fault, KeyError, TypeError):
            counts["malformed"] += 1
            continue
        for body in bodies:
            named.add(body.loc)
            path = os.path.join(payloads, body.loc)
            stored = open(path, "rb").read() if os.path.isfile(path) else None
            if body.session in erased:
                word = "erased"
            elif stored is None:
                word = "expired" if now_us > body.until_us else "missing"
            elif hashlib.sha256(stored).digest() != body.ct or len(stored) != body.size():
                word = "altered"
            else:
                word = "whole"
                if keys is not None and body.session in keys:
                    text = body.open(stored, keys[body.session])
                    texts[body.loc] = hashlib.sha256(text).hexdigest() if isinstance(text, bytes) else text
            counts[word] += 1
    foreign = [name for name in verify.objects(payloads) if not LOCATION.fullmatch(name)]
    misplaced = [name for name in verify.objects(log) if name.startswith("p/")]
    broken = counts["altered"] or counts["malformed"] or foreign or misplaced
    return counts, texts, 1 if broken else 2 if counts["missing"] else 0


def read_keys(file):
    with open(file, encoding="utf-8") as lines:
        return {key["session"]: key for key in map(json.loads, filter(str.strip, lines))}


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 64
    keys = read_keys(arguments[2]) if len(arguments) == 3 else None
    counts, texts, code = check(*arguments[:2], keys, time.time_ns() // 1000)
    print(json.dumps({"counts": counts, "texts": texts}, sort_keys=True))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
