"""The keys of a spec are those of its published JSON Schema."""

import json
from pathlib import Path

import auditor.sealed  # It adds the keys of specs.
from auditor.shapes import KINDS, SHAPES

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/spec.schema.json").read_text("utf-8"))


def tables(schema):
    """The tables with keys of their own that may stand here."""
    found = [schema] if "properties" in schema else []
    for inner in [*([schema["items"]] if "items" in schema else []), *schema.get("anyOf", [])]:
        found += tables(inner)
    return found


def named(kind):
    """The name of the table in a kind, if there is one."""
    kind = KINDS.get(kind, kind).strip("{}*+")
    return next((one.strip("*+") for one in kind.split("/") if one.strip("*+") in SHAPES), None)


def compare(schema, name):
    fields = [field for field in SHAPES[name].split() if ":" in field]
    kinds = {one: field.partition(":")[2] for field in fields for one in field.partition(":")[0].rstrip("?").split(",")}
    needed = {one for field in fields if "?:" not in field for one in field.partition(":")[0].split(",")}
    assert set(kinds) == set(schema["properties"]) and needed == set(schema.get("required", [])), name
    seen = {name}
    for key, inner in schema["properties"].items():
        for table in tables(inner):
            seen |= compare(table, named(kinds[key]))
    return seen


def test_spec():
    assert compare(SCHEMA, "Spec") == {name for name in SHAPES if name[0].isupper()}
