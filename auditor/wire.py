"""The encoding of domain, plan and the small sections: each value in the one way it can be written."""

import struct
from fractions import Fraction
from math import gcd

from .errors import Refused, must

LONG = {251: 2, 252: 4, 253: 8, 254: 16}


class Wire:
    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        must(len(self.data) - self.at >= count, f"the {self.what} ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def unsigned(self, bits):
        first = self.byte()
        if first <= 250:
            return first
        size = LONG.get(first)
        must(size is not None and 8 * size <= bits, f"the {self.what} has a malformed number")
        value = int.from_bytes(self.take(size), "little")
        must(value > (250 if size == 2 else 2 ** (4 * size) - 1), f"the {self.what} has a number written too long")
        return value

    def signed(self, bits):
        value = self.unsigned(bits)
        return (value >> 1) ^ -(value & 1)

    def double(self):
        return struct.unpack("<d", self.take(8))[0]

    def list(self, item, least=0, most=2**64):
        count = self.unsigned(64)
        must(count <= len(self.data) - self.at, f"a list of the {self.what} is longer than the bytes that are left")
        must(least <= count <= most, f"a list of the {self.what} has too few or too many items")
        return [item() for _ in range(count)]

    def text(self, most=65536):
        count = self.unsigned(64)
        must(count <= most, f"a text of the {self.what} is too long")
        try:
            return self.take(count).decode("utf-8")
        except UnicodeDecodeError:
            raise Refused(f"a text of the {self.what} is not UTF-8") from None

    def rational(self, positive=True):
        above, below = self.unsigned(128), self.unsigned(128)
        must(below > 0 and gcd(above, below) == 1 and (above > 0 or below == 1), f"the {self.what} has a ratio that is not in lowest terms")
        must(above > 0 or not positive, f"the {self.what} has a zero where none may be")
        return Fraction(above, below)

    def choice(self, tags):
        tag = self.byte()
        must(tag in tags, f"the {self.what} has a choice that does not exist")
        return tag

    def end(self):
        must(self.at == len(self.data), f"the {self.what} has bytes that nothing says what they are")
