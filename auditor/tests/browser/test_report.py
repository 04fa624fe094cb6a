"""The report as an auditor sees it: in a browser, on any screen, on paper."""

import datetime
import hashlib
import io
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tomllib
import unicodedata

import pypdf
import pytest

from conftest import AUDITOR, GATEWAY, ROOT, Package

WIDTHS = [320, 768, 1600]
SCHEMES = ["light", "dark"]
TABLES = (ROOT / "policies" / "controls" / "views" / "tables.sql").read_text()
ADMITTED, REFUSED = (0x2F, 0x6F, 0x9F), (0xD0, 0x8A, 0x2E)
PARTS = 30

# Every piece of text with what it is painted on, and how much they differ (WCAG 2: 1 to 21).
TEXTS = """
(() => {
  const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const under = (element) => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return null;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest('svg')) continue;
    const style = getComputedStyle(element), paper = under(element);
    const [a, b] = [light(rgb(style.color)), paper ? light(paper) : NaN].sort((x, y) => y - x);
    found.push({text, size: parseFloat(style.fontSize), contrast: (a + 0.05) / (b + 0.05)});
  }
  return found;
})()
"""
OVERFLOWING = """
[...document.querySelectorAll('body *')].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map((element) => element.outerHTML.slice(0, 80))
"""
BOXES = """
[...document.querySelectorAll('%s')].map((element) => {
  const box = element.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
    class: element.getAttribute('class')};
})
"""


def boxes(browser, selector):
    return browser.js(BOXES % selector)


def facts(browser):
    rows = "[...document.querySelectorAll('.facts tr')].map((row) => [...row.children].map((cell) => cell.innerText))"
    return {name: value for name, value in browser.js(rows)}


def digest(path):
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_runs_nothing_and_fetches_nothing(browser, package, scheme):
    browser.open(package.report, scheme=scheme)
    asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    assert asked == [package.report.resolve().as_uri()]
    said = browser.of(
        "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded"
    )
    assert said == []
    assert browser.js("document.scripts.length") == 0
    acting = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith('on'))"
    assert browser.js(acting) == []
    assert browser.js("document.compatMode") == "CSS1Compat"


def test_its_head_says_when_how_and_over_what(browser, package):
    browser.open(package.report)
    results = json.loads((package.out / "results.json").read_text())
    shown, period = facts(browser), results["period"]
    assert browser.js("document.title") == f"Gatehouse evidence, {period['from']} to {period['to']}"
    head = browser.js("document.querySelector('header').innerText")
    assert period["from"] in head and period["to"] in head and "13 no exception" in head
    made = datetime.datetime.fromisoformat(shown["Made"].replace("Z", "+00:00"))
    assert abs((datetime.datetime.now(datetime.timezone.utc) - made).total_seconds()) < 3600
    assert shown["Horizon"].startswith(results["horizon"])
    assert shown["Trust file"] == digest(package.trust)
    assert digest(AUDITOR) in shown["Program"]
    assert shown["Verification"] == "holds"
    words = [*map(str, package.command)]
    words[0] = "gatehouse-auditor"
    assert shown["Command"] == " ".join(words)
    signed = package.said.split("signed by ")[1].split("\n")[0]
    assert shown["Signing key"] == f"Ed25519 {signed}"


def test_every_control_is_there_and_was_tested(browser, package):
    browser.open(package.report)
    ids = sorted(path.stem for path in (ROOT / "policies" / "controls").glob("*.sql"))
    assert len(ids) == 14
    rows = browser.js(
        "[...document.querySelectorAll('.results tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert [row[0] for row in rows] == ids
    for name, _, population, exceptions, result in rows:
        # A log of the real gateway gives every control something to test, but for other clocks: nobody was asked.
        assert int(population) == len(package.csv(f"population/{name}.csv")), name
        assert (int(population) > 0) == (name != "AL-10"), name
        assert int(exceptions) == len(package.csv(f"exceptions/{name}.csv")) == 0, name
        assert result == ("not tested" if name == "AL-10" else "no exception")
    sections = browser.js(
        "[...document.querySelectorAll('section.control')].filter((e) => e.checkVisibility())"
        ".map((e) => [e.id, e.innerText, e.querySelectorAll('pre').length])"
    )
    assert [section[0] for section in sections] == ids
    for name, text, queries in sections:
        result = "not tested" if name == "AL-10" else "no exception"
        assert f"{result}: population" in text and queries == 2, name
    links = browser.js("[...document.links].map((link) => link.getAttribute('href'))")
    for link in links:
        where = link.removeprefix("#")
        assert where in ids if link.startswith("#") else (package.out / link).is_file(), link


def test_the_chart_of_requests_shows_what_the_log_holds(browser, package):
    rows = package.csv("charts/requests.csv")
    assert len(rows) == PARTS
    begin, end = int(rows[0]["from_us"]), int(rows[-1]["to_us"])
    counted = [0] * PARTS
    for row in package.csv("population/RD-01.csv"):
        counted[(int(row["ts_us"]) - begin) * PARTS // (end - begin)] += 1
    assert [int(row["admitted"]) for row in rows] == counted
    assert sum(counted) == 6 and sum(int(row["refused"]) for row in rows) == 4
    browser.open(package.report)
    [plot] = boxes(browser, ".requests svg")
    assert plot["width"] > 500 and plot["height"] == 150
    wanted = []
    most = max(int(row["admitted"]) + int(row["refused"]) for row in rows)
    for index, row in enumerate(rows):
        top = 0
        for kind in ("admitted", "refused"):
            if count := int(row[kind]):
                top += count
                x, height = plot["width"] / PARTS * index, plot["height"] * count / most
                y = plot["height"] * (1 - top / most)
                wanted.append((kind, x, y, height))
    bars = boxes(browser, ".requests svg rect")
    assert len(bars) == len(wanted)
    for bar, (kind, x, y, height) in zip(bars, wanted):
        assert bar["class"] == kind
        assert bar["x"] - plot["x"] == pytest.approx(x, abs=1) and bar["width"] > 5
        assert bar["y"] - plot["y"] == pytest.approx(y, abs=1)
        assert bar["height"] == pytest.approx(height, abs=1)
        middle = bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2
        assert browser.colour(*middle) == (ADMITTED if kind == "admitted" else REFUSED)
    key = browser.js("document.querySelector('.requests figcaption').innerText")
    assert "6 admitted" in key and "4 refused" in key and f"the highest is {most}" in key


def test_the_chart_of_values_shows_what_was_found(browser, package):
    views = sqlite3.connect(package.db)
    place = "SELECT label, sum(n) FROM labels WHERE place = ? GROUP BY label"
    found, masked = (dict(views.execute(place, [name])) for name in ("red_found", "reply_masked"))
    assert found["EMAIL"] == 5 and masked["CREDIT_CARD"] == 6, (found, masked)
    rows = package.csv("charts/values.csv")
    numbers = {row["type"]: (int(row["found_in_requests"]), int(row["masked_in_replies"])) for row in rows}
    assert numbers == {name: (found.get(name, 0), masked.get(name, 0)) for name in found | masked}
    browser.open(package.report)
    shown = browser.js(
        "[...document.querySelectorAll('.values tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText))"
    )
    assert [(row[0], (int(row[2]), int(row[3]))) for row in shown] == [*numbers.items()]
    plots, bars = boxes(browser, ".values svg"), boxes(browser, ".values svg rect")
    most = max(sum(pair) for pair in numbers.values())
    for index, (name, pair) in enumerate(numbers.items()):
        plot, x = plots[index], plots[index]["x"]
        assert plot["width"] > 200
        for bar, count, colour in zip(bars[2 * index :], pair, (ADMITTED, REFUSED)):
            assert bar["width"] == pytest.approx(plot["width"] * count / most, abs=1), name
            assert bar["x"] == pytest.approx(x, abs=1), name
            x += bar["width"]
            if count:
                assert browser.colour(bar["x"] + bar["width"] / 2, bar["y"] + 7) == colour


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_it_can_be_read_on_every_screen(browser, package, width, scheme):
    browser.open(package.report, width=width, scheme=scheme)
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.js(OVERFLOWING) == []
    texts = browser.js(TEXTS)
    assert len(texts) > 200
    assert [text for text in texts if not text["contrast"] >= 4.5] == []
    assert [text for text in texts if text["size"] < 10.5] == []
    paper = browser.colour(2, 2)
    assert (sum(paper) > 700) == (scheme == "light"), paper
    shown = [text["text"] for text in texts]
    # On a narrow screen too, every number says what it is of.
    assert shown.count("no exception") >= 12


def test_it_prints_on_whole_pages(browser, package):
    browser.open(package.report)
    pages = pypdf.PdfReader(io.BytesIO(browser.pdf())).pages
    texts = [page.extract_text() for page in pages]
    assert 6 <= len(pages) <= 12
    for number, (page, text) in enumerate(zip(pages, texts), 1):
        assert [round(side) for side in page.mediabox[2:]] == [595, 842], "A4"
        assert f"{number} / {len(pages)}" in text and "Gatehouse evidence, " in text
        assert len(text) > 300, f"page {number} is all but empty: {text}"
    # What a test was for, and both its queries, are on one page. In a PDF spaces are guesses, and
    # letters may be joined.
    texts = ["".join(unicodedata.normalize("NFKC", text).split()) for text in texts]
    for path in (ROOT / "policies" / "controls").glob("*.sql"):
        title = re.search("-- title: (.*)", path.read_text())[1]
        head = f"{path.stem}{title}".replace(" ", "")
        # Before its own part it stands in the table of results.
        rest = [text for text in texts if head in text][-1].split(head)[-1]
        assert 0 < rest.index("Populationquery") < rest.index("Exceptionsquery"), path.stem


def test_a_broken_log_and_exceptions_catch_the_eye(browser, data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    segment = sorted((copy / "ledger" / "log").rglob("*.jsonl.zst"))[-1]
    whole = bytearray(segment.read_bytes())
    whole[len(whole) // 2] ^= 1
    segment.write_bytes(whole)
    broken = Package(copy, tmp_path)
    assert broken.status == 1, broken.said
    browser.open(broken.report)
    assert facts(browser)["Verification"].startswith("broken")
    assert facts(browser)["Signing key"] == "none: the manifest is not signed"
    results = "Object.fromEntries([...document.querySelectorAll('.results tbody tr')].map((row) => [row.cells[0].innerText, row.cells[4].innerText]))"
    shown = browser.js(results)
    assert shown["AL-01"] == "with exceptions"
    assert "no exception" not in shown.values(), shown
    assert "0 no exception" in browser.js("document.querySelector('.tiles').innerText")
    assert "What the log cannot show" in browser.js("document.getElementById('SE-01').innerText")


def test_a_log_of_which_nothing_verifies_has_no_times(browser, data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    for segment in (copy / "ledger" / "log").rglob("*.jsonl.zst"):
        segment.write_bytes(segment.read_bytes()[:-9])
    broken = Package(copy, tmp_path)
    assert broken.status == 1, broken.said
    browser.open(broken.report)
    assert facts(browser)["Horizon"] == "none: the log proves nothing"
    assert browser.js("document.title") == "Gatehouse evidence, no record that verifies"
    text = browser.js("document.body.innerText")
    assert "1970" not in text and "No request in the period." in text


def test_exceptions_are_listed_and_the_rest_is_counted(browser, data, tmp_path):
    controls = tmp_path / "controls"
    controls.mkdir()
    query = "SELECT w, seq, ts, ts_us, kind FROM records WHERE kind IS NOT NULL;"
    (controls / "MY-01.sql").write_text(
        "-- id: MY-01\n-- title: Nothing may ever happen\n-- tsc: x\n-- iso: y\n-- severity: 3\n"
        f"-- supports: s\n-- remediation: r\n\n-- population\n{query}\n\n-- exceptions\n{query}\n"
    )
    package = Package(data, tmp_path, "--controls", controls)
    assert package.status == 1, package.said
    number = len(package.csv("exceptions/MY-01.csv"))
    for width in WIDTHS:
        browser.open(package.report, width=width)
        assert browser.js(OVERFLOWING) == []
        text = browser.js("document.getElementById('MY-01').innerText")
        shown = min(number, 25)
        assert f"Exceptions ({shown} of {number}):" in text
        assert browser.js("document.querySelectorAll('#MY-01 ol li').length") == shown > 10
        assert "1 with exceptions" in browser.js("document.querySelector('.tiles').innerText")


def test_every_field_of_the_gateway_has_its_column(package):
    """The same file makes the tables on every engine, and only SQLite can be given columns later."""
    columns = "SELECT name FROM pragma_table_info(?)"
    made, bare = sqlite3.connect(package.db), sqlite3.connect(":memory:")
    bare.executescript(TABLES)
    for table in ("records", "labels", "checks"):
        assert [*made.execute(columns, [table])] == [*bare.execute(columns, [table])]
    kinds = {kind for kind, in made.execute("SELECT DISTINCT kind FROM records")}
    assert kinds >= {
        "admin.change", "auth.deny", "config.snapshot", "exchange.admitted", "exchange.refused",
        "exchange.settled", "policy.load", "policy.text", "session.close", "session.open", "writer.close", "writer.open",
    }
    absent = "SELECT absent_reason, absent_session, absent_owner FROM records WHERE absent_reason IS NOT NULL ORDER BY seq"
    [(_, session, owner), closed] = made.execute(absent).fetchall()
    assert session.startswith("s_") and owner and closed == ("closed", None, None)


def test_what_the_policy_in_force_said_is_in_the_package(package):
    admitted = "SELECT DISTINCT policy FROM records WHERE kind = 'exchange.admitted'"
    digests = {digest for digest, in sqlite3.connect(package.db).execute(admitted)}
    texts = {f"sha256:{file.stem}": tomllib.loads(file.read_text()) for file in (package.out / "policies").iterdir()}
    assert texts.keys() == digests and len(digests) == 1
    assert [text["profile"] for text in texts.values()] == ["balanced"]


def test_the_second_query_of_the_readme_finds_the_same(package):
    """`scan` on the same log, with the same controls."""
    arguments = [AUDITOR, "scan", package.command[2], "--trust", package.trust, "--json"]
    ended = subprocess.run(arguments, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    scanned = json.loads(ended.stdout)
    kept = json.loads((package.out / "results.json").read_text())
    assert scanned["controls"] == kept["controls"]


def test_the_demo_ends_with_such_a_report(browser, tmp_path):
    demo = subprocess.run([GATEWAY, "demo", "--keep", tmp_path / "demo"], capture_output=True, text=True, env={})
    assert demo.returncode == 0, demo.stderr
    report = pathlib.Path(demo.stdout.rstrip().rsplit("\n", 1)[-1])
    assert report == tmp_path / "demo" / "evidence" / "report.html"
    browser.open(report)
    assert browser.of("Log.entryAdded", "Runtime.exceptionThrown", "Audits.issueAdded") == []
    assert "13 no exception" in browser.js("document.querySelector('.tiles').innerText")
    assert len(boxes(browser, ".requests svg rect")) > 0
    assert len(boxes(browser, ".values tbody tr")) > 3
