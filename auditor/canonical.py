"""Canonical JSON: whatever could be written in another way is refused."""

import json
import re

from .errors import Refused, must

KEY = re.compile(r"[a-z0-9_]+\Z")


def _pairs(pairs):
    keys = [key for key, _ in pairs]
    must(all(KEY.match(key) for key in keys), "a key of the manifest has other signs than a-z, 0-9 and _")
    must(all(a < b for a, b in zip(keys, keys[1:])), "the manifest's keys do not ascend")
    return dict(pairs)


def _whole(digits):
    must(len(digits) < 20 and abs(int(digits)) <= 2**53, "a number of the manifest is beyond 2^53")
    return int(digits)


def _other(_):
    raise Refused("a number of the manifest is not whole")


def _depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def parse(data):
    """The object in `data`: equal to what writing it again gives, byte for byte."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_pairs, parse_int=_whole, parse_float=_other, parse_constant=_other)
        again = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        must(again == data, "the manifest is not in canonical form")
        must(isinstance(value, dict) and _depth(value) <= 17, "the manifest is no object, or nests too deep")
    except (ValueError, RecursionError) as error:
        raise Refused(f"the manifest cannot be read: {error}") from None
    return value
