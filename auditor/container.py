"""The file: header, table of sections, manifest, signature, in the order of checks that the format says."""

import re
import struct
from fractions import Fraction

from blake3 import blake3

from . import canonical, minisign, texts
from .errors import Refused, must

MAGIC = b"\x8dMARGINS"
CRITICAL = 0x8000_0000
KINDS = {
    1: ("domain", True), 2: ("plan", True), 3: ("spec", False), 4: ("attachment", False), 5: ("measurements", True), 6: ("exact", True),
    7: ("zero", True), 8: ("projection", True), 9: ("truncation", True), 10: ("workload", False), 11: ("copies", True),
}
ONCE = {"domain", "plan", "spec", "projection", "truncation", "workload", "copies"}
SECOND = {"truncation", "workload", "copies"}
MOST = {"exact": 4096, "zero": 1024}
RATIONAL = re.compile(r"(0|[1-9]\d*)(/[1-9]\d*)?\Z", re.ASCII)


def hash_of(data):
    return blake3(data).hexdigest()


class Section:
    def __init__(self, tag, index, data, digest):
        self.tag, self.index, self.data, self.digest = tag, index, data, digest
        self.name, self.critical = KINDS.get(tag & ~CRITICAL, (None, None))

    def read(self):
        must(blake3(self.data).digest() == self.digest, f"section {self.name} {self.index} is not what was signed")
        return self.data


class File:
    """A release whose manifest is signed by the key that it names and repeats the table. Sections are hashed when they are read."""

    def __init__(self, data):
        must(data[:8] == MAGIC, "this is not a margins release: its first bytes are not the magic number")
        must(len(data) >= 32, "the header is cut short")
        self.data = data
        self.version, count, manifest, signature = struct.unpack("<IIQQ", data[8:32])
        must(self.version in (1, 2), "the format's version is neither 1 nor 2")
        must(count <= 65536, "there are more sections than a release may have")
        must(manifest <= 1 << 26, f"the manifest's length is {manifest}, more than the 67108864 a release may have")
        must(signature <= 4096, "the signature is longer than it may be")
        must(32 + 56 * count + manifest + signature <= len(data), "the file is cut short")
        self.sections = self._table(count, len(data) - manifest - signature)
        self.signature = data[len(data) - signature:]
        self.text = data[len(data) - manifest - signature:len(data) - signature]
        self.manifest = canonical.parse(self.text)
        self._signed()
        self._manifest()

    def _table(self, count, end):
        at, sections, last = 32 + 56 * count, [], None
        for row in range(count):
            start = 32 + 56 * row
            tag, index, offset, length = struct.unpack("<IIQQ", self.data[start:start + 24])
            kind = tag & ~CRITICAL
            must(offset == at and length <= 1 << 30 and at + length <= end, "the sections do not follow each other")
            must(index == (last.index + 1 if last and last.tag & ~CRITICAL == kind else 0), "the indices of a kind of section are not 0, 1, 2, …")
            must(last is None or (last.tag & ~CRITICAL, last.index) < (kind, index), "the rows of the table do not ascend")
            must(last is None or last.tag & ~CRITICAL != kind or last.tag == tag, "a kind of section is both critical and not")
            last = Section(tag, index, self.data[at:at + length], self.data[start + 24:start + 56])
            must(last.name is not None or tag < CRITICAL, "a section is of a kind that this format does not have, and cannot be left out")
            must(last.name is None or last.critical == (tag >= CRITICAL), "a known section has the other critical bit")
            must(last.name not in SECOND or self.version == 2, "a section of format 2 is in a file of format 1")
            sections.append(last)
            at += length
        must(at == end, "the lengths do not add up to the file's")
        for kind, (name, _) in KINDS.items():
            number = sum(section.name == name for section in sections)
            must(number <= (1 if name in ONCE else MOST.get(name, 65536)), f"there are too many sections {name}")
            must(number or name not in ("domain", "plan", "spec"), f"there is no section {name}")
        return sections

    def _signed(self):
        signer, about = field(self.manifest, "signer", dict), field(self.manifest, "about", dict)
        self.key = minisign.Key(field(signer, "public_key", str))
        self.name = texts.name(field(about, "name", str))
        self.manifest_hash = hash_of(self.text)
        self.comment = f"margins release {self.name}, format {self.version}, blake3 of manifest {self.manifest_hash}"
        minisign.verify(self.key, self.text, self.signature, self.comment)

    def _manifest(self):
        top = self.manifest
        _strings(top)
        must(field(top, "format", int) == self.version, "the manifest's format is not that of the header")
        texts.day(field(top, "created", str))
        field(top, "compiler", str)
        kind = field(top["signer"], "kind", str)
        must(kind in ("agency", "throw-away", "NOT PRIVATE test"), "the signer is of no known kind")
        secret = [field(top, "not_private", bool), kind == "NOT PRIVATE test", self.key.is_known_to_all()]
        must(len(set(secret)) == 1, "the manifest does not agree with itself on being NOT PRIVATE")
        field(top["about"], "title", str)
        for name in ("dataset", "account", "recipient"):
            must(self.version == 2 or top.get(name) is None, f"a file of format 1 has no {name}")
        if top.get("dataset") is not None:
            texts.name(field(top["dataset"], "id", str))
            period = top["dataset"].get("period")
            must(period is None or isinstance(period, str) and 0 < len(texts.harmless(period)) <= 100, "the dataset's period is malformed")
        if top.get("account") is not None:
            account = top["account"]
            texts.name(field(account, "id", str))
            must(field(account, "unit_of", int) >= 1 and field(account, "line", int) >= 1, "the account's line and unit_of begin with 1")
            must(texts.HASH.match(field(account, "head", str)), "the account's head is no hash")
            field(account, "unit", str), amount(account, "charged")
        self._repeats()
        self._private()

    def _repeats(self):
        rows = field(self.manifest, "sections", list)
        must(len(rows) == len(self.sections), "the manifest does not repeat the table")
        for row, section in zip(rows, self.sections):
            said = [field(row, "tag", int), field(row, "index", int), field(row, "length", int), field(row, "blake3", str)]
            must(said == [section.tag, section.index, len(section.data), section.digest.hex()], "the manifest does not repeat the table")
            must(section.name is None or field(row, "name", str) == section.name, "the manifest calls a section by another name")
        sources, digest = field(self.manifest, "sources", dict), lambda kind: [s.digest.hex() for s in self.all(kind)]
        must([field(sources, "spec", str)] == digest("spec") and [field(sources, "domain", str)] == digest("domain"), "the sources are not those of the sections")
        attached = [field(item, "blake3", str) for item in field(sources, "attachments", list)]
        must(attached == digest("attachment"), "the attachments are not those of the sections")

    def _private(self):
        privacy, plan, declared = (field(self.manifest, name, dict) for name in ("privacy", "plan", "declared"))
        currency = {"gaussian": "rho", "laplace": "epsilon" if self.manifest.get("projection") is None else "rho"}.get(field(plan, "mechanism", str))
        (have, budget), (spent, cost) = amount(privacy, "budget"), amount(privacy, "cost")
        must(have == spent == currency and cost <= budget, "the cost is above the budget, or in another currency than the noise")
        must(len(field(declared, "invariants", list)) == len(self.all("exact")), "the exact tables are not as many as declared")
        must(len(field(declared, "constraints", list)) == len(self.all("zero")), "the empty cells are not as many as declared")
        count, listed = field(plan, "count", int), field(plan, "measurements", list)
        must(len(listed) == min(count, 10000), "not as many measurements are listed as there are")

    def all(self, name):
        return [section for section in self.sections if section.name == name]

    def one(self, name):
        found = self.all(name)
        return found[0].read() if found else None


def field(value, name, kind):
    must(isinstance(value, dict) and isinstance(value.get(name), kind) and (kind is bool or not isinstance(value[name], bool)),
         f"the manifest has no `{name}` that can be read")
    return value[name]


def amount(value, name):
    value = field(value, name, dict)
    text = field(value, "amount", str)
    must(RATIONAL.match(text), "an amount is no ratio")
    return field(value, "currency", str), Fraction(text)


def _strings(value):
    if isinstance(value, str):
        texts.harmless(value, lines=True)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _strings(inner)
