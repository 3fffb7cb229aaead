"""Keys and signatures as minisign writes them."""

import base64
import binascii
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .errors import must, Refused

UNTRUSTED = "untrusted comment: signature by margins, verify with minisign"
TRUSTED = "trusted comment: "
NOT_PRIVATE = "RWR0TOycRz0cUe0S537v4VMiB75JoiMrJuy5lPkkqxOEycRPjI4rtxVb"


def _base64(text, letters):
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refused("base64 is malformed") from None
    must(len(text) == letters and base64.b64encode(data).decode() == text, "base64 is malformed")
    return data


class Key:
    """A public key: a number of 8 bytes and 32 bytes of Ed25519."""

    def __init__(self, line):
        self.line, data = line, _base64(line, 56)
        must(data[:2] == b"Ed", "the public key is of another algorithm")
        self.number, self.point = data[2:10], data[10:]

    def check(self, signature, message):
        try:
            Ed25519PublicKey.from_public_bytes(self.point).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise Refused("the signature is not valid") from None


def verify(key, data, signature, comment):
    """Refuses a `signature` that is not that of `data` by `key` under this trusted comment."""
    try:
        lines = signature.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise Refused("the signature is not text") from None
    must(len(lines) == 5 and lines[4] == "", "the signature has not four lines")
    must(lines[0] == UNTRUSTED, "the signature's first line is another one")
    must(lines[2] == TRUSTED + comment, "the signature's comment does not name this release")
    first, last = _base64(lines[1], 100), _base64(lines[3], 88)
    must(first[:2] == b"ED", "the signature is of another algorithm")
    must(first[2:10] == key.number, "the signature is by a key of another number")
    key.check(first[10:], hashlib.blake2b(data).digest())
    key.check(last, first[10:] + comment.encode("utf-8"))
