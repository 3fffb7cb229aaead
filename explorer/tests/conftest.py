"""Releases for the page, made by the command, and a real browser without a network.

MARGINS names the command (target/release/margins otherwise), MARGINS_PAGE the page (explorer/page.html otherwise), CHROMIUM the browser. What is
not there is skipped with a message, or fails where MARGINS_PAGE_TESTS=all says that it must be there.
"""

import datetime
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import threading
import time

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
MUST = os.environ.get("MARGINS_PAGE_TESTS") == "all"


def lacking(what):
    if MUST:
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def margins():
    """Runs the command."""
    path = pathlib.Path(os.environ.get("MARGINS", REPO / "target/release/margins"))
    if not path.exists():
        lacking(f"there is no {path}: cargo build --release, or name the command in MARGINS")

    def run(*words, code=0):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, cwd=REPO)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture(scope="session")
def explorer():
    path = pathlib.Path(os.environ.get("MARGINS_PAGE", REPO / "explorer/page.html"))
    if not path.exists():
        lacking(f"there is no {path}: run explorer/build")
    return path


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("the Python package playwright is not installed")
    names = ["chromium", "chromium-browser", "google-chrome"]
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not path:
        lacking("no Chromium is installed: apt-get install chromium, or name one in CHROMIUM")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()


class Opened:
    """A tab, and everything that it asked of a network, wrote to the console, or let pop up."""

    def __init__(self, browser, explorer, **options):
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.requests, self.wrong = [], []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("console", lambda m: self.wrong.append(m.text))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("dialog", lambda d: (self.wrong.append("a dialog: " + d.message), d.dismiss()))
        if explorer:
            self.page.goto(explorer.as_uri())
            self.page.wait_for_selector("#welcome:not([hidden])")

    def drop(self, *files, state="verified"):
        """Gives files to the page, and waits until it has made up its mind."""
        self.page.evaluate("delete document.documentElement.dataset.state")
        self.page.set_input_files("#files", [str(f) for f in files])
        return self.until(state)

    def until(self, state):
        self.page.wait_for_selector("html[data-state]", state="attached")
        found = self.page.evaluate("document.documentElement.dataset.state")
        assert found == state, self.page.inner_text("body")
        if state == "verified":
            self.page.wait_for_selector("#numbers:not([hidden])")
        return self

    def wait(self, holds):
        """Waits for a condition in JavaScript. The page's policy lets nothing be evaluated inside it, so it is asked from outside."""
        end = time.monotonic() + 60
        while not self.page.evaluate(holds):
            assert time.monotonic() < end, holds
            time.sleep(0.02)

    def ask(self, sql, level="0.95"):
        """Types a question; the texts of the answer's columns, row by row."""
        page = self.page
        self.wait("!document.querySelector('[aria-busy]')")
        page.evaluate("document.querySelector('#sql-answer').replaceChildren()")
        page.select_option("#level", level)
        page.fill("#sql", sql)
        page.click("#ask button[type=submit]")
        page.wait_for_selector("#sql-answer > *")
        rows = "tr => [...tr.children].map(cell => cell.textContent)"
        return page.evaluate(f"[...document.querySelectorAll('#sql-answer .scroll tr')].map({rows})")

    def text(self, where="body"):
        return self.page.inner_text(where)


@pytest.fixture
def tab(browser, explorer):
    """A page that was opened from the disk."""
    tabs = []

    def opened(page=explorer, **options):
        tabs.append(Opened(browser, page, **options))
        return tabs[-1]

    yield opened
    for one in tabs:
        one.context.close()


CARRIERS = {"9E": "Endeavor Air", "AA": "American Airlines", "B6": "JetBlue Airways"}


def flights(folder):
    """Flights of a year to 150 places, with labels of carriers."""
    places = [f"P{i:03}" for i in range(150)]
    day = lambda i: (datetime.date(2023, 1, 1) + datetime.timedelta(i * 31 % 365)).isoformat()
    rows = [(list(CARRIERS)[i % 3], places[int(150 * (i * 0.618 % 1) ** 3)], day(i), "" if i % 17 == 0 else i * 7 % 24, i * 13 % 90) for i in range(20_000)]
    (folder / "flights.csv").write_text("carrier,place,day,hour,delay\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    labels = ", ".join(f'"{code}" = "{label}"' for code, label in CARRIERS.items())
    (folder / "flights.toml").write_text(f"""
name = "flights"
title = "Flights of a year"
[data]
path = "flights.csv"
[privacy]
unit = "row"
epsilon = 1
delta = 1e-7
[[dimension]]
name = "carrier"
categories = {list(CARRIERS)}
labels = {{ {labels} }}
[[dimension]]
name = "place"
categories = {places}
[[dimension]]
name = "day"
dates = ["2023-01-01", "2023-12-31"]
[[dimension]]
name = "hour"
range = [0, 23]
missing = "not known"
[[amount]]
name = "delay"
low = 0
high = 100
step = 1
unit = "minutes"
[[table]]
of = ["carrier", "hour"]
sum = ["delay"]
[[table]]
of = ["place", "carrier"]
[[table]]
of = ["day"]
""")


@pytest.fixture(scope="session")
def folder(tmp_path_factory, margins):
    """Releases: town (and its key), visits, flights (days, labels, a missing hour, an amount, a budget as ε and δ), one with a bound on rows whose texts are hostile."""
    folder = tmp_path_factory.mktemp("page")
    margins("keygen", "--no-passphrase", "--out", folder / "agency.key")
    margins("keygen", "--no-passphrase", "--out", folder / "other.key")

    def release(spec, *more):
        margins("release", spec, "--out", folder, "--ledger", folder / f"{spec.stem}.jsonl", "--key", folder / "agency.key", *more)

    release(REPO / "specs/town.toml")
    release(REPO / "specs/visits.toml")
    flights(folder)
    release(folder / "flights.toml")
    (folder / "hostile.csv").write_text("who,what\n" + "".join(f"{w},{i % 3}\n" for i, w in enumerate(["x", "y"] * 40)))
    labels = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "'; DROP \"TABLE\" --", "W" * 300, "x"]
    as_toml = lambda text: '"' + "".join(c if c.isascii() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'
    (folder / "hostile.toml").write_text(f"""
name = "hostile"
title = "<b onmouseover=alert(3)>bold</b><script>alert(4)</script>"
description = "<iframe src=https://example.com></iframe>"
contact = "javascript:alert(5)"
[data]
path = "hostile.csv"
[privacy]
unit = {{ column = "what", max_rows = 2 }}
neighbours = "add-remove"
rho = 1
[[dimension]]
name = "who <i>\\"quoted\\"</i>"
column = "who"
categories = [{", ".join(map(as_toml, labels))}]
other = "x"
[[table]]
of = ["who <i>\\"quoted\\"</i>"]
""")
    release(folder / "hostile.toml")
    return folder


@pytest.fixture
def site(folder, explorer):
    """A server of the folder and the page; the paths that were asked of it."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

        def translate_path(self, path):
            return str(explorer) if path.split("?")[0] == "/page.html" else super().translate_path(path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
