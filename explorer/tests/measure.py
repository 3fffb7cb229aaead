"""How large the page is, how fast it opens a release, and how fast it answers.

    python explorer/tests/measure.py FILE.margins "SELECT …" …

Opening goes from the file's choice to the first numbers: read, opened, every check done. Each figure is the least of five.
"""

import os
import pathlib
import sys
import time

from playwright.sync_api import sync_playwright

PAGE = pathlib.Path(__file__).resolve().parents[1] / "page.html"
TIMES = 5


def done(page, where):
    """The milliseconds that the page took, once it says so."""
    while not (found := page.evaluate(f"document.querySelector('{where}').dataset.milliseconds || ''")):
        time.sleep(0.02)
    return int(found)


def main(file, *queries):
    print(f"page        {PAGE.stat().st_size:,} bytes")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"])
        print(f"browser     Chromium {browser.version}")
        opening, answers = [], {sql: [] for sql in queries}
        for _ in range(TIMES):
            context = browser.new_context()
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(PAGE.as_uri())
            page.wait_for_selector("#welcome:not([hidden])")
            page.set_input_files("#files", file)
            opening.append(done(page, "html"))
            done(page, "#table-answer")
            page.wait_for_selector("#examples button", state="attached")
            for sql in queries:
                page.evaluate("delete document.querySelector('#sql-answer').dataset.milliseconds")
                page.fill("#sql", sql)
                page.click("#ask button[type=submit]")
                answers[sql].append(done(page, "#sql-answer"))
            context.close()
        browser.close()
    print(f"open        {min(opening)} ms, a file of {pathlib.Path(file).stat().st_size:,} bytes")
    for sql, took in answers.items():
        print(f"answer      {min(took)} ms, {sql}")


main(*sys.argv[1:])
