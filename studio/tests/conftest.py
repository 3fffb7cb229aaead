"""The studio in a real browser without a network. What is not there is skipped with a message, as in `explorer/tests`, whose command and browser
these are; MARGINS_STUDIO names the page (studio/page.html otherwise)."""

import importlib.util
import os
import pathlib
import time

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("explorer_tests", REPO / "explorer/tests/conftest.py")
explorer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(explorer)
margins, browser = explorer.margins, explorer.browser


@pytest.fixture(scope="session")
def studio():
    path = pathlib.Path(os.environ.get("MARGINS_STUDIO", REPO / "studio/page.html"))
    if not path.exists():
        explorer.lacking(f"there is no {path}: run studio/build")
    return path


class Opened:
    """A tab with the studio, and everything that it asked of a network, wrote to the console, or let pop up."""

    def __init__(self, browser, page, **options):
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.requests, self.wrong = [], []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("console", lambda m: self.wrong.append(m.text))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.goto(page.as_uri())

    def until(self, state):
        end = time.monotonic() + 120
        while self.page.evaluate("document.documentElement.dataset.state") != state:
            assert time.monotonic() < end, (state, self.text(), self.wrong)
            time.sleep(0.02)
        return self

    def after(self, state="planned"):
        """Waits until a change has arrived, and then until its plan has."""
        self.until("changed")
        return self.until(state)

    def write(self, text, state="planned"):
        """Types a whole spec."""
        if not self.page.evaluate("document.querySelector('#source').open"):
            self.page.click("#source summary")
        self.page.fill("#text", text)
        return self.after(state)

    def spec(self):
        return self.page.input_value("#text")

    def plan(self):
        return self.page.evaluate("now.plan")

    def text(self, where="body"):
        return self.page.inner_text(where)


@pytest.fixture
def tab(browser, studio, margins, tmp_path):
    """A page with the spec of a file, or the small one."""
    tabs = []

    def opened(spec=None, state="planned", **options):
        page = studio
        if spec is not None:
            page = tmp_path / "studio.html"
            margins("studio", spec, "--page", studio, "--out", page)
        tabs.append(Opened(browser, page, **options))
        return tabs[-1].until(state)

    yield opened
    for one in tabs:
        local = [url for url in one.requests if not url.startswith(("file:", "blob:", "data:"))]
        assert not local and not one.wrong, (local, one.wrong)
        one.context.close()
