"""How values are written, each in one way; which texts there may be; the two ways not to read a file."""

import contextlib, re, struct
from fractions import Fraction
from math import gcd

import numpy as np


class Refused(Exception):
    """The file breaks a rule of the format."""

    outcome = "failed"


class Beyond(Exception):
    """The file may be sound, but this program does not go so far."""

    outcome = "unchecked"


def must(condition, why):
    if not condition:
        raise Refused(why)


def within(condition, what):
    """Whether this program goes so far: `what` is said where it does not."""
    if not condition:
        raise Beyond(what)


@contextlib.contextmanager
def readable(what):
    """What Python's own readers cannot read, texts and numbers, is refused like what breaks a rule."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        raise Refused(f"{what} is malformed: {error}") from None


def ascend(items):
    return all(a < b for a, b in zip(items, items[1:]))


class Wire:
    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def must(self, condition, why):
        must(condition, f"the {self.what} {why}")

    def take(self, count):
        self.must(len(self.data) - self.at >= count, "ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def unsigned(self, bits):
        first = self.byte()
        if first <= 250:
            return first
        size = 2 << (first - 251)
        self.must(8 * size <= bits, "has a malformed number")
        value = int.from_bytes(self.take(size), "little")
        self.must(value > (250 if size == 2 else 2 ** (4 * size) - 1), "has a number written too long")
        return value

    def signed(self, bits):
        value = self.unsigned(bits)
        return (value >> 1) ^ -(value & 1)

    def double(self):
        return struct.unpack("<d", self.take(8))[0]

    def rational(self, positive=True):
        above, below = self.unsigned(128), self.unsigned(128)
        self.must(below > 0 and gcd(above, below) == 1, "has a ratio that is not in lowest terms")
        self.must(above > 0 or not positive, "has a zero where none may be")
        return Fraction(above, below)

    def text(self, most=65536):
        data = self.take(self.unsigned(64))
        self.must(len(data) <= most, "has a text that is too long")
        return data.decode("utf-8")

    def list(self, item, least=0, most=2**64):
        count = self.unsigned(64)
        self.must(count <= len(self.data) - self.at, "has a list longer than the bytes that are left")
        self.must(least <= count <= most, "has a list of too few or too many items")
        return [item() for _ in range(count)]

    def ascending(self, item, least=0):
        """A list whose items, or what stands first in each, ascend."""
        found = self.list(item, least)
        first = [one[0] if isinstance(one, tuple) else one for one in found]
        self.must(ascend(first), "has a list that does not ascend")
        return found

    def bytes(self):
        """A list of bytes."""
        return self.take(self.unsigned(64))

    def choice(self, least, most):
        tag = self.byte()
        self.must(least <= tag <= most, "has a choice that does not exist")
        return tag

    def one_of(self, *names):
        """The name whose number is written; numbers begin with 1."""
        return names[self.choice(1, len(names)) - 1]

    def packed(self, count, most=64):
        """A list of so many whole numbers of one width."""
        width = self.byte()
        self.must(width <= most and (width >= 1 or count < 64), "has values of a width that they cannot have")
        data = np.frombuffer(self.take((width * count + 7) // 8), dtype=np.uint8)
        bits = np.unpackbits(data, bitorder="little")
        self.must(not bits[width * count:].any(), "has packed values with bits after the last one")
        raw = np.zeros(count, dtype=np.uint64 if width <= 64 else object)
        for place in range(width):
            raw |= bits[place:width * count:width].astype(raw.dtype) << place
        return (raw >> 1 ^ -(raw & 1)).astype(raw.dtype.str.replace("u", "i"))


def decoded(data, what, read, *more):
    """What `read` finds in bytes, all of which it uses."""
    wire = Wire(data, what)
    found = read(wire, *more)
    wire.must(wire.at == len(data), "has bytes that nothing says what they are")
    return found


ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def safe(text):
    """For a terminal: what could act on it is shown and not sent."""
    return ACTS.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def harmless(text, lines=False):
    """No control characters, no line separators, nothing that turns the direction of writing."""
    acts = ACTS.search(text.translate(dict.fromkeys(b"\t\n\r")) if lines else text)
    must(not acts, "a text has control characters, or some that turn the direction of writing")
    return text
