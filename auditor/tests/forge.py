"""Files that somebody else might sign: sections and manifest changed at will, behind a good signature by a key made here."""

import base64
import hashlib
import json
import struct

from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from auditor import sections
from auditor.claims import Claims
from auditor.container import File
from auditor.plan import KINDS, Plan
from auditor.release import Release
from auditor.wire import Wire

SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NUMBER = b"auditor!"
KEY = base64.b64encode(b"Ed" + NUMBER + SECRET.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def take(data):
    """The version, [[tag, index, bytes]] and the manifest of a file."""
    version, count, manifest, signature = struct.unpack("<IIQQ", data[8:32])
    rows = [struct.unpack("<IIQQ", data[at:at + 24]) for at in range(32, 32 + 56 * count, 56)]
    text = data[len(data) - manifest - signature:len(data) - signature]
    return version, [[tag, index, data[at:at + length]] for tag, index, at, length in rows], json.loads(text)


def sign(data, comment):
    first = SECRET.sign(hashlib.blake2b(data).digest())
    last = SECRET.sign(first + comment.encode())
    lines = ["untrusted comment: signature by margins, verify with minisign", base64.b64encode(b"ED" + NUMBER + first).decode(),
             "trusted comment: " + comment, base64.b64encode(last).decode(), ""]
    return "\n".join(lines).encode()


def make(version, parts, manifest):
    """The file again, with whatever hashes and lengths these sections have."""
    names = ["", "domain", "plan", "spec", "attachment", "measurements", "exact", "zero", "projection", "truncation", "workload", "copies", "sums"]
    kind = lambda tag: names[tag & 0x7FFF_FFFF] if tag & 0x7FFF_FFFF < len(names) else "unknown"
    digest = [blake3(body).hexdigest() for _, _, body in parts]
    manifest = dict(manifest, not_private=False, signer={"kind": "throw-away", "public_key": KEY}, sections=[
        {"name": kind(tag), "tag": tag, "index": index, "length": len(body), "blake3": said} for (tag, index, body), said in zip(parts, digest)])
    found = {kind(tag): said for (tag, _, _), said in zip(parts, digest)}
    attached = [said for (tag, _, _), said in zip(parts, digest) if kind(tag) == "attachment"]
    manifest["sources"] = dict(manifest["sources"], spec=found.get("spec"), domain=found.get("domain"), attachments=[
        dict(item, blake3=said) for item, said in zip(manifest["sources"]["attachments"], attached)])
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    comment = f"margins release {manifest['about']['name']}, format {version}, blake3 of manifest {blake3(text).hexdigest()}"
    signature = sign(text, comment)
    at, table = 32 + 56 * len(parts), b""
    for (tag, index, body), said in zip(parts, digest):
        table += struct.pack("<IIQQ", tag, index, at, len(body)) + bytes.fromhex(said)
        at += len(body)
    return b"\x8dMARGINS" + struct.pack("<IIQQ", version, len(parts), len(text), len(signature)) + table + b"".join(s[2] for s in parts) + text + signature


def number(value):
    """As `Wire.unsigned` reads it."""
    tag, size = next(pair for pair in [(0, 0), (251, 2), (252, 4), (253, 8), (254, 16)] if value < (256**pair[1] if pair[1] else 251))
    return bytes([tag]) + value.to_bytes(size, "little") if size else bytes([value])


def block(kind, table, scale):
    levels = b"".join(number(d) + bytes([level]) for d, level in table)
    return bytes([KINDS.index(kind) + 1]) + number(len(table)) + levels + number(scale.numerator) + number(scale.denominator)


def blocks(body, domain, change):
    """A plan whose blocks, `(kind, table, scale)`, are changed, and values for them, all of them 0: few enough to have no width."""
    places = []

    class Noted(Plan):
        def _block(self):
            places.append(self.wire.at)
            return super()._block()

    wire = Wire(body, "plan")
    changed = change([(one.kind, one.table, one.scale) for one in Noted(wire, domain).blocks])
    before = body[:places[0] - len(number(len(places)))]
    return before + number(len(changed)) + b"".join(block(*one) for one in changed) + body[wire.at:], bytes(len(changed))


def measured(data, change, sums=False):
    """A file in which other blocks were measured, of rows or of the first number's sums, with the spec that there was and claims that fit."""
    version, found, manifest = take(data)
    release = Release(File(data))
    kind = lambda tag: next(section for section in found if section[0] & 0xFF == tag)
    if sums:
        places = []

        class Noted(Wire):
            def bytes(self):
                places.append((self.at, super().bytes(), self.at))
                return places[-1][1]

        section = kind(12)
        sections.sums(Noted(section[2], "sums section"), release.plan)
        (start, plan, _), (_, _, end) = places[:2]
        plan, values = blocks(plan, release.domain, change)
        section[2] = section[2][:start] + number(len(plan)) + plan + number(len(values)) + values + section[2][end:]
    else:
        kind(2)[2], kind(5)[2] = blocks(kind(2)[2], release.domain, change)
    claims = Claims(Release(File(make(version, found, manifest))))
    for part, said in claims._derived().items():
        for key, value in said.items():
            manifest[part].pop(key, None)
            manifest[part].update({} if value is None else {key: value})
    manifest["account"]["charged"] = manifest["privacy"]["cost"]
    return make(version, found, manifest)
