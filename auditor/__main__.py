"""python -m auditor FILE [--key PUB] [--json] [--query SELECT]"""

import argparse, json, math, sys
from pathlib import Path

from . import project, where
from .container import contents, File, public
from .release import Release
from .solve import Answers
from .verify import Report
from .wire import Refused, safe


def ask(path, question):
    """Rows of labels, estimate and standard error."""
    release = Release(File(contents(Path(path))))
    held = project.Projected(release) if release.projection else Answers(release)
    found = (project if release.projection else where).answer(held, question)
    errors = [None if variance is None else math.sqrt(variance) for _, _, variance in found]
    return [{**row[0], "estimate": row[1], "std_error": error} for row, error in zip(found, errors)]


def named(key):
    """A public key by its line, or by the file that has it, alone or below one line of comment. What is none
    is no signer's."""
    if len(key) != 56 or Path(key).exists():
        key = contents(Path(key), 1 << 16).decode("utf-8").rstrip()
    try:
        return public(key.split("\n", 1)[-1].strip())[0]
    except (Refused, ValueError):
        return "unreadable"


def main():
    parser = argparse.ArgumentParser(prog="auditor", description="Verifies and asks a margins release.")
    parser.add_argument("file")
    parser.add_argument("--key", help="the public key you trust: a .pub file, or its line of base64")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--query", help="SELECT a, COUNT(*) FROM t WHERE … GROUP BY a")
    args = parser.parse_args()
    try:
        if args.query:
            found = {"rows": ask(args.file, args.query)}
            lines = [" ".join(map(str, row.values())) for row in found["rows"]]
        else:
            report = Report(args.file, None if args.key is None else named(args.key))
            found = report.json()
            lines = ["{outcome:9}  {what:20}  {detail}".format(**check) for check in report.checks]
            lines.append({"whole": "WHOLE, NOT VERIFIED"}.get(report.verdict, report.verdict.upper()))
    except Exception as error:
        print(f"{getattr(error, 'outcome', 'error')}: {safe(str(error))}", file=sys.stderr)
        return 2
    print(json.dumps(found, ensure_ascii=False, indent=2) if args.json else "\n".join(map(safe, lines)))
    return 0 if found.get("passed", True) else 1


if __name__ == "__main__":
    sys.exit(main())
