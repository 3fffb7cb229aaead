"""Each of the two parts stays one that is read in an afternoon."""

import tokenize
from pathlib import Path

import pytest

AUDITOR = Path(__file__).parents[1]
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code(path):
    """How many lines have code: not those that are blank, and not comments or texts that stand alone."""
    lines, first = set(), True
    with path.open("rb") as file:
        for token in list(tokenize.tokenize(file.readline))[1:]:
            alone = first and token.type == tokenize.STRING
            if token.type not in SILENT and not alone:
                lines.update(range(token.start[0], token.end[0] + 1))
            first = token.type in SILENT - {tokenize.COMMENT, tokenize.NL} or first and token.type in SILENT
    return len(lines)


@pytest.mark.parametrize("part, most", [(AUDITOR, 2000), (AUDITOR / "sealed", 600)])
def test_lines(part, most):
    files = sorted(part.glob("*.py"))
    # What fields there are is read, too.
    fields = (part / "fields.txt").read_text("utf-8").splitlines()
    assert sum(map(code, files)) + sum(map(bool, fields)) <= most
    assert max(len(line) for path in files for line in path.read_text("utf-8").splitlines()) <= 110


def test_the_reader_of_files_needs_no_specs():
    """Only the checks `spec` and `delta` do, so whoever has no use for them can leave that part unread."""
    for path in AUDITOR.glob("*.py"):
        named = "sealed" in path.read_text("utf-8")
        assert named == (path.name in ("verify.py", "shapes.py")), path.name
