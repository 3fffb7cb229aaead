"""How large the page is, and how long it takes to plan, beside the command.

    python studio/tests/measure.py target/release/margins SPEC …

From the opened page to the plan, and from the start of `margins plan` to its end. Each figure is the least of three.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

PAGE = pathlib.Path(__file__).resolve().parents[1] / "page.html"
TIMES = 3


def least(run):
    """The least of the seconds that it took."""
    took = []
    for _ in range(TIMES):
        began = time.monotonic()
        run()
        took.append(time.monotonic() - began)
    return min(took)


def main(margins, *specs):
    print(f"page      {PAGE.stat().st_size:,} bytes")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"])
        print(f"browser   Chromium {browser.version}")
        for spec in specs:
            file = pathlib.Path(folder) / "studio.html"
            subprocess.run([margins, "studio", spec, "--page", PAGE, "--out", file], check=True, capture_output=True)

            def planned():
                page = browser.new_page()
                page.set_default_timeout(600_000)
                page.goto(file.as_uri())
                page.wait_for_selector("html[data-state=planned]", state="attached")
                page.close()

            inside = least(planned)
            outside = least(lambda: subprocess.run([margins, "plan", spec, "--json"], check=True, capture_output=True))
            print(f"{inside:8.2f} s the page {outside:8.2f} s the command  {spec}")
        browser.close()


main(*sys.argv[1:])
