"""Time stamps (RFC 3161) for the second verifier: written from docs/audit-log.md, section 9, and the RFCs that it
names. RSA and ECDSA are verified here by their definitions: slow, and short."""

import base64
import datetime
import hashlib
import re

MAX_REPLY = 1 << 16
HASHES = {b"\x60\x86\x48\x01\x65\x03\x04\x02" + bytes([n]): h for n, h in ((1, "sha256"), (2, "sha384"), (3, "sha512"))}
SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
TST_INFO = bytes.fromhex("2a864886f70d0109100104")
CONTENT_TYPE, MESSAGE_DIGEST = bytes.fromhex("2a864886f70d010903"), bytes.fromhex("2a864886f70d010904")
SIGNING_1, SIGNING_2 = bytes.fromhex("2a864886f70d010910020c"), bytes.fromhex("2a864886f70d010910022f")
RSA, ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d0403")
EXTENDED_USAGE, TIME_STAMPING = bytes.fromhex("551d25"), bytes.fromhex("2b06010505070308")
BASIC_CONSTRAINTS = bytes.fromhex("551d13")
CURVES = {
    bytes.fromhex("2a8648ce3d030107"): (
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    ),
}


class Bad(Exception):
    """Not what it should be."""


class Unknown(Exception):
    """Of a kind that is not checked here."""


def need(holds):
    if not holds:
        raise Bad


class Der:
    """Reads elements one after the other."""

    def __init__(self, data):
        self.data = data

    def next(self):
        data = self.data
        need(len(data) > 1 and data[0] & 31 != 31)
        length, head = data[1], 2
        if length > 127:
            head += length & 127
            need(0 < length & 127 <= 3 and len(data) >= head and data[2])
            length = int.from_bytes(data[2:head])
            need(length > 127)
        need(len(data) >= head + length)
        self.data = data[head + length:]
        return data[0], data[head:head + length], data[:head + length]

    def maybe(self, tag):
        before = self.data
        try:
            element = self.next()
            if element[0] == tag:
                return element
        except Bad:
            pass
        self.data = before

    def take(self, tag):
        found, content, _ = self.next()
        need(found == tag)
        return content

    def enter(self, tag):
        return Der(self.take(tag))

    def only(self, tag):
        content = self.take(tag)
        need(not self.data)
        return content


def unix_us(text):
    found = re.fullmatch(rb"([0-9]{14})(?:\.([0-9]*[1-9]))?Z", text)
    need(found)
    try:
        at = datetime.datetime.strptime(found[1].decode(), "%Y%m%d%H%M%S")
    except ValueError:
        raise Bad
    seconds = (at - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    need(seconds >= 0)
    return seconds * 1_000_000 + int(((found[2] or b"") + b"000000")[:6])


class Certificate:
    def __init__(self, whole):
        self.whole = whole
        outer = Der(Der(whole).only(0x30))
        _, content, self.signed = outer.next()
        self.algorithm = outer.enter(0x30).take(0x06)
        signature = outer.take(0x03)
        need(not outer.data and signature[:1] == b"\0")
        self.signature = signature[1:]
        body = Der(content)
        need(body.maybe(0xA0))
        body.take(0x02)
        body.take(0x30)
        self.issuer = body.take(0x30)
        times = body.enter(0x30)
        self.first, self.last = self.time(times), self.time(times)
        self.subject = body.take(0x30)
        self.key = body.take(0x30)
        self.extensions, self.critical = {}, set()
        if found := body.maybe(0xA3):
            each = Der(Der(found[1]).only(0x30))
            while each.data:
                extension = each.enter(0x30)
                oid = extension.take(0x06)
                if (critical := extension.maybe(0x01)) and critical[1] == b"\xff":
                    self.critical.add(oid)
                self.extensions[oid] = extension.only(0x04)

    @staticmethod
    def time(times):
        tag, text, _ = times.next()
        if tag == 0x17:  # two digits of the year, RFC 5280 4.1.2.5.1
            text = (b"19" if text[:2] >= b"50" else b"20") + text
        return unix_us(text)

    def usages(self):
        if EXTENDED_USAGE not in self.extensions:
            return []
        listed, found = Der(Der(self.extensions[EXTENDED_USAGE]).only(0x30)), []
        while listed.data:
            found.append(listed.take(0x06))
        return found

    def is_authority(self):
        value = self.extensions.get(BASIC_CONSTRAINTS)
        found = value and Der(Der(value).only(0x30)).maybe(0x01)
        return bool(found) and found[1] == b"\xff"

    def verifies(self, algorithm, digest, message, signature):
        """Whether its key has signed; `digest` is the hash where `algorithm` does not say it."""
        key = Der(self.key)
        kind = key.enter(0x30)
        oid = kind.take(0x06)
        bits = key.only(0x03)[1:]
        if algorithm[:-1] == RSA and algorithm[-1] in (1, 11, 12, 13) and oid == RSA + b"\1":
            digest = {11: "sha256", 12: "sha384", 13: "sha512"}.get(algorithm[-1], digest)
            numbers = Der(Der(bits).only(0x30))
            modulus, exponent = int.from_bytes(numbers.take(0x02)), int.from_bytes(numbers.take(0x02))
            size = (modulus.bit_length() + 7) // 8
            [named] = [oid for oid, name in HASHES.items() if name == digest]
            value = hashlib.new(digest, message).digest()
            info = b"\x30\x0d\x06\x09" + named + b"\x05\x00\x04" + bytes([len(value)]) + value
            info = b"\x30" + bytes([len(info)]) + info
            padded = b"\0\1" + b"\xff" * (size - 3 - len(info)) + b"\0" + info
            strong = 2048 <= modulus.bit_length() <= 8192 and len(signature) == size
            return strong and pow(int.from_bytes(signature), exponent, modulus).to_bytes(size) == padded
        if algorithm == ECDSA + b"\2" and (curve := CURVES.get(kind.maybe(0x06)[1])):
            return ecdsa(curve, bits, hashlib.sha256(message).digest(), signature)
        return False


def known(algorithm, digest):
    """Whether signatures of that kind are checked."""
    named = {11: "sha256", 12: "sha384", 13: "sha512"}
    if algorithm[:-1] == RSA:
        return digest is not None and (algorithm[-1] == 1 or named.get(algorithm[-1]) == digest)
    if algorithm[:-1] == ECDSA:
        return (algorithm[-1], digest) in ((2, "sha256"), (3, "sha384"))
    return digest is not None and algorithm == b"\x2b\x65\x70"


def ecdsa(curve, point, digest, signature):
    p, _, n, *generator = curve
    numbers = Der(Der(signature).only(0x30))
    r, s = int.from_bytes(numbers.take(0x02)), int.from_bytes(numbers.only(0x02))
    if not (0 < r < n and 0 < s < n and point[:1] == b"\4"):
        return False

    def add(a, b):
        if a is None or b is None:
            return a or b
        if a[0] == b[0] and (a[1] + b[1]) % p == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, p) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, p)
        x = (slope * slope - a[0] - b[0]) % p
        return x, (slope * (a[0] - x) - a[1]) % p

    def times(number, a):
        total = None
        while number:
            total, a, number = add(total, a) if number & 1 else total, add(a, a), number >> 1
        return total

    size = (p.bit_length() + 7) // 8
    key = int.from_bytes(point[1:1 + size]), int.from_bytes(point[1 + size:])
    back = pow(s, -1, n)
    found = add(times(int.from_bytes(digest) * back % n, tuple(generator)), times(r * back % n, key))
    return found is not None and found[0] % n == r


class Stamp:
    """A time stamp whose own certificate has signed it."""

    def __init__(self, reply):
        need(len(reply) <= MAX_REPLY)
        reply = Der(Der(reply).only(0x30))
        need(reply.enter(0x30).take(0x02) in (b"\0", b"\1"))
        content = reply.enter(0x30)
        need(not reply.data and content.take(0x06) == SIGNED_DATA)
        data = Der(Der(content.only(0xA0)).only(0x30))
        data.take(0x02)
        data.take(0x31)
        inner = data.enter(0x30)
        need(inner.take(0x06) == TST_INFO)
        info = Der(inner.only(0xA0)).only(0x04)
        certificates = []
        if found := data.maybe(0xA0):
            each = Der(found[1])
            while certificate := each.maybe(0x30):
                certificates.append(certificate[2])
            need(not each.data and len(certificates) <= 16)
        data.maybe(0xA1)
        signer = Der(Der(data.only(0x31)).only(0x30))
        signer.take(0x02)
        signer.next()
        digest = HASHES.get(signer.enter(0x30).take(0x06))
        attributes = signer.maybe(0xA0)
        algorithm = signer.enter(0x30).take(0x06)
        signature = signer.take(0x04)
        self.info(info)
        need(attributes)
        if not known(algorithm, digest):
            raise Unknown
        names = self.attributes(Der(attributes[1]), hashlib.new(digest, info).digest())
        [own, *_] = [one for one in certificates if names(one)] or [None]
        need(own)
        certificates.remove(own)
        self.own, self.others = Certificate(own), certificates
        need(self.own.verifies(algorithm, digest, b"\x31" + attributes[2][1:], signature))

    def info(self, info):
        info = Der(Der(info).only(0x30))
        need(info.take(0x02) == b"\1")
        info.take(0x06)
        imprint = info.enter(0x30)
        need(HASHES.get(imprint.enter(0x30).take(0x06)) == "sha256")
        self.imprint = imprint.only(0x04)
        need(len(self.imprint) == 32)
        info.take(0x02)
        self.us = unix_us(info.take(0x18))

    @staticmethod
    def attributes(attributes, digest):
        """Checks the signed attributes, and gives what tells whether they name a certificate."""
        found = {}
        while attributes.data:
            attribute = attributes.enter(0x30)
            oid, values = attribute.take(0x06), attribute.take(0x31)
            need(oid not in found or oid not in (CONTENT_TYPE, MESSAGE_DIGEST, SIGNING_1))
            found[oid] = Der(values)
            need(len(found) <= 16)
        need({CONTENT_TYPE, MESSAGE_DIGEST} <= set(found))
        need(found[CONTENT_TYPE].only(0x06) == TST_INFO and found[MESSAGE_DIGEST].only(0x04) == digest)
        need(SIGNING_1 in found or SIGNING_2 in found)
        first = Der(found.get(SIGNING_2, found.get(SIGNING_1)).only(0x30)).enter(0x30).enter(0x30)
        hash_name = "sha256" if SIGNING_2 in found else "sha1"
        if SIGNING_2 in found and (algorithm := first.maybe(0x30)):
            hash_name = HASHES.get(Der(algorithm[1]).take(0x06))
            need(hash_name)
        wanted = first.take(0x04)
        return lambda certificate: hashlib.new(hash_name, certificate).digest() == wanted

    def is_by(self, authorities):
        """Whether its certificate leads to one of `authorities`, and is for time stamps."""
        try:
            others = [Certificate(one) for one in self.others]
            return self.own.usages() == [TIME_STAMPING] and EXTENDED_USAGE in self.own.critical and not self.own.is_authority() and self.leads(self.own, authorities, others, 4)
        except Bad:
            return False

    def leads(self, certificate, authorities, others, depth):
        def issued(by):
            hash_name = {5: "sha1"}.get(certificate.algorithm[-1], "sha256")
            return by.subject == certificate.issuer and by.verifies(certificate.algorithm, hash_name, certificate.signed, certificate.signature)

        if not certificate.first <= self.us <= certificate.last or not depth:
            return False
        if any(issued(by) for by in authorities):
            return True
        may = lambda by: by.is_authority() and (EXTENDED_USAGE not in by.extensions or TIME_STAMPING in by.usages())
        ways = [by for by in others if may(by) and issued(by)]
        return any(self.leads(by, authorities, others, depth - 1) for by in ways)


def read_authorities(text):
    found = re.findall("-----BEGIN CERTIFICATE-----\n(.*?)-----END CERTIFICATE-----", text, re.DOTALL)
    need(found)
    return [Certificate(base64.b64decode(one)) for one in found]
