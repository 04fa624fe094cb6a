#!/usr/bin/env python3
"""A second verifier of the audit log, written from docs/audit-log.md and from nothing else; the
numbers in comments are that page's sections. It shares no code with the first, so that a mistake in
one of them shows. Needs PyNaCl and zstandard.

    verify.py FOLDER… [--tsa FILE] [--trust FILE]     exit 0 holds, 1 broken, 2 cannot be told, 64 usage
    verify.py --proof FOLDER --trust FILE             the same, of one session shown alone"""

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

import stamps

MAX_INTEGER, MAX_CERTIFICATE, MAX_SEAL, MAX_NOTE = 2**53 - 1, 65536, 1 << 20, 1 << 16
MAX_PROOF = MAX_NOTE + (1 << 13)
MAX_UNPACKED, MAX_STORED, MAX_LEAF = 16 << 20, (16 << 20) + (64 << 10), 65535
DEPLOYMENT = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
WRITER = rf"[0-9]{{8}}-(?:{DEPLOYMENT})-[0-9a-f]{{32}}"
CERTIFICATE = re.compile(rf"cert/({WRITER})\.dsse\.json")
SEALS = rf"(?:{DEPLOYMENT})(?:\.[0-9a-f]{{16}})?"
SEAL = re.compile(rf"seal/({SEALS})/([0-9]{{20}})\.(json|note)")
COSIGNATURE = re.compile(rf"cosig/({SEALS})/([0-9]{{20}})/([0-9a-f]{{8}})\.note")
STAMP = re.compile(rf"tsa/({SEALS})/([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})\.tsr")
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
    def __init__(self, vkey, kind=b"\1"):
        self.name, key_id, key = vkey.split("+", 2)
        raw = unbase64(key)
        self.id = sha256(self.name.encode(), b"\n", raw)[:4]
        self.public = raw[1:]
        self.vkey = f"{self.name}+{self.id.hex()}+{key}"
        bad = not self.name or any(c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 for c in self.name)
        if bad or raw[:1] != kind or len(raw) != 33 or self.vkey != vkey:
            raise ValueError("not a vkey")

    def signed(self, message, signature):
        try:
            return len(signature) == 64 and bool(nacl.signing.VerifyKey(self.public).verify(message, signature))
        except nacl.exceptions.CryptoError:
            return False


def read_trust(text):  # 2
    logs, names, members, quorum, witnesses, rules = {}, set(), set(), [], set(), {}
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
                    rules[name] = Key(words[2], b"\4") if key[0] == 4 else None
                else:
                    all_of = words[3:]
                    count = {"all": len(all_of), "any": 1}.get(words[2]) or int(words[2])
                    need(0 < count <= len(all_of) == len(set(all_of)) and not members & set(all_of))
                    need(set(all_of) <= names)
                    members.update(all_of)
                    rules[name] = count, all_of
                names.add(name)
            else:
                raise Fault
        need(logs and len(quorum) == 1)
    except (Fault, ValueError, IndexError):
        raise Usage("not a trust file")
    return Trust(logs, quorum[0], rules)


class Trust:
    def __init__(self, logs, quorum, rules):
        self.logs, self.quorum = logs, quorum
        self.witnesses = {name: key for name, key in rules.items() if isinstance(key, Key)}
        self.groups = {name: rule for name, rule in rules.items() if isinstance(rule, tuple)}

    def is_quorum(self, cosigned):
        done = set(cosigned)
        for name, (count, members) in self.groups.items():
            if len(done & set(members)) >= count:
                done.add(name)
        return self.quorum in done


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


class Note:  # 9
    """A checkpoint of `origin` and its signature lines: name, key id, what is behind it."""

    def __init__(self, stored, origin, size, root):
        self.text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
        try:
            text = stored.decode()
            need(len(stored) <= MAX_NOTE and text.startswith(self.text + "\n") and text.endswith("\n"))
            self.lines = []
            for line in text[len(self.text) + 1:-1].split("\n"):
                dash, name, signature = line.split(" ")
                signature = unbase64(signature)
                need(dash == "\u2014" and len(signature) >= 4 and name and not re.search(r"[\s+]|[^\x20-\U0010ffff]|[\x7f-\x9f]", name))
                self.lines.append((name, signature[:4], signature[4:]))
        except ValueError:
            raise Fault

    def signed(self, keys):
        """Whether one of `keys` has signed, and never wrongly."""
        def by(key):
            own = [line[2] for line in self.lines if line[:2] == (key.name, key.id)]
            return own and all(key.signed(self.text.encode(), signature) for signature in own)
        return any(by(key) for key in keys)

    def cosigned(self, key):
        own = [line[2] for line in self.lines if line[:2] == (key.name, key.id)]
        times = [int.from_bytes(signature[:8]) for signature in own]
        need(own and all(len(signature) == 72 and time < 2**63 for signature, time in zip(own, times)))
        for signature, time in zip(own, times):
            need(key.signed(f"cosignature/v1\ntime {time}\n{self.text}".encode(), signature[8:]))
        return min(times)


class Seals:  # 9
    """One log of seals: what its seals say of streams, up to the first fault."""

    def __init__(self, log, get, found, keys, trust, authorities, promises):
        self.log, self.get, self.keys, self.trust, self.promises = log, get, keys, trust, promises
        self.tree, self.before, self.previous, self.last_us, self.witnessed_us = Tree(), {}, None, 0, None
        self.faults, self.doubts, self.broken, self.days, self.stamped_us = 0, 0, False, {}, None
        self.follow(found)
        self.stamps(found["tsr"], authorities)

    def follow(self, found):
        bodies, notes, cosigned = found["json"], found["note"], found["cosig"]
        while self.tree.size in bodies and self.tree.size in notes:
            number = self.tree.size
            try:
                self.seal(number, bodies[number], notes[number])
            except (Fault, Doubt, OSError) as error:
                self.broken = True
                self.faults, self.doubts = self.faults + isinstance(error, Fault), self.doubts + (not isinstance(error, Fault))
                return
            self.cosignatures(cosigned.get(number, {}))
        size = self.tree.size
        if any(number >= size for number in [*notes, *cosigned]) or any(number > size for number in bodies):
            self.faults, self.broken = self.faults + 1, True
        elif self.trust and self.trust.quorum != "none":
            self.doubts += self.witnessed_us is None or self.last_us - self.witnessed_us > 600_000_000

    def seal(self, number, body, note):
        stored = self.get(body, MAX_SEAL)
        need(len(stored) <= MAX_SEAL)
        edge = [node.hex() for node in self.tree.edge]
        self.tree.push(stored)
        note = Note(self.get(note, MAX_NOTE), self.log, number + 1, self.tree.root())
        need(len(note.lines) == 1 and note.signed(self.keys))
        if NEWER.match(stored):
            raise Doubt
        try:
            said = json.loads(stored)
            us, streams = said["ts_us"], said["streams"]
            need(type(us) is int and self.last_us <= us <= MAX_INTEGER and number <= MAX_INTEGER)
            again = f'{{"gatehouse":1,"log":"{self.log}","seal":{number},"ts":"{time(us)}","ts_us":{us},"prev":{json.dumps(self.previous)},"edge":{json.dumps(edge, separators=(",", ":"))},"streams":['
            again += ",".join(self.stream(us, **stream) for stream in streams) + "]}"
            need(again.encode() == stored)
            names = [stream["w"] for stream in streams]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise Fault
        need(names == sorted(set(names)))
        now = {stream["w"]: stream for stream in streams}
        for writer, before in self.before.items():
            after = now.get(writer)
            if after is None:
                need(before["state"] != "open")
            elif before["state"] == "open" and after["size"] != before["size"]:
                need(after["size"] > before["size"] and after["last_us"] >= before["last_us"])
            else:
                need(after["size"] == before["size"] and self.is_at(after) == self.is_at(before))
        for writer, stream in now.items():
            promise = self.promises.setdefault(writer, {"sizes": {}})
            need(promise["sizes"].setdefault(stream["size"], self.is_at(stream)) == self.is_at(stream))
            promise["state"] = stream["state"]
        self.before, self.previous, self.last_us = now, f"sha256:{sha256(stored).hex()}", us
        self.days[time(us)[:10]] = self.tree.root(), us
        self.stamped_us = us if number == 0 else self.stamped_us

    def stamps(self, found, authorities):
        for day, name in sorted(found.items()):
            if self.broken and day >= max(self.days, default=""):
                continue
            try:
                need(day in self.days)
                root, us = self.days[day]
                stamp = stamps.Stamp(self.get(name, stamps.MAX_REPLY))
                need(stamp.imprint == root)
                self.doubts += stamp.us + 900_000_000 < us
                self.doubts += stamp.us > us + 49 * 3_600_000_000
                if authorities is not None:
                    if stamp.is_by(authorities):
                        self.stamped_us = us
                    else:
                        self.doubts += 1
            except (Fault, stamps.Bad):
                self.faults += 1
            except (stamps.Unknown, OSError):
                self.doubts += 1
        if authorities is not None and not self.broken and self.stamped_us is not None:
            self.doubts += self.last_us - self.stamped_us > 49 * 3_600_000_000

    @staticmethod
    def is_at(stream):
        state = "open" if stream["state"] == "lost" else stream["state"]
        return stream["root"], stream["seg"], stream["last_us"], state

    @staticmethod
    def stream(us, w, size, root, seg, last_us, state):
        """A stream's entry as it must be written, if it can be."""
        digest = lambda text: re.fullmatch("sha256:[0-9a-f]{64}", text)
        need(re.fullmatch(WRITER, w) and type(size) is int and type(last_us) is int and 0 <= size <= MAX_INTEGER)
        need(0 <= last_us <= MAX_INTEGER and digest(root) and (seg is None or digest(seg)))
        need((size == 0) == (seg is None) and state in ("open", "closed", "recovered", "lost"))
        need(size or (root == f"sha256:{sha256().hex()}" and last_us == 0 and state in ("open", "lost")))
        need(state != "lost" or w[:8] < time(max(us - 2 * 86_400_000_000, 0))[:10].replace("-", ""))
        return f'{{"w":"{w}","size":{size},"root":"{root}","seg":{json.dumps(seg)},"last_us":{last_us},"state":"{state}"}}'

    def cosignatures(self, found):
        cosigned = {}
        for key_id, name in found.items():
            try:
                note = Note(self.get(name, MAX_NOTE), self.log, self.tree.size, self.tree.root())
                need(len(note.lines) == 2 and note.signed(self.keys))
                for witness, key in (self.trust.witnesses.items() if self.trust else ()):
                    if key.id.hex() == key_id:
                        cosigned[witness] = note.cosigned(key)
            except Fault:
                self.faults += 1
            except OSError:
                self.doubts += 1
        if self.trust and self.trust.quorum != "none" and self.trust.is_quorum(cosigned):
            self.witnessed_us = self.last_us
            quorum = lambda by: self.trust.is_quorum([name for name, at in cosigned.items() if at <= by])
            since = min(filter(quorum, cosigned.values()))
            self.doubts += since * 1_000_000 > self.last_us + 49 * 3_600_000_000


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
        self.session, self.seals = word("sid"), word("seals")
        self.outside = None  # 13
        about = members.get("outside", members.get("export", ""))
        if "sid" not in members and about[:1] == "{":
            inner = re.fullmatch(r'"([^"\\]+)"', read_value(about, 0, 0)[1].get("session", ""))
            self.outside = inner and inner[1]
        self.digest = sha256(b"\2", raw)
        need(self.kind is not None)
        need("sid" not in members or (self.session and self.sseq is not None and self.sprev is not None))


class Stream:
    def __init__(self, writer, certificate, events, promise):
        self.writer, self.certificate, self.events, self.promise, self.log = writer, certificate, events, promise, None
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
        if self.promise:  # 9
            is_at = f"sha256:{self.tree.root().hex()}", f"sha256:{self.previous.hex()}", self.last_us, self.end or "open"
            said = [(at, what) for at, what in self.promise["sizes"].items() if size < at <= self.tree.size]
            need(all(at == self.tree.size and what == is_at for at, what in said))

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
        if event.kind == "writer.open":
            self.log = event.seals

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


def issuers(get, names):
    """Of all certificates that hold in themselves: whose log it is nobody can tell without a trust file."""
    for name in names:
        if found := CERTIFICATE.fullmatch(name):
            try:
                yield Certificate(get(name, MAX_CERTIFICATE), found[1], None).issuer
            except (Fault, Doubt, OSError):
                pass


def verify(names, get, trust, authorities=None):
    """The exit code for the log whose objects have `names`. `get(name, limit)` gives an object's bytes, up to one more than `limit`, or raises
    OSError or Fault. `trust` is what read_trust gave, or None; so is `authorities`, by stamps.read_authorities."""
    new = lambda: {"json": {}, "note": {}, "cosig": {}, "tsr": {}}
    faults = doubts = 0
    streams, sessions, complete, seals, promises = {}, {}, True, {}, {}
    doubts += trust is None
    for name in names:  # 1
        if found := CERTIFICATE.fullmatch(name):
            streams.setdefault(found[1], [[], []])[0] = name
        elif (found := SEGMENT.fullmatch(name)) and int(found[3]) < 2**64:
            streams.setdefault(found[2], [[], []])[1].append((int(found[3]), found[1], name))
        elif (found := SEAL.fullmatch(name)) and int(found[2]) < 2**64:
            seals.setdefault(found[1], new())[found[3]][int(found[2])] = name
        elif (found := COSIGNATURE.fullmatch(name)) and int(found[2]) < 2**64:
            of = seals.setdefault(found[1], new())["cosig"]
            of.setdefault(int(found[2]), {})[found[3]] = name
        elif found := STAMP.fullmatch(name):
            seals.setdefault(found[1], new())["tsr"][found[2]] = name
        elif name.startswith(("seal/", "cosig/", "tsa/", "policy/")):
            doubts += 1
    doubts += not streams and not seals
    keys = list(trust.logs.values()) if trust else list(issuers(get, names))
    for log, found in sorted(seals.items()):  # 9
        seals[log] = Seals(log, get, found, keys, trust, authorities, promises)
        faults, doubts = faults + seals[log].faults, doubts + seals[log].doubts
    doubts += trust is not None and trust.quorum != "none" and not seals
    faults += len(set(promises) - set(streams))
    for writer, (certificate, segments) in sorted(streams.items()):
        events, whole, promise = [], False, promises.get(writer)
        try:
            need(certificate)
            stored = get(certificate, MAX_CERTIFICATE)
            need(len(stored) <= MAX_CERTIFICATE)
            stream = Stream(writer, Certificate(stored, writer, trust and set(trust.logs)), events, promise)
            for first, day, name in sorted(segments):
                need(first == stream.tree.size)
                stream.segment(day, get(name, MAX_STORED))
            need(not promise or max(promise["sizes"]) <= stream.tree.size)
            need(not (stream.end == "closed" and stream.by_deployment))
            whole = stream.end is not None
            doubts += not whole and not promise
            if stream.log is not None and not promise:  # 9
                log = seals.get(stream.log)
                doubts += log is None or (not log.broken and log.last_us > stream.last_us + 600_000_000)
            elif stream.log in seals and promise and not whole:
                doubts += stream.last_us > seals[stream.log].last_us + 600_000_000
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


class Proof:  # 13
    def __init__(self, stored):
        try:
            need(len(stored) <= MAX_PROOF)
            head, self.note = stored.decode().split("\n\n", 1)
            first, *lines = head.split("\n")
            need(first == "c2sp.org/tlog-proof@v1")
            if lines[0].startswith("extra "):
                unbase64(lines.pop(0)[6:])
            index = re.fullmatch(f"index ({INTEGER})", lines.pop(0))
            self.index, self.path = int(index[1]), [unbase64(line) for line in lines]
        except (ValueError, IndexError, TypeError):
            raise Fault
        need(self.index <= MAX_INTEGER and len(self.path) <= 64 and all(len(node) == 32 for node in self.path))

    def checkpoint(self, origin, keys):
        """Size and root that one of `keys` has signed for `origin`, and the note."""
        named, size, root, *_ = self.note.split("\n") + ["", ""]
        try:
            need(named == origin and re.fullmatch("0|[1-9][0-9]{0,18}", size) and len(unbase64(root)) == 32)
            note = Note(self.note.encode(), origin, int(size), unbase64(root))
        except ValueError:
            raise Fault
        need(len(note.lines) <= 64 and note.signed(keys))
        return int(size), unbase64(root), note

    def leads(self, leaf, size, root):
        """RFC 9162, 2.1.3.2."""
        need(self.index < size)
        node, last, at = self.index, size - 1, sha256(b"\0", leaf)
        for step in self.path:
            need(last)
            if node & 1 or node == last:
                at = sha256(b"\1", step, at)
                while not node & 1 and node:
                    node, last = node >> 1, last >> 1
            else:
                at = sha256(b"\1", at, step)
            node, last = node >> 1, last >> 1
        need(last == 0 and at == root)


class Shown:  # 13
    """One session, shown alone."""

    def __init__(self, get, trust):
        self.get, self.trust, self.seen, self.events, self.session, self.doubts = get, trust, {}, [], None, 0

    def read(self, name, limit):
        try:
            stored = self.get(name, limit)
        except KeyError:
            raise Fault
        need(len(stored) <= limit)
        return stored

    def seal(self, log, number):
        stored = self.read(f"seal/{log}/{number:020}.json", MAX_SEAL)
        if NEWER.match(stored):
            raise Doubt
        try:
            said = json.loads(stored)
            us, streams, previous, edge = said["ts_us"], said["streams"], said["prev"], said["edge"]
            need(type(us) is int and 0 <= us <= MAX_INTEGER and number <= MAX_INTEGER and type(edge) is list)
            digest = lambda text: re.fullmatch("[0-9a-f]{64}", text)
            need(all(map(digest, edge)) and (previous is None) == (number == 0))
            need(previous is None or (previous[:7] == "sha256:" and digest(previous[7:])))
            again = f'{{"gatehouse":1,"log":"{log}","seal":{number},"ts":"{time(us)}","ts_us":{us},"prev":{json.dumps(previous)},"edge":{json.dumps(edge, separators=(",", ":"))},"streams":['
            again += ",".join(Seals.stream(us, **stream) for stream in streams) + "]}"
            names = [stream["w"] for stream in streams]
            need(again.encode() == stored and names == sorted(set(names)))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise Fault
        proof = Proof(self.read(f"seal/{log}/{number:020}.tlog-proof", MAX_PROOF))
        size, root, note = proof.checkpoint(log, list(self.trust.logs.values()))
        need(proof.index == number)
        proof.leads(stored, size, root)
        if self.trust.quorum != "none":
            self.doubts += not self.trust.is_quorum(self.cosigned(note))
        for stream in streams:
            need(self.seen.setdefault((stream["w"], stream["size"]), stream["root"]) == stream["root"])

    def cosigned(self, note):
        for witness, key in self.trust.witnesses.items():
            try:
                note.cosigned(key)
                yield witness
            except Fault:
                pass

    def record(self, sseq, name):
        event, *place = self.shown(name)
        self.session = self.session or event.session
        need(event.session and event.session == self.session and event.sseq == sseq)
        self.events.append(event)
        self.sealed(*place)

    def outside(self, writer, seq, name):
        event, *place = self.shown(name, (writer, seq))
        self.session = self.session or event.outside
        need(event.outside and event.outside == self.session)
        self.sealed(*place)

    def shown(self, name, at=None):
        line = self.read(name, MAX_LEAF)
        proof = Proof(self.read(name.replace(".json", ".tlog-proof"), MAX_PROOF))
        found = re.match(rf'{{"v":1,"w":"({WRITER})","seq":{proof.index},"ts":"'.encode(), line)
        need(found)
        writer = found[1].decode()
        need(at in (None, (writer, proof.index)))
        certificate = self.read(f"cert/{writer}.dsse.json", MAX_CERTIFICATE)
        certificate = Certificate(certificate, writer, set(self.trust.logs))
        size, root, _ = proof.checkpoint(certificate.origin, [certificate.key, certificate.issuer])
        proof.leads(line, size, root)
        form = rf'(.{{27}})","ts_us":({INTEGER}),"mono_us":({INTEGER}),"e":(.*)\}}'.encode()
        found = re.fullmatch(form, line[found.end():], re.DOTALL)
        need(found and int(found[2]) <= MAX_INTEGER >= int(found[3]) and found[1] == time(int(found[2])).encode())
        return Event(found[4]), writer, size, root

    def sealed(self, writer, size, root):
        if (writer, size) in self.seen:
            need(self.seen[writer, size] == f"sha256:{root.hex()}")
        elif self.trust.quorum != "none":
            raise Doubt


def check_proof(names, get, trust):
    """The exit code for a disclosure. `get` is that of `verify`, but raises KeyError where nothing is."""
    shown, faults, checks = Shown(get, trust), 0, []
    for name in names:
        if (found := SEAL.fullmatch(name)) and found[3] == "json" and int(found[2]) < 2**64:
            checks.append((0, shown.seal, (found[1], int(found[2]))))
        elif (found := re.fullmatch(r"session/([0-9]{20})\.json", name)) and int(found[1]) < 2**64:
            checks.append((1, shown.record, (int(found[1]), name)))
        elif (found := re.fullmatch(rf"outside/({WRITER})/([0-9]{{20}})\.json", name)) and int(found[2]) < 2**64:
            checks.append((2, shown.outside, (found[1], int(found[2]), name)))
    proof = re.compile(rf"(session/[0-9]{{20}}|outside/{WRITER}/[0-9]{{20}}|seal/{SEALS}/[0-9]{{20}})\.tlog-proof")
    names = list(names)
    faults += sum(f"{found[1]}.json" not in names for found in map(proof.fullmatch, names) if found and int(found[1][-20:]) < 2**64)
    for _, check, arguments in sorted(checks, key=lambda check: (check[0], check[2])):
        try:
            check(*arguments)
        except Fault:
            faults += 1
        except (Doubt, OSError):
            shown.doubts += 1
    shown.doubts += not any(kind == 1 for kind, *_ in checks)
    try:
        check_session(shown.events, False)
    except Fault:
        faults += 1
    except Doubt:
        shown.doubts += 1
    return 1 if faults else 2 if shown.doubts else 0


def objects(folder, unread=None):  # 1
    """The names in a folder. Folders in it that cannot be read are added to `unread`, or an error."""

    def cannot(error):
        if unread is None:
            raise error
        unread.append(error.filename)

    for place, folders, files in os.walk(folder, onerror=cannot):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files + [f for f in folders if os.path.islink(os.path.join(place, f))]:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(place, name), folder)


def joined(folders, unread):  # 1
    """The names in several folders, and what gets an object of which all that have it have the same."""
    where = {}
    for folder in folders:
        for name in objects(folder, unread):
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
    folders, trust_file, tsa_file, proof = arguments, None, None, arguments[:1] == ["--proof"]
    folders = arguments = arguments[proof:]
    if "--trust" in arguments[-2:-1]:
        folders, trust_file = arguments[:-2], arguments[-1]
    if "--tsa" in folders[-2:-1]:
        folders, tsa_file = folders[:-2], folders[-1]
    if not folders or any(folder.startswith("--") for folder in folders) or proof and (len(folders) > 1 or not trust_file):
        print(__doc__, file=sys.stderr)
        return 64
    try:
        trust = authorities = None
        if trust_file is not None:
            with open(trust_file, encoding="utf-8", newline="") as file:
                trust = read_trust(file.read())
        if tsa_file is not None:
            with open(tsa_file, encoding="utf-8") as file:
                authorities = stamps.read_authorities(file.read())
    except (OSError, UnicodeDecodeError, Usage, stamps.Bad) as error:
        print(f"{trust_file}, {tsa_file}: {error}", file=sys.stderr)
        return 64
    for folder in folders:
        if not os.path.isdir(folder):
            print(f"{folder}: not a folder", file=sys.stderr)
            return 2
        if len(folders) > 1 and next(objects(folder, []), None) is None:
            print(f"{folder}: no log", file=sys.stderr)
            return 2
    unread = []
    names, get = joined(folders, unread)
    if unread:
        # What is missing may be in there. This program does not tell that from other faults.
        print(*unread, "not read", file=sys.stderr)
        return 2
    code = check_proof(names, get, trust) if proof else verify(names, get, trust, authorities)
    print(["holds", "broken", "cannot be told"][code])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
