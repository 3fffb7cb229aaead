"""The program stays one that is read in an afternoon."""

import tokenize
from pathlib import Path

FILES = sorted(Path(__file__).parents[1].glob("*.py"))
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


def test_lines():
    # What fields there are is read, too.
    fields = (FILES[0].parent / "fields.txt").read_text("utf-8").splitlines()
    assert sum(map(code, FILES)) + sum(map(bool, fields)) <= 2437
    assert max(len(line) for path in FILES for line in path.read_text("utf-8").splitlines()) <= 110
