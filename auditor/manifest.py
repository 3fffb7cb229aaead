"""The manifest is canonical JSON."""

import json
import re

from .wire import ascend, harmless, must, Refused

KEY = re.compile(r"[a-z0-9_]+\Z")

def parse(data):
    """The object in `data`: equal to what writing it again gives, byte for byte."""
    try:
        value = json.loads(data.decode("utf-8"))
        again = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
    except (ValueError, RecursionError) as error:
        raise Refused(f"the manifest cannot be read: {error}") from None
    must(again == data, "the manifest is not in canonical form")
    _plain(value)
    return value


def _plain(value, depth=0):
    """Refuses keys out of order, fractions, large numbers, texts that act on a terminal, what nests deep."""
    must(not isinstance(value, float), "a number of the manifest is not whole")
    must(not isinstance(value, int) or abs(value) <= 2**53, "a number of the manifest is beyond 2^53")
    if isinstance(value, str):
        harmless(value, lines=True)
    if isinstance(value, dict):
        keys = ascend(list(value)) and all(KEY.match(key) for key in value)
        must(keys, "the manifest's keys do not ascend, or have other signs than a-z, 0-9 and _")
        value = list(value.values())
    if isinstance(value, list):
        must(depth <= 16, "the manifest nests too deep")
        for inner in value:
            _plain(inner, depth + 1)

