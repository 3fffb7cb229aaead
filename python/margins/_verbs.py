"""The command's verbs as functions: what they take is what the command takes, and what they give is its JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def _words(options: dict[str, Any]):
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            yield word
        elif value is not None and value is not False:
            yield from (word, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _run(verb: str, *words: Any, wrong: bool = False, **options: Any) -> str:
    """What a verb prints; an error with its words if it fails. With `wrong`, that something is wrong with what it looked at is no failure."""
    from margins import Error

    all_words = [sys.executable, "-m", "margins", verb, *_words(options), "--", *map(str, words)]
    done = subprocess.run(all_words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode != 0 and not (wrong and done.returncode == 1 and done.stdout):
        raise Error(done.stderr.strip().removeprefix("error: "))
    return done.stdout


def _file(release: Any) -> Any:
    return getattr(release, "path", release)


def init(data: Any, out: Any = None) -> dict[str, Any]:
    """Drafts a spec from a data file: `spec` is the draft, or `wrote` its file."""
    return json.loads(_run("init", data, out=out, json=True))


def check(spec: Any, data: Any = None) -> dict[str, Any]:
    """Everything in the data that keeps it from being released, without a value; its counts are PRIVATE, for the data's holder alone."""
    return json.loads(_run("check", spec, wrong=True, data=data, json=True, print_private_counts=True))


def keygen(out: Any = "agency.key", passphrase: bool = True) -> dict[str, Any]:
    """Makes a key; asks for its passphrase on the terminal, unless it is to have none."""
    return json.loads(_run("keygen", out=out, no_passphrase=not passphrase, json=True))


def ask(spec: Any, sql: str, within: Any = None, **options: Any) -> dict[str, Any]:
    """Answers as precisely as asked, from the releases there are or for the least further budget; options as `margins ask` has them."""
    return json.loads(_run("ask", spec, sql, within=within, json=True, **options))


def export(release: Any, out: Any, table: Any = None, format: str = "parquet", **options: Any) -> None:
    """Writes a table (levels, as a list or with commas between) or all tables of a release into a folder."""
    _run("export", _file(release), out=out, table=table, all=table is None, format=format, **options)


def page(release: Any, out: Any, public_key: Any = None, **options: Any) -> None:
    """Writes a page that shows the release in a browser, verified with its key first."""
    _run("page", _file(release), out=out, pubkey=public_key, **options)
