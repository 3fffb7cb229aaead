"""The file: header, table of sections, manifest, signature, in the order of checks that the format says."""

import struct
from fractions import Fraction

from blake3 import blake3

from . import manifest, minisign
from .errors import must

MAGIC = b"\x8dMARGINS"
CRITICAL = 0x8000_0000
KINDS = ["", "domain", "plan", "spec", "attachment", "measurements", "exact", "zero", "projection",
         "truncation", "workload", "copies", "sums"]
NOT_CRITICAL = {"spec", "attachment", "workload"}
SECOND = {"truncation", "workload", "copies", "sums"}
MOST = {"exact": 4096, "zero": 1024, "attachment": 65536, "measurements": 65536, "sums": 65536}


def hash_of(data):
    return blake3(data).hexdigest()


class Section:
    def __init__(self, tag, index, data, digest):
        self.tag, self.kind, self.index, self.data, self.digest = tag, tag & ~CRITICAL, index, data, digest
        self.name = KINDS[self.kind] if 0 < self.kind < len(KINDS) else None

    def read(self):
        signed = blake3(self.data).digest() == self.digest
        must(signed, f"section {self.name} {self.index} is not what was signed")
        return self.data


class File:
    """A release whose manifest is signed by the key that it names and repeats the table."""

    def __init__(self, data):
        must(data[:8] == MAGIC, "this is not a margins release: its first bytes are not the magic number")
        must(len(data) >= 32, "the header is cut short")
        self.data = data
        self.version, count, length, signature = struct.unpack("<IIQQ", data[8:32])
        must(self.version in (1, 2), "the format's version is neither 1 nor 2")
        must(count <= 65536, "there are more sections than a release may have")
        must(length <= 1 << 26, f"the manifest's length is {length}, more than a release may have")
        must(signature <= 4096, "the signature is longer than it may be")
        must(32 + 56 * count + length + signature <= len(data), "the file is cut short")
        end = len(data) - signature
        self.sections = self._table(count, end - length)
        text = data[end - length:end]
        self.manifest = manifest.parse(text)
        self.strange = manifest.check(self.manifest)
        self.name = self.manifest["about"]["name"]
        self.key = minisign.Key(self.manifest["signer"]["public_key"])
        named = f"margins release {self.name}, format {self.version}"
        self.comment = f"{named}, blake3 of manifest {hash_of(text)}"
        minisign.verify(self.key, text, data[end:], self.comment)
        self._says()
        self._private()

    def all(self, name):
        return [section for section in self.sections if section.name == name]

    def one(self, name):
        found = self.all(name)
        return found[0].read() if found else None

    def _table(self, count, end):
        at, sections, last = 32 + 56 * count, [], None
        for start in range(32, at, 56):
            tag, index, offset, length = struct.unpack("<IIQQ", self.data[start:start + 24])
            follows = offset == at and length <= 1 << 30 and at + length <= end
            must(follows, "the sections do not follow each other")
            new = Section(tag, index, self.data[at:at + length], self.data[start + 24:start + 56])
            if last and last.kind == new.kind:
                ascends = tag == last.tag and index == last.index + 1
            else:
                ascends = index == 0 and (not last or last.kind < new.kind)
            must(ascends, "the rows of the table do not ascend")
            critical = tag >= CRITICAL
            sound = critical == (new.name not in NOT_CRITICAL) if new.name else not critical
            sound &= self.version == 2 or new.name not in SECOND
            must(sound, "a section has a tag that it cannot have")
            sections.append(new)
            last, at = new, at + length
        must(at == end, "the lengths do not add up to the file's")
        for name in KINDS[1:]:
            number = sum(section.name == name for section in sections)
            least, most = name in ("domain", "plan", "spec"), MOST.get(name, 1)
            must(least <= number <= most, f"there are {number} sections {name}")
        return sections

    def _says(self):
        top = self.manifest
        must(top["format"] == self.version, "the manifest's format is not that of the header")
        test = top["signer"]["kind"] == "NOT PRIVATE test"
        known = self.key.point == minisign.Key(minisign.NOT_PRIVATE).point
        must(top["not_private"] == test == known, "the manifest does not agree with itself on NOT PRIVATE")
        later = [name for name in ("dataset", "account", "recipient") if top.get(name) is not None]
        must(self.version == 2 or not later, f"a file of format 1 has no {later}")
        rows, sources = top["sections"], top["sources"]
        must(len(rows) == len(self.sections), "the manifest does not repeat the table")
        for row, part in zip(rows, self.sections):
            said = [row["tag"], row["index"], row["length"], row["blake3"]]
            held = [part.tag, part.index, len(part.data), part.digest.hex()]
            repeats = said == held and part.name in (None, row["name"])
            must(repeats, "the manifest does not repeat the table")
        said = [sources["domain"], sources["spec"]] + [item["blake3"] for item in sources["attachments"]]
        held = [part.digest.hex() for part in self.sections if part.name in ("domain", "spec", "attachment")]
        must(said == held, "the sources are not those of the sections")

    def _private(self):
        privacy, plan = self.manifest["privacy"], self.manifest["plan"]
        rho = plan["mechanism"] == "gaussian" or self.manifest.get("projection") is not None
        for amount in (privacy["budget"], privacy["cost"]):
            must(amount["currency"] == ("rho" if rho else "epsilon"), "an amount is in another currency")
        within = Fraction(privacy["cost"]["amount"]) <= Fraction(privacy["budget"]["amount"])
        must(within, "the cost is above the budget")
        listed = len(plan["measurements"]) == min(plan["count"], 10000)
        must(listed, "not as many measurements are listed as there are")
