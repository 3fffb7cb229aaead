"""The file: header, table of sections, manifest, signature, in the order of checks that the format says; keys
and signatures as minisign writes them."""

import base64, hashlib, struct
from fractions import Fraction

from blake3 import blake3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import shapes
from .wire import ascend, must, readable, Refused

MAGIC, CRITICAL = b"\x8dMARGINS", 0x8000_0000
KINDS = ("domain plan spec attachment measurements exact zero projection truncation workload copies "
         "sums").split()
# Format 1 knows the first eight of these kinds, and none of these fields of the manifest.
FIRST, LATER = KINDS[:8], set("dataset account recipient legends reliability without accounting".split())
NOT_CRITICAL = {"spec", "attachment", "workload"}
UNTRUSTED = "untrusted comment: signature by margins, verify with minisign"
NOT_PRIVATE = "RWR0TOycRz0cUe0S537v4VMiB75JoiMrJuy5lPkkqxOEycRPjI4rtxVb"
# Of points of small order anybody guesses signatures: their y is 0, 1 or -1, or one of these two.
PRIME, EIGHT = 2**255 - 19, 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826
WEAK = {0, 1, PRIME - 1, EIGHT, PRIME - EIGHT}
MOST = {"exact": 4096, "zero": 1024, "attachment": 65536, "measurements": 65536, "sums": 65536}


def _base64(text, letters):
    data = base64.b64decode(text, validate=True)
    must(len(text) == letters and base64.b64encode(data).decode() == text, "base64 is malformed")
    return data


def public(line):
    """The line of a public key, its number of 8 bytes and its 32 bytes of Ed25519."""
    data = _base64(line, 56)
    must(data[:2] == b"Ed", "the public key is of another algorithm")
    y = int.from_bytes(data[10:], "little") % (1 << 255)
    must(y < PRIME and y not in WEAK, "the public key is one that everybody can sign for")
    return line, data[2:10], data[10:]


def check_signature(line, data, signature, comment):
    """Refuses a `signature` that is not that of `data` by a public key under this trusted comment."""
    lines, (_, number, point) = signature.decode("utf-8").split("\n"), public(line)
    must(len(lines) == 5 and lines[0] == UNTRUSTED and not lines[4], "the signature has not its four lines")
    must(lines[2] == f"trusted comment: {comment}", "the signature's comment does not name this release")
    first, last = _base64(lines[1], 100), _base64(lines[3], 88)
    must(first[:10] == b"ED" + number, "the signature is of another algorithm, or by another key")
    try:
        key = Ed25519PublicKey.from_public_bytes(point)
        key.verify(first[10:], hashlib.blake2b(data).digest())
        key.verify(last, first[10:] + comment.encode("utf-8"))
    except InvalidSignature:
        raise Refused("the signature is not valid") from None


def contents(path, most=1 << 32):
    """What is in a file. A pipe or a device might have no end."""
    if path.stat().st_size > most or not path.is_file():
        raise OSError(f"{path} is no plain file, or has more than {most} bytes")
    return path.read_bytes()


class Section:
    def __init__(self, known, tag, index, data, digest):
        self.tag, self.kind, self.index, self.data, self.digest = tag, tag & ~CRITICAL, index, data, digest
        self.name = dict(enumerate(known, 1)).get(self.kind)

    def read(self):
        must(blake3(self.data).digest() == self.digest, f"section {self.name} {self.index} is damaged")
        return self.data


class File:
    """A release whose manifest is signed by the key that it names and repeats the table."""

    @readable("the manifest or a signature")
    def __init__(self, data):
        must(data[:8] == MAGIC, "this is not a margins release: its first bytes are not the magic number")
        must(len(data) >= 32, "the header is cut short")
        self.data, (self.version, count, length, signature) = data, struct.unpack("<IIQQ", data[8:32])
        must(self.version in (1, 2), "the format's version is neither 1 nor 2")
        must(count <= 65536 and length <= 1 << 26 and signature <= 4096, "the header has a number too large")
        end = len(data) - signature
        must(32 + 56 * count + length <= end, "the file is cut short")
        self.sections, text = self._table(count, end - length), data[end - length:end]
        self.manifest = shapes.parse(text)
        self.strange = shapes.check(self.manifest, "manifest", "the manifest")
        self.name, self.key = self.manifest["about"]["name"], self.manifest["signer"]["public_key"]
        named = f"margins release {self.name}, format {self.version}"
        self.comment = f"{named}, blake3 of manifest {blake3(text).hexdigest()}"
        check_signature(self.key, text, data[end:], self.comment)
        self._says()

    def all(self, name):
        return [section for section in self.sections if section.name == name]

    def _table(self, count, end):
        at, sections, known = 32 + 56 * count, [], KINDS if self.version > 1 else FIRST
        for tag, index, offset, length, digest in struct.iter_unpack("<IIQQ32s", self.data[32:at]):
            must(offset == at and length <= min(1 << 30, end - at), "the sections do not follow each other")
            new = Section(known, tag, index, self.data[at:at + length], digest)
            last = (sections or [None])[-1]
            first = not last or last.kind < new.kind
            must(index == 0 if first else (tag, index) == (last.tag, last.index + 1), "rows do not ascend")
            must((tag >= CRITICAL) == (new.name not in (None, *NOT_CRITICAL)), "a tag is none that may be")
            sections.append(new)
            at += length
        must(at == end, "the lengths do not add up to the file's")
        names = [section.name for section in sections]
        for name in KINDS:
            sound = (name in KINDS[:3]) <= names.count(name) <= MOST.get(name, 1)
            must(sound, f"there are {names.count(name)} sections {name}")
        return sections

    def _says(self):
        top = self.manifest
        must(top["format"] == self.version, "the manifest's format is not that of the header")
        known = public(self.key)[2] == public(NOT_PRIVATE)[2]
        alike = {top["not_private"], top["signer"]["kind"] == "NOT PRIVATE test", known}
        must(len(alike) == 1, "the manifest does not agree with itself on NOT PRIVATE")
        fields = {*top, *top["about"], *top["privacy"], *top["privacy"].get("approximate", ())}
        must(self.version == 2 or not LATER & fields, f"format 1 has none of {sorted(LATER)}")
        rows, sources = top["sections"], top["sources"]
        held = [{"name": p.name or row["name"], "tag": p.tag, "index": p.index, "length": len(p.data),
                 "blake3": p.digest.hex()} for row, p in zip(rows, self.sections)]
        must(rows == held and len(held) == len(self.sections), "the manifest does not repeat the table")
        said = [sources["domain"], sources["spec"]] + [item["blake3"] for item in sources["attachments"]]
        held = [part.digest.hex() for part in self.sections if part.name in ("domain", "spec", "attachment")]
        must(said == held, "the sources are not those of the sections")
        budget, cost, plan = top["privacy"]["budget"], top["privacy"]["cost"], top["plan"]
        rho = plan["mechanism"] == "gaussian" or "projection" in top
        must(budget["currency"] == cost["currency"] == ("rho" if rho else "epsilon"), "a strange currency")
        must(Fraction(cost["amount"]) <= Fraction(budget["amount"]), "the cost is above the budget")
        cuts = list(map(Fraction, top["about"].get("reliability", [])))
        must(len(cuts) <= 4 and ascend([0, *cuts]), "the classes of reliability are none")
        must(len(plan["measurements"]) == min(plan["count"], 10000), "not all measurements are listed")
