"""The report in a real browser (headless Chromium), after the first look of test_browser_draws.py."""

import base64
import csv
import io
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest
import results_folder

from taskgrain.answers import data
from taskgrain.answers.compare.cells import Compared, Comparison, Question, Verdict
from taskgrain.estimate.quantities import Quantity
from taskgrain.estimate.ratio import Ratio
from taskgrain.report.page import write

pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
import chromium
from browser_page import ask, column, complaints, head, luminance, marks, numbers, open_all, until
from chromium import show
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = [chromium.NEEDED, pytest.mark.submission]


def test_text_stays_inside_the_charts(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    script = """return [...document.querySelectorAll('.chart')].flatMap(chart => {
        const outer = chart.getBoundingClientRect();
        return [...chart.querySelectorAll('text')].filter(text => {
            const inner = text.getBoundingClientRect();
            return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1
                || inner.bottom > outer.bottom + 1);
        }).map(text => `${chart.id}: ${text.textContent}`);
    })"""
    assert browser.execute_script(script) == []
    show(browser, report, 375)
    assert browser.execute_script(script) == []


def test_sorts_by_a_number_and_by_text(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    before = column(browser, 0)
    header, place = head(browser, "METG")
    button = header.find_element(By.TAG_NAME, "button")
    assert header.get_dom_attribute("aria-sort") is None
    browser.execute_script("arguments[0].click()", button)
    up = numbers(browser, place)
    assert header.get_dom_attribute("aria-sort") == "ascending"
    known = [one for one in up if one is not None]
    assert known == sorted(known)
    assert up[: len(known)] == known  # those without a number stay at the end
    assert 0 < len(known) < len(up)
    browser.execute_script("arguments[0].click()", button)
    assert header.get_dom_attribute("aria-sort") == "descending"
    assert numbers(browser, place)[: len(known)] == sorted(known, reverse=True)
    browser.execute_script("document.querySelector('#table th:nth-child(1) button').click()")
    assert header.get_dom_attribute("aria-sort") is None
    assert column(browser, 0) == sorted(before)


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_no_scrolling_to_the_side(browser: webdriver.Chrome, report: str, width: int) -> None:
    show(browser, report, width)
    open_all(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.querySelector('nav ul').scrollWidth") <= width, "it wraps"
    assert complaints(browser) == []


def test_trust_stands_beside_a_narrow_table_where_there_is_room(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    report = write(data.read(results_folder.big(tmp_path, ["mpi", "tbb"], ["fft", "dom"]))).as_uri()
    boxes = """return ["matrix", "trust"].map(id => document.getElementById(id).getBoundingClientRect())
        .map(one => [one.left, one.right, one.top, one.bottom])"""
    for width in (1280, 1000):
        show(browser, report, width)
        matrix, trust = browser.execute_script(boxes)
        assert (trust[0] > matrix[1] and trust[2] < matrix[3]) == (width == 1280)
        assert (trust[2] > matrix[3]) == (width == 1000)
    show(browser, report)
    browser.find_element(By.CSS_SELECTOR, "#matrix td a").send_keys(Keys.ENTER)
    matrix, trust = browser.execute_script(boxes)
    assert trust[2] > matrix[3], "the cell chosen takes the room"


def test_long_names_of_systems_are_neither_cut_nor_broken_in_a_word(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    systems = ["mpi_simulated", "mpi_simulated.bulk", "mpi_simulated.bulk_dragonfly"]
    report = write(data.read(results_folder.big(tmp_path, systems, ["fft", "tree"])))
    show(browser, report.as_uri(), 390)
    open_all(browser)
    names, lines, cut = browser.execute_script("""
        const names = [...document.querySelectorAll('#matrix .system, #table tbody th a')];
        const parts = names.flatMap(one => [...one.childNodes].filter(node => node.data));
        const range = new Range();
        const lines = one => { range.selectNode(one); return range.getClientRects().length; };
        return [[...new Set(names.map(one => one.textContent))], parts.map(lines),
            names.map(one => one.closest('th')).filter(one => one.scrollWidth > one.clientWidth).length];
    """)
    assert (sorted(names), set(lines), cut) == (systems, {1}, 0)
    texts = browser.execute_script("return document.querySelector('#metg-0').textContent")
    assert all(name in texts for name in systems)


def test_dark_mode_reaches_the_charts_without_drawing_again(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    paper = "return getComputedStyle(document.body).backgroundColor"
    label = "return getComputedStyle(document.querySelector('#efficiency-0 .role-axis-label text')).fill"
    assert luminance(browser.execute_script(paper)) > 0.95
    assert luminance(browser.execute_script(label)) < 0.4
    light = marks(browser, "efficiency-0")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    assert luminance(browser.execute_script(paper)) < 0.15
    assert luminance(browser.execute_script(label)) > 0.6
    assert marks(browser, "efficiency-0") != light
    # Paper is white, whatever the screen is.
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    assert luminance(browser.execute_script(paper)) > 0.95
    assert marks(browser, "efficiency-0") == light


def test_prints(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report, scheme="dark")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    assert 3 < len(re.findall(rb"/Type ?/Page\b", printed)) < 15
    assert complaints(browser) == []


def test_downloads(browser: webdriver.Chrome, tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path / "study", rounds=2)
    show(browser, write(data.read(folder)).as_uri())
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    for name in ("runs.jsonl", "cells.csv", "study.toml", "machine.json"):
        browser.execute_script(f"document.querySelector('#downloads button[data-file=\"{name}\"]').click()")
        until(browser, (tmp_path / name).exists)
    assert (tmp_path / "runs.jsonl").read_bytes() == (folder / "runs.jsonl").read_bytes()
    assert (tmp_path / "study.toml").read_bytes() == (folder / "study.toml").read_bytes()
    assert json.loads((tmp_path / "machine.json").read_text()) == results_folder.MACHINE
    table = list(csv.DictReader(io.StringIO((tmp_path / "cells.csv").read_text("utf-8"))))
    assert len(table) == 160
    assert table[0]["cell"] == "limit/trivial/width=16"
    assert float(table[0]["metg"]) > 1e-8
    assert complaints(browser) == []


AXE = files("selenium_axe_python").joinpath("axe-core/axe.min.js").read_text("utf-8")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
@pytest.mark.parametrize("asked", [False, True], ids=["metg", "task time"])
def test_axe_finds_nothing(
    browser: webdriver.Chrome, tmp_path: Path, width: int, scheme: str, asked: bool
) -> None:
    results = data.read(results_folder.big(tmp_path, results_folder.SYSTEMS[:6], results_folder.PATTERNS[:4]))
    ratios: Mapping[Quantity, Ratio] = {"metg": Ratio(1.3, 1.2, 1.4, 5), "rate": Ratio(0.8, 0.7, 0.9, 5)}
    verdicts: tuple[Verdict, ...] = ("slower", "faster", "not comparable")
    cells = [
        Compared("new", "old", "mpi", "mpi", "fft/width=16", one, "why", ratios=ratios, notes=("a note",))
        for one in verdicts
    ]
    changes = {"before": Comparison(Question(), 0.95, tuple(cells), ())}
    show(browser, write(results, changes=changes, at=20e-6 if asked else None).as_uri(), width, scheme)
    open_all(browser)
    browser.execute_script("document.querySelector('#matrix td a').click()")
    browser.execute_script(AXE)
    found = browser.execute_async_script(
        "axe.run().then(arguments[0], error => arguments[0]({error: String(error)}))"
    )
    assert "error" not in found
    assert len(found["passes"]) > 25
    issues = [(one["id"], [node["html"] for node in one["nodes"]][:5]) for one in found["violations"]]
    assert issues == []


def test_a_report_of_ten_thousand_runs_is_drawn(browser: webdriver.Chrome, tmp_path: Path) -> None:
    target = write(data.read(results_folder.big(tmp_path, rounds=7, repeats=3)))
    assert target.stat().st_size < 3_000_000
    show(browser, target.as_uri())
    assert len(marks(browser, "efficiency-0")) > 40
    assert complaints(browser) == []


def test_thirty_two_systems_on_four_workloads_are_no_long_list(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    systems = [f"system_{number}" for number in range(32)]
    show(
        browser,
        write(data.read(results_folder.big(tmp_path, systems, results_folder.PATTERNS[:4]))).as_uri(),
        1440,
    )
    assert browser.execute_script("return document.documentElement.scrollHeight") < 6000
    top = browser.execute_script("return document.getElementById('matrix').getBoundingClientRect().top")
    assert top < 600  # in the first screen
    widths = "return [...document.querySelectorAll('.panels .chart')].map(one => one.clientWidth)"
    assert min(browser.execute_script(widths)) > 300
    assert complaints(browser) == []


def test_the_tables_do_without_scripts(browser: webdriver.Chrome, report: str) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report)
        tree = browser.execute_cdp_cmd("DOMSnapshot.captureSnapshot", {"computedStyles": ["display"]})
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    texts = {tree["strings"][one] for one in tree["documents"][0]["layout"]["text"] if one >= 0}
    assert {"best", "Can I trust it?", "limit"} <= {text.strip() for text in texts}
    assert any("need JavaScript" in text for text in texts)


def test_hostile_texts_do_nothing(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(browser, write(data.read(results_folder.hostile(tmp_path))).as_uri())
    assert complaints(browser) == []
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert "cannot be drawn" not in browser.find_element(By.TAG_NAME, "main").text
    mark = browser.find_element(By.CSS_SELECTOR, "#metg-0 .mark-symbol path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).perform()
    visible = (By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    tooltip = WebDriverWait(browser, 10).until(lambda one: one.find_element(*visible))
    assert "onerror=alert(1)" in tooltip.text
    ActionChains(browser).click(mark).perform()
    assert "onerror=alert(1)" in browser.find_element(By.ID, "chosen").text
    ask(browser, "20 us")
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert complaints(browser) == []
