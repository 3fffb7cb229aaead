"""What is tried: each verb that writes, the folder that it begins from, and which promises are looked at afterwards."""

from dataclasses import dataclass, field

import outputs
import releases
import signed

# A pure cost is reckoned quickly.
TOWN = """
name = "town"
title = "Made up"
[data]
path = "rows.csv"
[dataset]
id = "people"
[privacy]
unit = "row"
epsilon = 1
[[dimension]]
name = "sex"
categories = ["F", "M"]
"""
AGE = '[[dimension]]\nname = "age"\ncategories = ["0", "1"]\n'
TABLE = '[[table]]\nof = ["sex"]\n'
COPIES = "".join(f'[[recipient]]\nname = "{name}"\nepsilon = "{epsilon}"\n' for name, epsilon in [("office", "1"), ("press", "1/2"), ("school", "1/4")])
PROJECTION = '[projection]\nrows = 64\nsparsity = 2\nqueries = 10\n'
BEGUN = {
    "town.toml": TOWN + TABLE,
    "copies.toml": TOWN.replace('"town"', '"copies"') + TABLE + COPIES,
    "visits.toml": TOWN.replace('"town"', '"visits"').replace("epsilon = 1", 'rho = "1/10"') + PROJECTION,
    # Its whole tables are what a cache keeps sums of.
    "wide.toml": TOWN.replace('"town"', '"wide"').replace("epsilon = 1", 'rho = "1/10"') + AGE + '[strategy]\nmeasure = "tables"\n' + TABLE + '[[table]]\nof = ["sex", "age"]\n',
    "rows.csv": "sex,age\n" + "F,0\nM,1\nM,0\n" * 40,
    "page.html": '<p>A page</p><script type="text/plain" id="inside"></script>',
    "studio.html": '<p>A page</p><script type="application/json" id="inside"></script>',
}
# So many that their list is a file of its own.
AREAS = "county,tract,block\n" + "".join(f"county {i % 4},tract {i % 40:03},block {i % 400:04}\n" for i in range(1200))
ASKED = "SELECT COUNT(*) FROM town WHERE sex = 'F'"


def keygen(name):
    return ["keygen", "--no-passphrase", "--out", name]


def release(spec, *more):
    return ["release", spec, "--key", "key", "--out", "out", *more]


def keys(*more):
    return ["keys", "trusted", "--key", "list", *more]


@dataclass
class Scenario:
    name: str
    words: list
    # What looks afterwards.
    promise: object
    # The scenario whose end this one begins from.
    after: str = "begin"
    needs: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    # The file that standard output goes into.
    into: str = None
    # How many files a charge pays for.
    copies: int = 1
    # Whether the same words may be refused, in plain words, once they were obeyed.
    once: bool = False
    # What need not outlast a loss of power.
    passing: tuple = ()


BEGIN = Scenario("begin", keygen("key"), None, None, files=BEGUN)
TRIED = [
    Scenario("init", ["ledger", "init", "people", "--epsilon", "100"], releases.promise, copies=0, once=True),
    Scenario("release", release("town.toml"), releases.promise, "init", once=True),
    Scenario("replace", release("town.toml", "--replace", "--yes"), releases.promise, "release"),
    Scenario("ask", ["ask", "town.toml", "--key", "key", "--out", "out", "--within", "2", ASKED], releases.promise, "release"),
    # What is out answers it: nothing is charged, whatever cannot be read.
    Scenario("ask-again", ["ask", "town.toml", "--key", "key", "--out", "out", "--within", "3", ASKED], releases.promise, "release", copies=0),
    Scenario("copies", release("copies.toml"), releases.promise, "init", copies=3, once=True),
    Scenario("replace-copies", release("copies.toml", "--replace", "--yes"), releases.promise, "copies", copies=3),
    Scenario("projection", release("visits.toml"), releases.promise, once=True),
    Scenario("keygen", keygen("fresh"), signed.pair, "release", once=True),
    Scenario("sign", ["sign", "out/town.margins", "--key", "second"], signed.signature, "release", [keygen("second")], once=True),
    Scenario("sign-third", ["sign", "out/town.margins", "--key", "third"], signed.signature, "sign", [keygen("third")], once=True),
    Scenario("keys", keys("--until", "2199-12-31", "--add", "key.pub"), signed.list_of_keys, "release", [keygen("list")], once=True),
    Scenario("keys-add", keys("--add", "second.pub"), signed.list_of_keys, "keys", [keygen("second")], once=True),
    Scenario("keys-retire", keys("--add", "second.pub", "--retire", "key.pub"), signed.list_of_keys, "keys", [keygen("second")], once=True),
    Scenario("keys-revoke", keys("--revoke", "key.pub", "--still", "out/town.margins"), signed.list_of_keys, "keys"),
    Scenario("keys-until", keys("--until", "2198-12-31"), signed.list_of_keys, "keys"),
    Scenario("proof", ["ledger", "proof", "people", "--release", "out/town.margins"], outputs.printed, "release", into="said"),
    Scenario("ledger-export", ["ledger", "export", "people", "--jsonl"], outputs.printed, "release", into="said"),
    Scenario("export-table", ["export", "out/town.margins", "--table", "sex", "--format", "csv"], outputs.printed, "release", into="said"),
    Scenario("export", ["export", "out/town.margins", "--all", "--format", "csv", "--out", "made/tables", "--replace"], outputs.files, "release"),
    Scenario("export-again", ["export", "out/town.margins", "--all", "--format", "csv", "--out", "made/tables", "--level", "0.5"], outputs.files, "export"),
    Scenario("records", ["records", "out/town.margins", "--out", "people.csv"], outputs.files, "release", once=True),
    Scenario("records-again", ["records", "out/town.margins", "--out", "people.csv", "--seed", "2", "--replace"], outputs.files, "records"),
    Scenario("records-parquet", ["records", "out/town.margins", "--out", "people.parquet"], outputs.files, "release", once=True),
    Scenario("page", ["page", "out/town.margins", "--explorer", "page.html", "--out", "town.html"], outputs.files, "release"),
    Scenario("studio", ["studio", "town.toml", "--page", "studio.html", "--out", "plan.html"], outputs.files),
    Scenario("picture", ["plan", "town.toml", "--svg", "plan.svg"], outputs.files),
    Scenario("draft", ["init", "areas.csv", "--out", "areas.toml"], outputs.files, files={"areas.csv": AREAS}, once=True),
    Scenario("cache", ["query", "out/wide.margins", "--cache", "kept", "SELECT COUNT(*) FROM wide"], outputs.kept, needs=[release("wide.toml")], into="said", passing=("kept",)),
]
