"""Keeps the lines with figures of a page that was just measured, for the test that holds the page against them.

    python benches/peers/keep.py docs/performance.md benches/peers/newest.json
"""

import datetime
import json
import sys

page, newest = sys.argv[1:3]
lines = [line.rstrip("\n") for line in open(page) if line.startswith("|")]
with open(newest, "w") as file:
    json.dump({"page": page, "measured": datetime.date.today().isoformat(), "lines": lines}, file, indent=1, ensure_ascii=False)
    file.write("\n")
