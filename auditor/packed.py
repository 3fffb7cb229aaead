"""Lists of whole numbers of one width each."""

import numpy as np

from .errors import Refused, must


def size(data, at, count):
    """How many bytes a list of `count` values takes that begins at `at`."""
    must(at < len(data), "the measurements end too early")
    must(data[at] <= 64, "packed values are wider than 64 bits")
    must(data[at] >= 1 or count < 64, "64 values or more have no width")
    return 1 + (data[at] * count + 7) // 8


def read(data, at, count):
    """`count` values from `at` on, and where the next list begins."""
    end = at + size(data, at, count)
    must(end <= len(data), "the packed values are malformed: they end too early")
    width = data[at]
    if width == 0:
        return np.zeros(count, dtype=object), end
    bits = np.unpackbits(np.frombuffer(data[at + 1:end], dtype=np.uint8), bitorder="little")
    must(not bits[width * count:].any(), "the packed values are malformed: bits after the last one")
    raw = np.zeros(count, dtype=np.uint64)
    for place, column in enumerate(bits[:width * count].reshape(count, width).T):
        raw |= column.astype(np.uint64) << np.uint64(place)
    signed = (raw >> np.uint64(1)).astype(np.int64) ^ -((raw & np.uint64(1)).astype(np.int64))
    return signed, end
