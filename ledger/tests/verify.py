#!/usr/bin/env python3
"""A second verifier of the audit log, written from docs/audit-log.md and from nothing else; the
numbers in comments are that page's sections. It shares no code with the first, so that a mistake in
one of them shows. Needs PyNaCl and zstandard.

    verify.py FOLDER… [--trust FILE]        exit 0 holds, 1 broken, 2 cannot be told, 64 usage"""

import base64
import datetime
import hashlib
import json
import os
import re
import sys

import nacl.exceptions
import nacl.signing
import zstandard

MAX_INTEGER, MAX_CERTIFICATE = 2**53 - 1, 65536
MAX_UNPACKED, MAX_STORED, MAX_LEAF = 16 << 20, (16 << 20) + (64 << 10), 65535
DEPLOYMENT = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
WRITER = rf"[0-9]{{8}}-(?:{DEPLOYMENT})-[0-9a-f]{{32}}"
CERTIFICATE = re.compile(rf"cert/({WRITER})\.dsse\.json")
SEGMENT = re.compile(rf"log/p_day=([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/p_writer=({WRITER})/([0-9]{{20}})\.jsonl\.zst")
NEWER = re.compile(rb'\{"gatehouse":(?!1,)[1-9][0-9]*,')
INTEGER = "(?:0|[1-9][0-9]{0,15})"
STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*)"')


class Fault(Exception):
    """What a sound log cannot have."""


class Doubt(Exception):
    """What cannot be told."""


class Usage(Exception):
    """A call that makes no sense."""


def need(holds):
    if not holds:
        raise Fault


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def unbase64(text):
    decoded = base64.b64decode(text, validate=True)
    if base64.b64encode(decoded).decode() != text:
        raise ValueError("not canonical")
    return decoded


def string(text):  # 3
    escape = lambda c: "\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if c < " " else c
    return '"' + "".join(map(escape, text)) + '"'


def time(us):  # 3
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=us)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Key:  # 2
    def __init__(self, vkey):
        self.name, key_id, key = vkey.split("+", 2)
        raw = unbase64(key)
        self.id = sha256(self.name.encode(), b"\n", raw)[:4]
        self.public = raw[1:]
        self.vkey = f"{self.name}+{self.id.hex()}+{key}"
        bad = not self.name or any(c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 for c in self.name)
        if bad or raw[:1] != b"\1" or len(raw) != 33 or self.vkey != vkey:
            raise ValueError("not a vkey")

    def signed(self, message, signature):
        try:
            return len(signature) == 64 and bool(nacl.signing.VerifyKey(self.public).verify(message, signature))
        except nacl.exceptions.CryptoError:
            return False


def read_trust(text):  # 2
    logs, names, members, quorum, witnesses = {}, set(), set(), [], set()
    try:
        for line in text.split("\n"):
            words = re.split("[ \t]+", line.strip(" \t"))
            need(not re.search("[\x00-\x08\x0a-\x1f\x7f]", line))
            if words[0] == "" or words[0].startswith("#"):
                continue
            name = words[1]
            if words[0] == "log" and len(words) < 4:
                key = Key(name)
                need(key.public not in [log.public for log in logs.values()])
                logs[name] = key
            elif words[0] == "quorum" and len(words) == 2:
                need(name == "none" or name in names)
                quorum.append(name)
            elif words[0] == "witness" and len(words) in (3, 4) or words[0] == "group" and len(words) > 3:
                need(name != "none" and name not in names)
                if words[0] == "witness":
                    key_name, key_id, key = words[2].split("+", 2)
                    key = unbase64(key)
                    need(key_name and re.fullmatch("[0-9a-f]{8}", key_id) and len(key) > 1 and key not in witnesses)
                    witnesses.add(key)
                else:
                    all_of = words[3:]
                    count = {"all": len(all_of), "any": 1}.get(words[2]) or int(words[2])
                    need(0 < count <= len(all_of) == len(set(all_of)) and not members & set(all_of))
                    need(set(all_of) <= names)
                    members.update(all_of)
                names.add(name)
            else:
                raise Fault
        need(logs and len(quorum) == 1)
    except (Fault, ValueError, IndexError):
        raise Usage("not a trust file")
    return set(logs), quorum[0]


class Certificate:  # 4
    TYPE = "application/vnd.gatehouse.writer+json"

    def __init__(self, stored, writer, trusted):
        try:
            envelope = json.loads(stored)
            [signature] = envelope["signatures"]
            payload, sig = unbase64(envelope["payload"]), unbase64(signature["sig"])
            body = json.loads(payload)
            need(set(envelope) == {"payloadType", "payload", "signatures"} and set(signature) == {"keyid", "sig"})
            need(set(body) == {"gatehouse", "w", "key", "issuer", "ts"} and type(body["gatehouse"]) is int)
            self.key, self.issuer = Key(body["key"]), Key(body["issuer"])
            kind = envelope["payloadType"].encode()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Fault
        need(self.issuer.signed(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload), sig))
        if body["gatehouse"] > 1:
            raise Doubt
        again = f'{{"gatehouse":1,"w":{string(writer)},"key":{string(self.key.vkey)},"issuer":{string(self.issuer.vkey)},"ts":{string(body["ts"])}}}'
        need(payload == again.encode())
        keyid = f"{self.issuer.name}+{self.issuer.id.hex()}"
        again = f'{{"payloadType":"{self.TYPE}","payload":"{envelope["payload"]}","signatures":[{{"keyid":{string(keyid)},"sig":"{signature["sig"]}"}}]}}'
        need(stored == again.encode())
        self.origin = f"{writer[9:-33]}/{writer}"
        need(self.key.name == self.origin)
        need(trusted is None or self.issuer.vkey in trusted)


def unpack(stored):  # 5
    need(len(stored) <= MAX_STORED and stored[:4] == b"\x28\xb5\x2f\xfd" and len(stored) > 5)
    need(stored[4] & 0b0000_0100 and not stored[4] & 0b0001_1011)
    try:
        size = zstandard.get_frame_parameters(stored).content_size
        need(size <= MAX_UNPACKED)  # an unknown size is the largest of all
        lines = zstandard.ZstdDecompressor().decompress(stored, allow_extra_data=False)
    except (zstandard.ZstdError, ValueError):
        raise Fault
    need(len(lines) == size)
    return lines


class Tree:  # 6
    def __init__(self):
        self.size, self.edge = 0, []

    def push(self, leaf):
        node, size = sha256(b"\0", leaf), self.size
        while size & 1:
            node, size = sha256(b"\1", self.edge.pop(), node), size >> 1
        self.edge.append(node)
        self.size += 1

    def root(self):
        if not self.edge:
            return sha256()
        node = self.edge[-1]
        for left in self.edge[-2::-1]:
            node = sha256(b"\1", left, node)
        return node


def read_value(text, at, depth):  # 7
    """The value at `at`: where it ends and, of an object, its members as they stand."""
    if text[at] in "{[":
        need(depth < 32)
        members, close = {}, "}" if text[at] == "{" else "]"
        if text[at + 1] == close:
            return at + 2, members
        while True:
            at += 1
            if close == "}":
                key = STRING.match(text, at)
                need(key and "\\" not in key[1] and key[1] not in members and text[key.end()] == ":")
                at = key.end() + 1
            end, _ = read_value(text, at, depth + 1)
            if close == "}":
                members[key[1]] = text[at:end]
            at = end
            need(text[at] in ("," + close))
            if text[at] == close:
                return at + 1, members
    scalar = STRING.match(text, at) or re.compile(f"{INTEGER}(?![-+.eE0-9])|true|false|null").match(text, at)
    need(scalar and (not scalar[0].isdigit() or int(scalar[0]) <= MAX_INTEGER))
    return scalar.end(), None


class Event:  # 7
    def __init__(self, raw):
        try:
            text = raw.decode()
            need(text[0] == "{")
            end, members = read_value(text, 0, 0)
        except (IndexError, UnicodeDecodeError):
            raise Fault
        need(end == len(text))
        word = lambda name: members[name][1:-1] if re.fullmatch(r'"[^"\\]*"', members.get(name, "")) else None
        number = lambda name: int(members[name]) if members.get(name, "").isdigit() else None
        self.kind, self.state, self.sprev = word("kind"), word("state"), word("sprev")
        self.sseq, self.missing = number("sseq"), number("missing")
        self.session = word("sid")
        self.digest = sha256(b"\2", raw)
        need(self.kind is not None)
        need("sid" not in members or (self.session and self.sseq is not None and self.sprev is not None))


class Stream:
    def __init__(self, writer, certificate, events):
        self.writer, self.certificate, self.events = writer, certificate, events
        self.tree, self.previous, self.last_us, self.end, self.by_deployment = Tree(), None, 0, None, False

    def segment(self, day, stored):  # 5
        lines, before = unpack(stored), f"sha256:{self.previous.hex()}" if self.previous else None
        size = self.tree.size
        header = f'{{"gatehouse":1,"w":"{self.writer}","first_seq":{size},"prev_seg":{json.dumps(before)},"size_before":{size},"root_before":"sha256:{self.tree.root().hex()}"}}\n'
        if not lines.startswith(header.encode()):
            raise Doubt if NEWER.match(lines) else Fault
        rest = lines[len(header):].split(b"\n")
        need(len(rest) > 2 and rest[-1] == b"")
        *leaves, footer, _ = rest
        times = [self.leaf(line, day) for line in leaves]
        self.footer(footer, times[0], times[-1])
        self.previous = sha256(stored)

    def leaf(self, line, day):  # 5
        head = f'{{"v":1,"w":"{self.writer}","seq":{self.tree.size},"ts":"'.encode()
        form = rf'(.{{27}})","ts_us":({INTEGER}),"mono_us":({INTEGER}),"e":(.*)\}}'.encode()
        found = re.fullmatch(form, line[len(head):], re.DOTALL)
        need(len(line) <= MAX_LEAF and line.startswith(head) and found)
        us = int(found[2])
        need(us <= MAX_INTEGER and int(found[3]) <= MAX_INTEGER and found[1] == time(us).encode())
        need(us >= self.last_us and time(us)[:10] == day)
        event = Event(found[4])
        self.follow(event)
        self.events.append(event)
        self.last_us = us
        self.tree.push(line)
        return us

    def follow(self, event):  # 7, 8
        need((event.kind == "writer.open") == (self.tree.size == 0))
        end = None
        if event.kind == "writer.close":
            need(event.state is not None)
            end = "recovered" if event.state == "recovered" else "closed"
        need(self.end is None or (self.end, end) == ("closed", "recovered"))
        self.end = end

    def footer(self, line, first_us, last_us):  # 5, 8
        size, root = self.tree.size, self.tree.root()
        before = f'{{"last_seq":{size - 1},"size":{size},"root":"sha256:{root.hex()}","first_ts":"{time(first_us)}","last_ts":"{time(last_us)}","note":"'
        text = f"{self.certificate.origin}\n{size}\n{base64.b64encode(root).decode()}\n"
        for key in (self.certificate.issuer, self.certificate.key):
            start = (before + string(f"{text}\n\u2014 {key.name} ")[1:-1]).encode()
            end = b'\\u000a"}'
            if not (line.startswith(start) and line.endswith(end)):
                continue
            try:
                signature = unbase64(line[len(start):-len(end)].decode())
            except ValueError:
                raise Fault
            if signature[:4] == key.id:
                need(key.signed(text.encode(), signature[4:]))
                if key is self.certificate.issuer:
                    self.by_deployment = True
                else:
                    need(not self.by_deployment and self.end != "recovered")
                return
        raise Fault


def check_session(events, complete):  # 7
    numbers = {}
    for event in events:
        need(event.sseq not in numbers)
        need(re.fullmatch("[0-9a-f]{64}", event.sprev) and (event.kind == "session.open") == (event.sseq == 0))
        numbers[event.sseq] = event
    declared = {event.missing for event in events if event.kind == "audit.gap"}
    for sseq, event in numbers.items():
        before = numbers.get(sseq - 1)
        if before or sseq == 0:
            need(event.sprev == (before.digest if before else bytes(32)).hex())
    doubt, next_number = False, 0
    for sseq in sorted(numbers):
        hole = range(next_number, sseq)
        next_number = sseq + 1
        if hole:
            if len(hole) > len(declared) or not all(number in declared for number in hole):
                need(not complete)
            doubt = True
    if doubt:
        raise Doubt


def verify(names, get, trust):
    """The exit code for the log whose objects have `names`. `get(name, limit)` gives an object's
    bytes, up to one more than `limit`, or raises OSError or Fault. `trust` is what read_trust gave, or None."""
    faults = doubts = 0
    streams, sessions, complete = {}, {}, True
    doubts += trust is None or trust[1] != "none"
    for name in names:  # 1
        if found := CERTIFICATE.fullmatch(name):
            streams.setdefault(found[1], [[], []])[0] = name
        elif (found := SEGMENT.fullmatch(name)) and int(found[3]) < 2**64:
            streams.setdefault(found[2], [[], []])[1].append((int(found[3]), found[1], name))
        elif name.startswith(("seal/", "cosig/", "tsa/", "policy/")):
            doubts += 1
    doubts += not streams
    for writer, (certificate, segments) in sorted(streams.items()):
        events, whole = [], False
        try:
            need(certificate)
            stored = get(certificate, MAX_CERTIFICATE)
            need(len(stored) <= MAX_CERTIFICATE)
            stream = Stream(writer, Certificate(stored, writer, trust and trust[0]), events)
            for first, day, name in sorted(segments):
                need(first == stream.tree.size)
                stream.segment(day, get(name, MAX_STORED))
            need(not (stream.end == "closed" and stream.by_deployment))
            whole = stream.end is not None
            doubts += not whole
        except Fault:
            faults += 1
        except (Doubt, OSError):
            doubts += 1
        complete &= whole
        for event in events:
            if event.session:
                sessions.setdefault(event.session, []).append(event)
    for events in sessions.values():
        try:
            check_session(events, complete)
        except Fault:
            faults += 1
        except Doubt:
            doubts += 1
    return 1 if faults else 2 if doubts else 0


def objects(folder):  # 1
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files + [f for f in folders if os.path.islink(os.path.join(place, f))]:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(place, name), folder)


def joined(folders):  # 1
    """The names in several folders, and what gets an object of which all that have it have the same."""
    where = {}
    for folder in folders:
        for name in objects(folder):
            where.setdefault(name, []).append(folder)

    def get(name, limit):
        copies = set()
        for folder in where[name]:
            with open(os.path.join(folder, name), "rb") as file:
                copies.add(file.read(limit + 1))
        need(len(copies) == 1)
        return copies.pop()

    return list(where), get


def main(arguments):
    folders, trust_file = arguments, None
    if "--trust" in arguments[-2:-1]:
        folders, trust_file = arguments[:-2], arguments[-1]
    if not folders or any(folder.startswith("--") for folder in folders):
        print(__doc__, file=sys.stderr)
        return 64
    try:
        trust = None
        if trust_file is not None:
            with open(trust_file, encoding="utf-8", newline="") as file:
                trust = read_trust(file.read())
    except (OSError, UnicodeDecodeError, Usage) as error:
        print(f"{trust_file}: {error}", file=sys.stderr)
        return 64
    for folder in folders:
        if not os.path.isdir(folder):
            print(f"{folder}: not a folder", file=sys.stderr)
            return 2
        if len(folders) > 1 and next(objects(folder), None) is None:
            print(f"{folder}: no log", file=sys.stderr)
            return 2
    code = verify(*joined(folders), trust)
    print(["holds", "broken", "cannot be told"][code])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
