"""Files that somebody else might sign: sections and manifest changed at will, behind a good signature by a key made here."""

import base64
import hashlib
import json
import struct

from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

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


def make(version, sections, manifest):
    """The file again, with whatever hashes and lengths these sections have."""
    names = ["", "domain", "plan", "spec", "attachment", "measurements", "exact", "zero", "projection", "truncation", "workload", "copies", "sums"]
    kind = lambda tag: names[tag & 0x7FFF_FFFF] if tag & 0x7FFF_FFFF < len(names) else "unknown"
    digest = [blake3(body).hexdigest() for _, _, body in sections]
    manifest = dict(manifest, not_private=False, signer={"kind": "throw-away", "public_key": KEY}, sections=[
        {"name": kind(tag), "tag": tag, "index": index, "length": len(body), "blake3": said} for (tag, index, body), said in zip(sections, digest)])
    found = {kind(tag): said for (tag, _, _), said in zip(sections, digest)}
    attached = [said for (tag, _, _), said in zip(sections, digest) if kind(tag) == "attachment"]
    manifest["sources"] = dict(manifest["sources"], spec=found.get("spec"), domain=found.get("domain"), attachments=[
        dict(item, blake3=said) for item, said in zip(manifest["sources"]["attachments"], attached)])
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    comment = f"margins release {manifest['about']['name']}, format {version}, blake3 of manifest {blake3(text).hexdigest()}"
    signature = sign(text, comment)
    at, table = 32 + 56 * len(sections), b""
    for (tag, index, body), said in zip(sections, digest):
        table += struct.pack("<IIQQ", tag, index, at, len(body)) + bytes.fromhex(said)
        at += len(body)
    return b"\x8dMARGINS" + struct.pack("<IIQQ", version, len(sections), len(text), len(signature)) + table + b"".join(s[2] for s in sections) + text + signature
