"""The tour in docs/python.md, from top to bottom."""

import re

import pytest
from conftest import REPO

for name in ("duckdb", "pandas", "polars", "pyarrow"):
    pytest.importorskip(name)


def test_the_tour_runs(tmp_path, monkeypatch):
    text = (REPO / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    (tmp_path / "specs").symlink_to(REPO / "specs")
    monkeypatch.chdir(tmp_path)
    session = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), session)
    assert session["shifts"][0]["count"].std_error > 0
