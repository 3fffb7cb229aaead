"""The manifest: canonical JSON, and which fields it has."""

import datetime
import json
import re

from .wire import ascend, harmless, must, Refused

KEY = re.compile(r"[a-z0-9_]+\Z")
# The fields of each object. After the colon stands what a field holds: a text, a number, another object, or
# with `*` a list of these. With `?` it may be left out; without a colon it may hold anything.
SHAPES = {
    "manifest": """format:int created:day compiler:str not_private:bool about:about privacy:privacy plan:plan
        declared:declared sources:sources sections:section* signer:signer dataset?:dataset account?:account
        recipient?:recipient projection?:projection legends?:legend*""",
    "about": "name:name title:str description? licence? contact? supersedes? errata? reliability?:ratio*",
    "privacy": """unit:str max_rows? neighbours? budget:amount cost:amount note? approximate?:approximate
        order? truncation?:truncation without?:without""",
    "plan": "measure? budgets? mechanism:noise workload? count:int measurements:measurement* sums?",
    "declared": "invariants:str* constraints:str* post_processing?",
    "sources": "spec:hash domain:hash attachments:attachment*",
    "signer": "kind:kind public_key:str",
    "dataset": "id:name period?:period snapshot?:period",
    "account": "id:name unit:str unit_of:count part? charged:amount line:count head:hash",
    "recipient": "name? mode? copies? measuring? joint_cost?:amount centre? note?",
    "projection": "kind? key? rows? buckets? independence? seed? sparsity? collision?",
    "section": "name:str tag:int index:int length:int blake3:hash",
    "measurement": "block? kind? scale? sensitivity? cost?",
    "attachment": "name:str blake3:hash",
    "approximate": "epsilon? delta? conversion? accounting?",
    "truncation": "scale?",
    "amount": "currency:str amount:ratio",
    "legend": "dimension:str description?:str unit?:str concept?:concept missing?:str labels?:labels*",
    "labels": "level:str of",
}
TEXTS = {
    "str": r"(?s:.*)",
    "name": r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    "hash": r"[0-9a-f]{64}",
    "ratio": r"(0|[1-9][0-9]*)(/[1-9][0-9]*)?",
    "kind": "agency|throw-away|NOT PRIVATE test",
    "noise": "gaussian|laplace",
    "without": "own|drop",
    "concept": "geography|time",
    "period": r"[^\t\n\r]{1,100}",
    "day": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
NUMBERS = {"int": -2**53, "count": 1}


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


def check(value, kind="manifest", path="the manifest"):
    """Refuses what is missing or not what it must be; gives the fields that the format does not know."""
    if kind.endswith("*"):
        must(isinstance(value, list), f"{path} is no list")
        return [field for item in value for field in check(item, kind[:-1], path)]
    if kind not in SHAPES:
        must(_is(value, kind), f"{path} is not what it must be")
        return []
    must(isinstance(value, dict), f"{path} is no object")
    strange = set(value)
    for field in SHAPES[kind].split():
        name, _, inner = field.partition(":")
        optional, name = name.endswith("?"), name.rstrip("?")
        strange.discard(name)
        must(optional or value.get(name) is not None, f"{path} has no `{name}`")
        if inner and value.get(name) is not None:
            strange.update(check(value[name], inner, f"`{name}` of {path}"))
    return sorted(strange)


def _is(value, kind):
    if kind == "bool":
        return isinstance(value, bool)
    if kind in NUMBERS:
        return type(value) is int and value >= NUMBERS[kind]
    if not isinstance(value, str) or not re.fullmatch(TEXTS[kind], value):
        return False
    try:
        return kind != "day" or datetime.date.fromisoformat(value)
    except ValueError:
        return False
