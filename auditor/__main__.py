"""python -m auditor FILE [--key PUB] [--json] [--query SELECT]"""

import argparse
import json
import math
import os
import sys

from . import minisign, project, select
from .container import File
from .errors import Beyond, Refused
from .release import Release
from .solve import Answers
from .texts import safe
from .verify import Report

VERDICTS = {"verified": "VERIFIED: the file is whole, and what it claims follows from what it holds.",
            "whole": "WHOLE, NOT VERIFIED: nothing failed, and something that is needed was left out.", "failed": "VERIFICATION FAILED: do not trust this file."}


def ask(path, question):
    """Rows of labels, estimate and standard error."""
    with open(path, "rb") as file:
        release = Release(File(file.read()))
    found = project.answer(project.Projected(release), question) if release.projection else select.answer(Answers(release), question)
    return [{**labels, "estimate": estimate, "std_error": None if variance is None else math.sqrt(variance)} for labels, estimate, variance in found]


def main():
    parser = argparse.ArgumentParser(prog="auditor", description="Verifies and asks a margins release, by the documents alone.")
    parser.add_argument("file")
    parser.add_argument("--key", help="the public key you trust: a .pub file, or its line of base64")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--query", help="SELECT a, COUNT(*) FROM t WHERE … GROUP BY a")
    args = parser.parse_args()
    try:
        if args.query:
            rows = ask(args.file, args.query)
            print(json.dumps({"rows": rows}, ensure_ascii=False) if args.json else "\n".join(safe(" ".join(map(str, row.values()))) for row in rows))
            return 0
        text = args.key and (open(args.key, encoding="utf-8").read() if os.path.exists(args.key) else args.key)
        report = Report(args.file, minisign.read_key(text) if text else None)
    except (OSError, Refused, Beyond) as error:
        print(f"{'unchecked' if isinstance(error, Beyond) else 'error'}: {safe(str(error))}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(report.json(), ensure_ascii=False, indent=2))
    else:
        for check in report.checks:
            print(f"{check['outcome']:9}  {check['what']:20}  {safe(check['detail'])}")
        print(VERDICTS[report.verdict])
    return 0 if report.verdict == "verified" else 1


if __name__ == "__main__":
    sys.exit(main())
