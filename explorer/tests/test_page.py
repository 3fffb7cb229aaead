"""The page in a real browser: what it verifies and refuses, whose digits it shows, and what it never does."""

import csv
import io
import json
import re
import struct
import xml.etree.ElementTree

import pytest

QUERIES = [
    "SELECT COUNT(*) FROM town",
    "SELECT sex, COUNT(*) FROM town WHERE age BETWEEN 20 AND 39 GROUP BY sex",
    "SELECT age, COUNT(*) FROM town GROUP BY age",
    "SELECT age.band, sex, COUNT(*) AS n FROM town GROUP BY age.band, sex ORDER BY n DESC LIMIT 7",
    "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM town GROUP BY sex",
    "SELECT sex, AVG(age), MEDIAN(age) FROM town GROUP BY sex",
    "SELECT work, COUNT(*) FROM town WHERE work <> 'unknown' GROUP BY work HAVING COUNT(*) > 100",
]


def cells(text):
    """The rows of a table that the command prints: its columns are two blanks apart."""
    table = text.split("\n\n")[0].splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in [table[0], *table[2:]]]


def test_it_is_one_small_file_that_names_no_other(explorer):
    text = explorer.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_240_000
    markup = re.sub(r">[^<>]* [^< ]{1000,}<", "><", text).split("<script>")[0]
    assert set(re.findall(r"""(?:src|href)="([^"]*)""", markup)) == {"data:,", "#main"}
    assert "default-src 'none'" in text and "unsafe-inline" not in text and "'unsafe-eval'" not in text


def test_a_release_is_verified_and_nothing_is_sent(tab, folder):
    town = tab().drop(folder / "town.margins", folder / "town.margins.minisig", folder / "agency.pub")
    assert town.text("#verdict-title") == "Verified"
    assert "The public key given signed it" in town.text("#verdict-text")
    town.page.click("#checks summary")
    assert "whole-file signature" in town.text("#checks") and "signs all its bytes" in town.text("#checks")
    assert "What these checks cannot show" in town.text("#limits")
    assert "for every row" in town.text("#protects")
    # What the signer claims stands apart.
    assert "CC0-1.0" in town.text("#claims") and "the signer says" in town.text("#unchecked")
    assert all(url.startswith(("file:", "blob:")) for url in town.requests), town.requests
    assert town.wrong == []


def test_without_a_key_nobody_knows_who_signed(tab, folder):
    town = tab().drop(folder / "town.margins")
    assert town.text("#verdict-title") == "Whole, but who signed it is not known"
    assert "no public key was given" in town.text("#verdict-text")
    town.page.fill("#key", (folder / "agency.pub").read_text().splitlines()[1])
    town.page.press("#key", "Enter")
    town.wait("document.querySelector('#verdict-title').textContent === 'Verified'")


def test_a_wrong_key_is_refused(tab, folder):
    town = tab().drop(folder / "town.margins", folder / "other.pub", state="failed")
    assert town.text("#verdict-title") == "Verification failed"
    assert "not by the given public key" in town.text("#verdict-text")
    assert not town.page.is_visible("#numbers") and not town.page.is_visible("#anyway")
    assert town.page.locator("#table-answer > *").count() == 0


@pytest.mark.parametrize("where", ["a count", "the manifest", "the end"])
def test_a_tampered_file_is_refused(tab, folder, tmp_path, where):
    whole = (folder / "town.margins").read_bytes()
    bytes_ = bytearray(whole)
    if where == "a count":
        bytes_[len(whole) // 3] ^= 1
    elif where == "the manifest":
        at = whole.index(b'"title":"The town')
        bytes_[at + 12] ^= 1
    else:
        bytes_ = bytes_[:-7]
    (tmp_path / "town.margins").write_bytes(bytes_)
    page = tab()
    page.page.set_input_files("#files", str(tmp_path / "town.margins"))
    page.page.wait_for_selector("html[data-state]", state="attached")
    assert page.page.evaluate("document.documentElement.dataset.state") in ("refused", "failed")
    assert not page.page.is_visible("#numbers")
    said = page.text()
    assert "This file is refused" in said or "do not trust this file" in said, said


def test_a_file_of_another_kind_is_refused(tab, folder):
    page = tab()
    page.drop(folder / "town.jsonl", state="refused")
    assert "This file is refused" in page.text("#trouble")
    page.drop(folder / "town.margins")
    assert page.text("#trouble") == ""


def test_digits_are_those_of_the_command(tab, folder, margins):
    town = tab().drop(folder / "town.margins")
    for level in ["0.95", "0.9"]:
        for sql in QUERIES:
            command = margins("query", folder / "town.margins", sql, "--level", level)
            assert town.ask(sql, level)[1:] == cells(command.stdout)[1:], sql
            with town.page.expect_download() as download:
                town.page.click("#sql-answer button:has-text('CSV')")
            text = download.value.path().read_bytes().decode()
            printed = margins("query", folder / "town.margins", sql, "--level", level, "--csv").stdout
            assert text.replace("\r\n", "\n") == printed.replace("\r\n", "\n"), sql
    assert town.wrong == []


def test_refusals_are_those_of_the_command(tab, folder, margins):
    town = tab().drop(folder / "town.margins")
    for sql in ["SELECT area, sex, COUNT(*) FROM town GROUP BY area, sex", "SELECT nobody FROM town", "SELEC", "((((" * 5000]:
        town.ask(sql)
        command = margins("query", folder / "town.margins", sql, code=2)
        plain = lambda text: " ".join(re.sub(r"^error: ", "", text).split())
        assert plain(town.text("#sql-answer pre")) == plain(command.stderr), sql
    assert len(town.ask("SHOW TABLES")) > 5


def test_examples_do_not_come_between_a_reader_and_the_box(tab, folder):
    town = tab()
    # In the box before the examples come: the page opens a release at its title.
    box = "document.querySelector('#title').addEventListener('focus', () => document.querySelector('#sql').focus())"
    town.page.evaluate(box)
    town.drop(folder / "town.margins")
    town.page.wait_for_selector("#examples-title:not([hidden])")
    assert town.page.input_value("#sql") == ""
    # Nobody in it: the first question stands there to be tried.
    other = tab().drop(folder / "town.margins")
    other.page.wait_for_selector("#examples-title:not([hidden])")
    assert other.page.input_value("#sql").startswith("SELECT")


def test_tables_are_browsed(tab, folder, margins):
    town = tab().drop(folder / "town.margins")
    page = town.page
    page.wait_for_selector("#table-answer .scroll")
    page.fill("#search", "sex age")
    town.wait("[...document.querySelectorAll('#tables button')].every(b => /sex/.test(b.textContent))")
    page.click("#tables button:has-text('sex × age')")
    page.wait_for_selector("#table-answer .steps .band", state="attached")
    with page.expect_download() as download:
        page.click("text=Download the whole table")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    exported = margins("export", folder / "town.margins", "--table", "sex,age", "--format", "csv").stdout
    key = lambda row: (row["sex"], row["age"], row["estimate"], row["std_error"])
    assert sorted(map(key, rows)) == sorted(map(key, csv.DictReader(io.StringIO(exported))))
    # Along the bands of age, a picture for each sex: bars or bands with the numbers of the table beside them.
    page.select_option("#choices select >> nth=0", label="age.band")
    page.select_option("#choices select >> nth=1", label="sex")
    page.wait_for_selector("#table-answer .panel >> nth=1", state="attached")
    assert page.locator("#table-answer [role=img]").get_attribute("aria-label").startswith("Chart: count by age.band, for each sex")
    # One category of another dimension.
    page.select_option("#choices select >> nth=1", value="")
    page.select_option("#choices select >> nth=2", label="F")
    town.wait("document.querySelectorAll('#table-answer .panel').length === 1 && !document.querySelector('[aria-busy]')")
    page.click("text=Show its SQL")
    sql = page.input_value("#sql")
    assert "WHERE \"sex\" = 'F'" in sql
    shown = page.evaluate("[...document.querySelectorAll('#table-answer .scroll tr')].map(tr => [...tr.children].map(c => c.textContent))")
    assert shown[1:] == cells(margins("query", folder / "town.margins", sql).stdout)[1:]


def labels(page, where="#table-answer"):
    """The texts of the categories that are drawn, from the top."""
    return page.evaluate(f"[...document.querySelectorAll('{where} .point > title')].map(t => t.textContent.split(': ')[0])")


def test_hundreds_of_categories_are_drawn_and_sorted(tab, folder, margins):
    page = tab().drop(folder / "flights.margins").page
    page.fill("#sql", "SELECT place, COUNT(*) FROM flights GROUP BY place")
    page.click("#ask button[type=submit]")
    page.wait_for_selector("#sql-answer .bars", state="attached")
    printed = margins("query", folder / "flights.margins", "SELECT place, COUNT(*) AS n FROM flights GROUP BY place ORDER BY n DESC", "--csv").stdout
    known = {row["place"]: round(float(row["n"]), 6) for row in csv.DictReader(io.StringIO(printed))}
    down = list(known)
    # Places with equal numbers may stand either way.
    numbers = lambda places: [known[place] for place in places]
    assert numbers(labels(page, "#sql-answer")) == numbers(down[:20])
    assert "The 20 largest of 150. The other 130 stand in the table, with estimates from" in page.inner_text("#sql-answer")
    # By a click on a column: numbers from the largest on, then from the smallest; the picture and the rest of the table follow.
    rows = "[...document.querySelectorAll('#sql-answer tbody tr')].map(tr => tr.children[0].textContent)"
    for order, direction in [(down, "descending"), (down[::-1], "ascending")]:
        page.click("#sql-answer thead button:has-text('count')")
        page.wait_for_selector(f"#sql-answer th[aria-sort={direction}]")
        shown = page.evaluate(rows)
        assert sorted(shown) == sorted(down) and numbers(shown) == numbers(order)
        assert labels(page, "#sql-answer") == shown[:20]
        assert page.evaluate("document.activeElement.textContent") == "count"
    page.click("#sql-answer thead button:has-text('place')")
    page.wait_for_selector("#sql-answer th[aria-sort=ascending]:has-text('place')")
    assert page.evaluate(rows) == sorted(down)
    # All of them, in a box that scrolls.
    page.click("text=Draw all")
    assert labels(page, "#sql-answer") == sorted(down)
    assert page.evaluate("(box => box.scrollHeight > 2 * box.clientHeight)(document.querySelector('#sql-answer .picture'))")


def test_rows_that_come_later_are_sorted_too(tab, folder, margins):
    page = tab().drop(folder / "flights.margins").page
    sql = "SELECT place, carrier, COUNT(*) AS n FROM flights GROUP BY place, carrier"
    page.fill("#sql", sql)
    page.click("#ask button[type=submit]")
    page.click("#sql-answer thead button >> text='n'")
    page.wait_for_selector("#sql-answer th[aria-sort=descending]")
    page.click("#sql-answer button:has-text('Show more of 450 rows')")
    page.wait_for_selector("#sql-answer tbody tr >> nth=399", state="attached")
    shown = page.evaluate("[...document.querySelectorAll('#sql-answer tbody tr')].map(tr => tr.children[0].textContent + tr.children[1].textContent)")
    printed = margins("query", folder / "flights.margins", sql + " ORDER BY n DESC", "--csv").stdout
    known = {row["place"] + row["carrier"]: round(float(row["n"]), 6) for row in csv.DictReader(io.StringIO(printed))}
    assert len(set(shown)) == 400 and [known[row] for row in shown] == list(known.values())[:400]


def test_scales_stay_scales_and_days_have_months(tab, folder):
    flights = tab().drop(folder / "flights.margins")
    flights.ask("SELECT hour, COUNT(*) FROM flights GROUP BY hour")
    # 24 hours in a band, and beside them a bar for those that are not known.
    assert flights.page.locator("#sql-answer .steps .band").count() == 24
    assert labels(flights.page, "#sql-answer") == ["not known"]
    texts = "[...document.querySelectorAll('#sql-answer .steps text')].map(t => t.textContent)"
    assert {"0", "10", "20", "not known"} <= set(flights.page.evaluate(texts))
    flights.ask("SELECT day, COUNT(*) FROM flights GROUP BY day")
    assert flights.page.locator("#sql-answer .steps .band").count() == 365
    named = flights.page.evaluate(texts)
    assert "Jan 2023" in named and "Feb" in named and "Dec" in named and not any("-" in text for text in named if text[0].isdigit())


def test_codes_have_their_labels(tab, folder, margins):
    flights = tab().drop(folder / "flights.margins")
    sql = "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier"
    assert flights.ask(sql)[1:] == cells(margins("query", folder / "flights.margins", sql, "--labels").stdout)[1:]
    assert labels(flights.page, "#sql-answer") == ["Endeavor Air", "American Airlines", "JetBlue Airways"]
    flights.page.click(".dimension summary >> text=carrier")
    flights.page.wait_for_selector("#dimensions .categories")
    assert "9E (Endeavor Air)" in flights.text("#dimensions")
    flights.page.click("#tables button:has-text('carrier × place')")
    flights.page.select_option("#choices select >> nth=2", label="AA (American Airlines)")
    flights.wait("document.querySelector('#table-answer caption')?.textContent.includes(\"= 'AA'\")")


def test_classes_of_reliability(tab, folder, margins):
    town = tab().drop(folder / "town.margins")
    town.page.check("#reliability")
    sql = "SELECT area, COUNT(*) FROM town GROUP BY area"
    assert town.ask(sql)[1:] == cells(margins("query", folder / "town.margins", sql, "--reliability").stdout)[1:]
    assert "reliability: A at most 16.6 %" in town.text("#sql-answer .notes")


def test_a_picture_leaves_the_page(tab, folder, tmp_path):
    flights = tab(color_scheme="dark").drop(folder / "flights.margins")
    sql = "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier"
    flights.ask(sql)
    with flights.page.expect_download() as download:
        flights.page.click("#sql-answer button:has-text('Picture as SVG')")
    root = xml.etree.ElementTree.fromstring(download.value.path().read_bytes())
    assert download.value.suggested_filename == "flights-answer.svg" and root.tag == "{http://www.w3.org/2000/svg}svg"
    said = " ".join("".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text"))
    # What stands in the picture, what its lines mean, where it comes from; in ink on paper, also where the page is dark.
    assert "American Airlines" in said and "covers the truth with probability 95 %" in said and sql in said
    blake3 = flights.page.evaluate("now.blake3")
    assert len(blake3) == 64 and blake3 in said.replace(" ", "")
    assert root.find("{http://www.w3.org/2000/svg}rect").get("fill") == "#ffffff" and "var(" not in download.value.path().read_text()
    with flights.page.expect_download() as download:
        flights.page.click("#sql-answer button:has-text('PNG')")
    png = download.value.path().read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and width == 1800 and abs(height - 2 * float(root.get("height"))) <= 2
    assert flights.wrong == []


def test_on_a_phone_the_interval_stays(tab, folder):
    for sql in ["SELECT carrier, COUNT(*) FROM flights GROUP BY carrier", "SELECT hour, COUNT(*) FROM flights GROUP BY hour"]:
        phone = tab(viewport={"width": 390, "height": 844}).drop(folder / "flights.margins")
        assert phone.ask(sql)[0][-2:] == ["95 % from", "to"]
        inside = "(cell => cell.getBoundingClientRect().right <= innerWidth)(document.querySelector('#sql-answer tbody tr').lastElementChild)"
        assert phone.page.evaluate(inside) and phone.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_promise_is_in_numbers_that_people_compare(tab, folder):
    flights = tab().drop(folder / "flights.margins")
    assert flights.text("#promise") == "Differential privacy for every row: ε = 1.0000 at δ = 1e-7."
    assert "zero-concentrated" in flights.text("#protects")


def test_examples_are_sensible(tab, folder):
    flights = tab().drop(folder / "flights.margins")
    flights.page.wait_for_selector("#examples-title:not([hidden])")
    asked = flights.page.locator("#examples button").all_inner_texts()
    for sql in ["SELECT carrier, COUNT(*) FROM flights GROUP BY carrier", "SELECT carrier, AVG(delay), SUM(delay) FROM flights GROUP BY carrier",
                "SELECT place, COUNT(*) AS n FROM flights GROUP BY place ORDER BY n DESC LIMIT 10"]:
        assert sql in asked, asked
    assert any("hour BETWEEN 4 AND 8" in sql for sql in asked), asked


def test_records_are_those_of_the_command(tab, folder, margins, tmp_path):
    flights = tab().drop(folder / "flights.margins")
    page = flights.page
    page.fill("#records-rows", "2000")
    page.fill("#records-seed", "7")
    page.click("#records-form button")
    page.wait_for_selector("#records-answer button", timeout=120_000)
    for kind, name in [("records", "flights-records.csv"), ("report", "flights-records.report.json")]:
        with page.expect_download() as download:
            page.click(f"#records-answer button:has-text('{kind}')")
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
    margins("records", folder / "flights.margins", "--out", tmp_path / "own.csv", "--rows", "2000", "--seed", "7")
    assert (tmp_path / "flights-records.csv").read_bytes() == (tmp_path / "own.csv").read_bytes()
    assert (tmp_path / "flights-records.report.json").read_text() == (tmp_path / "own.report.json").read_text()
    margins("verify", folder / "flights.margins", "--records", tmp_path / "flights-records.csv")
    page.click("#records-answer summary")
    assert "seed 7" in page.inner_text("#records-answer pre") and flights.wrong == []
    # There is a bound, which is said; nothing is drawn beyond it.
    page.fill("#records-rows", "100000000")
    page.click("#records-form button")
    page.wait_for_selector("#records-answer > pre")
    assert "100000000 records of 4 attributes are too many" in page.inner_text("#records-answer")


def test_drawing_records_says_how_far_it_is_and_stops(tab, folder):
    town = tab().drop(folder / "town.margins")
    town.page.evaluate("() => { window.heard = []; new MutationObserver(() => heard.push($('status').textContent)).observe($('status'), { childList: true }); }")
    town.page.fill("#records-rows", "1000000")
    town.page.click("#records-form button")
    town.wait("heard.filter(text => /^Drawing records: [a-z]+, [0-9]+ % …$/.test(text)).length > 2")
    town.page.click("#stop")
    town.page.wait_for_selector("#records-answer pre")
    assert town.text("#records-answer") == "stopped"
    assert len(town.ask("SELECT sex, COUNT(*) FROM town GROUP BY sex")) == 3


def test_a_projection_is_asked(tab, folder, margins):
    visits = tab().drop(folder / "visits.margins")
    assert not visits.page.is_visible("#browse")
    # What it is, and one key without any SQL.
    assert "random projection" in visits.text("#cells") and "any text" in visits.text("#cells-keys") and "± " in visits.text("#cells-error")
    visits.page.fill("#cells-form input", "D00.0")
    visits.page.press("#cells-form input", "Enter")
    visits.page.wait_for_selector("#cells-answer .big")
    whole = "SELECT COUNT(*) FROM visits WHERE code = 'D00.0'"
    printed = cells(margins("query", folder / "visits.margins", whole).stdout)[1]
    assert visits.text("#cells-answer .big") == printed[0] and f"{printed[2]} to {printed[3]}" in visits.text("#cells-answer")
    # Whatever is typed is a text.
    visits.page.fill("#cells-form input", "' OR 1 = 1 -- <b>")
    visits.page.press("#cells-form input", "Enter")
    visits.wait("document.querySelector('#cells-answer caption')?.textContent.includes('1 = 1')")
    assert visits.page.locator("#cells-answer b").count() == 0 and visits.wrong == []
    sql = "SELECT code, COUNT(*) FROM visits WHERE code IN ('D00.0', 'A85.3', 'Z99.9') GROUP BY code"
    assert visits.ask(sql)[1:] == cells(margins("query", folder / "visits.margins", sql).stdout)[1:]


def test_hostile_texts_stay_texts(tab, folder):
    page = tab()
    before = page.page.evaluate("document.querySelectorAll('script, img, iframe, b, i').length")
    page.drop(folder / "hostile.margins", folder / "agency.pub")
    page.page.wait_for_selector("#table-answer .bars", state="attached")
    page.page.click(".dimension summary")
    page.page.click("#checks summary")
    page.ask("SELECT * FROM hostile")
    assert page.page.evaluate("document.querySelectorAll('script, img, iframe, b, i').length") == before
    said = page.text()
    for text in ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "<iframe src=https://example.com>"]:
        assert text in said, text
    assert "<script>alert(4)</script>" in page.text("#title")
    assert page.wrong == [] and all(url.startswith(("file:", "blob:")) for url in page.requests)


def test_what_makes_numbers_untrue_is_said(tab, folder, margins):
    page = tab().drop(folder / "hostile.margins")
    printed = " ".join(margins("query", folder / "hostile.margins", "SELECT COUNT(*) FROM hostile").stdout.split())
    said = "Counts at most 2 rows of each what; those beyond are left out; no interval covers them."
    assert said in printed
    assert said in page.text("#untrue")
    page.page.wait_for_selector("#table-answer .notes")
    assert said in page.text("#table-answer .notes")
    page.ask("SELECT COUNT(*) FROM hostile")
    assert said in page.text("#sql-answer .notes")


def test_texts_of_any_length_fit_a_narrow_screen(tab, folder):
    for scheme in ["light", "dark"]:
        page = tab(viewport={"width": 360, "height": 700}, color_scheme=scheme)
        page.drop(folder / "hostile.margins", folder / "agency.pub")
        page.page.wait_for_selector("#table-answer .bars", state="attached")
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_light_and_dark(tab, folder):
    def contrast(scheme):
        page = tab(color_scheme=scheme).drop(folder / "town.margins", folder / "agency.pub")
        colours = "e => { const s = getComputedStyle(e); return [s.color, s.backgroundColor] }"
        light = lambda colour: sum(w * (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4)
                                   for w, v in zip((0.2126, 0.7152, 0.0722), (int(x) / 255 for x in re.findall(r"\d+", colour)[:3])))
        ratios, grounds = [], []
        for where in ["html", "#verdict", ".tables button[aria-pressed=true]", "#ask button.main"]:
            ink, ground = page.page.eval_on_selector(where, colours)
            a, b = sorted([light(ink), light(ground)])
            ratios.append((b + 0.05) / (a + 0.05))
            grounds.append(light(ground))
        return ratios, grounds[0]

    (light, paper), (dark, night) = contrast("light"), contrast("dark")
    assert min(light + dark) > 4.5, (light, dark)
    assert paper > 0.8 and night < 0.05


def test_the_keyboard_is_enough(tab, folder):
    town = tab().drop(folder / "town.margins", folder / "agency.pub")
    page = town.page
    page.wait_for_selector("#table-answer .scroll")
    # From the title on, with Tab alone, every control is reached and named, in the order of the page.
    page.focus("#title")
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        at = page.evaluate("""() => { const e = document.activeElement;
            return [e.tagName, e.id, (e.labels && e.labels[0] ? e.labels[0].textContent : e.getAttribute('aria-label') || e.textContent).trim(),
                    getComputedStyle(e).outlineStyle]; }""")
        if at[0] == "BODY":
            break
        seen.append(at)
    assert all(name for _, _, name, _ in seen), seen
    assert all(outline != "none" for *_, outline in seen), seen
    ids = [i for _, i, _, _ in seen if i]
    assert [i for i in ids if i in ("key", "search", "sql", "level")] == ["key", "search", "sql", "level"]
    # A table by Enter, a question by Ctrl and Enter.
    page.focus("#tables button >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector("#table-answer .big")
    page.focus("#sql")
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT sex, COUNT(*) FROM town GROUP BY sex")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#sql-answer .bars", state="attached")
    # What a screen reader is told.
    snapshot = page.locator("main").aria_snapshot()
    for part in ['heading "Verified"', 'textbox "A question in SQL"', 'img "Chart: count by sex', 'columnheader "count"', 'rowheader "F"']:
        assert part in snapshot, (part, snapshot)


def test_over_http_the_page_fetches_what_it_is_told(tab, site):
    address, asked = site
    town = tab(None)
    town.page.goto(f"{address}/page.html?file=town.margins&key=agency.pub")
    town.until("verified")
    assert town.text("#verdict-title") == "Verified"
    assert "came from the same site" in town.text("#key-note")
    paths = [url.removeprefix(address) for url in town.requests if not url.startswith("blob:")]
    assert paths == ["/page.html?file=town.margins&key=agency.pub", "/town.margins", "/agency.pub"], paths
    away = tab(None)
    away.page.goto(f"{address}/page.html?file=https://example.com/town.margins")
    away.page.wait_for_selector("#trouble p")
    assert "cannot be fetched" in away.text("#trouble")
    assert all(url.startswith((address, "blob:")) or url == "https://example.com/town.margins" for url in away.requests)


def test_a_page_with_the_release_inside(tab, folder, explorer, margins, tmp_path):
    out = tmp_path / "town.html"
    done = margins("page", folder / "town.margins", "--pubkey", folder / "agency.pub", "--out", out, "--explorer", explorer)
    assert "with the release inside" in done.stdout
    page = tab(None)
    page.page.goto(out.as_uri())
    page.until("verified")
    assert page.text("#verdict-title") == "Verified"
    assert "The public key came with this page" in page.text("#key-note")
    page.page.click("#checks summary")
    assert "signs all its bytes" in page.text("#checks")
    assert all(url.startswith(("file:", "blob:")) for url in page.requests) and page.wrong == []
    # A byte of the release inside is changed: the page says so.
    text = out.read_text()
    at = text.index('id="inside"') + 5_000
    (tmp_path / "changed.html").write_text(text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:])
    changed = tab(None)
    changed.page.goto((tmp_path / "changed.html").as_uri())
    changed.page.wait_for_selector("html[data-state]", state="attached")
    assert changed.page.evaluate("document.documentElement.dataset.state") in ("refused", "failed")
    assert not changed.page.is_visible("#numbers")
    # The wrong key, and no release at all.
    margins("page", folder / "town.margins", "--pubkey", folder / "other.pub", "--out", tmp_path / "no.html", "--explorer", explorer, code=1)
    assert not (tmp_path / "no.html").exists()
    margins("page", folder / "town.margins", "--pubkey", folder / "other.pub", "--unverified", "--out", tmp_path / "no.html", "--explorer", explorer)
    wrong = tab(None)
    wrong.page.goto((tmp_path / "no.html").as_uri())
    wrong.until("failed")
    margins("page", "--out", tmp_path / "empty.html", "--explorer", explorer)
    assert (tmp_path / "empty.html").read_bytes() == explorer.read_bytes()


def test_a_map_is_drawn(tab, folder, explorer, margins, tmp_path):
    def square(i):
        x, y = i % 15, i // 15
        ring = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]
        return {"type": "Feature", "properties": {"code": f"P{i:03}"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}

    (tmp_path / "places.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [square(i) for i in range(149)]}))
    out = tmp_path / "flights.html"
    words = ["--geojson", tmp_path / "places.geojson", "--out", out, "--explorer", explorer]
    done = margins("page", folder / "flights.margins", "--pubkey", folder / "agency.pub", *words)
    assert "149 areas of place; 1 of its categories have no area" in done.stderr
    page = tab(None)
    page.page.goto(out.as_uri())
    page.until("verified")
    sql = "SELECT place, COUNT(*) FROM flights GROUP BY place"
    page.ask(sql)
    # Each area has its own figure; the darkest are the largest.
    areas = "[...document.querySelectorAll('#sql-answer .map path.area')].map(a => [a.querySelector('title').textContent, Number(a.getAttribute('fill-opacity'))])"
    drawn = page.page.evaluate(areas)
    rows = {row["place"]: float(row["estimate"]) for row in csv.DictReader(io.StringIO(margins("query", folder / "flights.margins", sql, "--csv").stdout))}
    assert [title.split(":")[0] for title, _ in drawn] == [f"P{i:03}" for i in range(149)]
    by_shade = sorted(drawn, key=lambda one: one[1])
    largest = max(rows, key=rows.get)
    assert by_shade[-1][1] == 1 and dict((title.split(":")[0], shade) for title, shade in drawn)[largest] == 1
    estimates = [rows[title.split(":")[0]] for title, shade in drawn if shade == by_shade[0][1]]
    assert max(estimates) <= min(rows[title.split(":")[0]] for title, shade in drawn if shade > by_shade[0][1])
    assert page.wrong == []
    # Other questions and other files have no map.
    page.ask("SELECT carrier, COUNT(*) FROM flights GROUP BY carrier")
    assert page.page.locator("#sql-answer .map").count() == 0
    page.drop(folder / "flights.margins")
    page.ask(sql)
    assert page.page.locator("#sql-answer .map").count() == 0
    (tmp_path / "places.geojson").write_text('{"type": "FeatureCollection", "features": [{"properties": {"name": "x"}}]}')
    refused = margins("page", folder / "flights.margins", "--geojson", tmp_path / "places.geojson", "--out", tmp_path / "no.html", "--explorer", explorer, code=2)
    assert "no property of its features names categories" in " ".join(refused.stderr.split()) and not (tmp_path / "no.html").exists()


def test_an_evaluator_that_breaks_is_started_again(tab, folder):
    town = tab().drop(folder / "town.margins")
    town.page.evaluate("evaluator.send({ release: {} }).catch(() => {})")
    assert len(town.ask("SELECT sex, COUNT(*) FROM town GROUP BY sex")) == 3
    # A question that takes long is stopped, and the next one is answered.
    town.page.evaluate("restart()")
    assert len(town.ask("SELECT work, COUNT(*) FROM town GROUP BY work")) == 7


def test_what_waits_is_dimmed_and_can_be_stopped(tab, folder):
    town = tab().drop(folder / "town.margins")
    town.ask("SELECT sex, COUNT(*) FROM town GROUP BY sex")
    # The first question is answered, the second never is: until it is stopped, the old answer is dimmed.
    town.page.evaluate("""() => {
      const asked = evaluator.ask;
      let n = 0;
      evaluator.ask = (request) => n++ ? new Promise((_, no) => evaluator.waiting.set("never", { no })) : asked.call(evaluator, request);
      for (let i = 0; i < 2; i++) answer($("sql-answer"), { do: "query", sql: "SELECT COUNT(*) FROM town", level: 0.95 });
      evaluator.ask = asked;
    }""")
    town.page.wait_for_selector("#stop:not([hidden])")
    # Another place is asked and answered meanwhile.
    town.page.evaluate("answer($('table-answer'), { do: 'query', sql: 'SELECT COUNT(*) FROM town', level: 0.95 })")
    town.wait("document.querySelector('#table-answer .big')")
    for holds in ["!document.querySelector('#stop').hidden", "document.querySelector('#sql-answer').ariaBusy === 'true'",
                  "getComputedStyle(document.querySelector('#sql-answer > *')).opacity === '0.4'"]:
        assert town.page.evaluate(holds), holds
    # Whatever is asked just after the stop is answered: by the release that was open.
    town.page.evaluate("() => { $('stop').click(); answer($('table-answer'), { do: 'query', sql: 'SELECT work, COUNT(*) FROM town GROUP BY work', level: 0.95 }); }")
    town.wait("!document.querySelector('[aria-busy]')")
    assert town.page.evaluate("$('stop').hidden && $('table-answer').textContent.includes('retired')")
