"""The report in a real browser (headless Chromium): what only a browser can tell."""

from __future__ import annotations

import base64
import csv
import functools
import http.server
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import results_folder

from taskgrain.report import data
from taskgrain.report.write import write

pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
import chromium
from chromium import show
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        chromium.BINARY is None or chromium.DRIVER is None,
        reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    driver = chromium.start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(data.read(results_folder.big(tmp_path_factory.mktemp("big")))).as_uri()


def complaints(browser: webdriver.Chrome) -> list[Any]:
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry for entry in log if "favicon" not in entry["message"]]


ROWS = "return [...document.querySelectorAll('#table tbody tr')].map(row => row.cells[arguments[0]]"


def column(browser: webdriver.Chrome, index: int) -> list[str]:
    texts: list[str] = browser.execute_script(f"{ROWS}.textContent)", index)
    return texts


def numbers(browser: webdriver.Chrome, index: int) -> list[float | None]:
    values = browser.execute_script(f"{ROWS}.dataset.value)", index)
    return [None if text is None else float(text) for text in values]


def marks(browser: webdriver.Chrome, chart: str) -> list[str]:
    """The colours in which the drawn marks appear in the end."""
    script = """return [...document.querySelectorAll(`#${arguments[0]} .mark-symbol path`)]
        .map(mark => getComputedStyle(mark).fill)"""
    colours: list[str] = browser.execute_script(script, chart)
    return colours


def test_draws_without_complaint_or_request(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    assert complaints(browser) == []
    assert "cannot be drawn" not in browser.find_element(By.TAG_NAME, "main").text
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart svg")
    assert len(charts) == len(results_folder.PATTERNS) + 2
    assert len(marks(browser, "metg-0")) > 10
    assert len(marks(browser, "efficiency")) > 100
    assert len(marks(browser, "rate")) > 100
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


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
    header = browser.find_element(By.CSS_SELECTOR, "#table th:nth-child(3)")
    button = header.find_element(By.TAG_NAME, "button")
    assert header.get_dom_attribute("aria-sort") is None
    browser.execute_script("arguments[0].click()", button)
    up = numbers(browser, 2)
    assert header.get_dom_attribute("aria-sort") == "ascending"
    known = [one for one in up if one is not None]
    assert known == sorted(known)
    assert up[: len(known)] == known  # those without a number stay at the end
    assert len(known) < len(up)
    browser.execute_script("arguments[0].click()", button)
    assert header.get_dom_attribute("aria-sort") == "descending"
    assert numbers(browser, 2)[: len(known)] == sorted(known, reverse=True)
    browser.execute_script("document.querySelector('#table th:nth-child(1) button').click()")
    assert header.get_dom_attribute("aria-sort") is None
    assert column(browser, 0) == sorted(before)


def test_sorts_by_the_keyboard(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    button = browser.find_element(By.CSS_SELECTOR, "#table th:nth-child(5) button")
    button.send_keys(Keys.ENTER)
    assert (
        browser.find_element(By.CSS_SELECTOR, "#table th:nth-child(5)").get_dom_attribute("aria-sort")
        == "ascending"
    )
    button.send_keys(Keys.SPACE)
    assert (
        browser.find_element(By.CSS_SELECTOR, "#table th:nth-child(5)").get_dom_attribute("aria-sort")
        == "descending"
    )


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_no_scrolling_to_the_side(browser: webdriver.Chrome, report: str, width: int) -> None:
    show(browser, report, width)
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert complaints(browser) == []


def luminance(colour: str) -> float:
    red, green, blue = (int(part.strip(" rgba()")) for part in colour.split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_dark_mode_reaches_the_charts_without_drawing_again(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    paper = "return getComputedStyle(document.body).backgroundColor"
    label = "return getComputedStyle(document.querySelector('#efficiency .role-axis-label text')).fill"
    assert luminance(browser.execute_script(paper)) > 0.95
    assert luminance(browser.execute_script(label)) < 0.4
    light = marks(browser, "efficiency")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    assert luminance(browser.execute_script(paper)) < 0.15
    assert luminance(browser.execute_script(label)) > 0.6
    assert marks(browser, "efficiency") != light
    # Paper is white, whatever the screen is.
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    assert luminance(browser.execute_script(paper)) > 0.95
    assert marks(browser, "efficiency") == light


def test_prints(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report, scheme="dark")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    assert 5 < len(re.findall(rb"/Type ?/Page\b", printed)) < 30
    assert complaints(browser) == []


def until(browser: webdriver.Chrome, condition: Callable[[], object]) -> None:
    WebDriverWait(browser, 10, 0.05).until(lambda _: condition())


def shown_rows(browser: webdriver.Chrome) -> list[str]:
    """The cells of the table's rows that can be seen: system and workload."""
    script = """return [...document.querySelectorAll('#table tbody tr')].filter(row => row.offsetParent)
        .map(row => `${row.cells[0].textContent.trim()} ${row.cells[1].textContent.trim()}`)"""
    rows: list[str] = browser.execute_script(script)
    return rows


def write_filter(browser: webdriver.Chrome, words: str) -> None:
    box = browser.find_element(By.ID, "filter")
    box.clear()
    box.send_keys(words or " ", *([] if words else [Keys.BACKSPACE]))


def visible_panels(browser: webdriver.Chrome) -> int:
    return len(
        [one for one in browser.find_elements(By.CSS_SELECTOR, ".panels figure") if one.is_displayed()]
    )


def without_samples(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.getElementById('samples').click()")


def test_chooses_workload_and_systems(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    first = "return document.querySelector('#efficiency .mark-symbol path').getAttribute('transform')"
    without_samples(browser)
    browser.find_element(By.CSS_SELECTOR, "#systems button[data-all='false']").send_keys(Keys.ENTER)
    until(browser, lambda: not browser.find_element(By.ID, "efficiency").is_displayed())
    assert shown_rows(browser) == []
    assert visible_panels(browser) == 0
    button = browser.find_element(By.CSS_SELECTOR, "#systems button[data-system='limit']")
    assert button.get_dom_attribute("aria-pressed") == "false"
    button.send_keys(Keys.ENTER)
    until(browser, lambda: len(marks(browser, "efficiency")) == 10)
    assert button.get_dom_attribute("aria-pressed") == "true"
    assert [row.split()[0] for row in shown_rows(browser)] == ["limit"] * 8
    assert [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".legend li") if one.text] == ["limit"]
    place = browser.execute_script(first)
    Select(browser.find_element(By.ID, "workload")).select_by_visible_text("all_to_all/width=16")
    until(browser, lambda: browser.execute_script(first) != place)
    browser.find_element(By.CSS_SELECTOR, "#systems button[data-all='true']").send_keys(Keys.ENTER)
    until(browser, lambda: len(marks(browser, "efficiency")) > 100)
    assert complaints(browser) == []


def test_filters_plots_and_table_together(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    assert len(shown_rows(browser)) == 160
    write_filter(browser, "FFT mpi")
    until(browser, lambda: len(shown_rows(browser)) == 2)
    assert shown_rows(browser) == ["mpi fft/width=16", "mpi_rma fft/width=16"]
    assert browser.find_element(By.ID, "shown").text == "2 of 160 cells"
    until(browser, lambda: visible_panels(browser) == 1)
    panel = next(
        one for one in browser.find_elements(By.CSS_SELECTOR, ".panels figure") if one.is_displayed()
    )
    until(browser, lambda: "mpi_rma" in panel.text)
    assert "starpu" not in panel.text
    write_filter(browser, "fft mpi -rma")
    until(browser, lambda: shown_rows(browser) == ["mpi fft/width=16"])
    write_filter(browser, "failed")
    until(browser, lambda: len(shown_rows(browser)) == 7)
    write_filter(browser, "no such cell")
    until(browser, lambda: shown_rows(browser) == [])
    write_filter(browser, "")
    until(browser, lambda: len(shown_rows(browser)) == 160)
    until(browser, lambda: visible_panels(browser) == 8)
    assert complaints(browser) == []


def test_columns_are_chosen(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    header = browser.find_element(By.XPATH, "//th[button='Width']")
    rounds = browser.find_element(By.XPATH, "//th[button='Rounds']")
    assert not header.is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#columns summary").click()
    browser.find_element(By.XPATH, "//label[normalize-space()='Width']/input").click()
    browser.find_element(By.XPATH, "//label[normalize-space()='Rounds']/input").send_keys(Keys.SPACE)
    assert header.is_displayed()
    assert not rounds.is_displayed()
    index = browser.execute_script("return arguments[0].cellIndex", header)
    assert set(column(browser, index)) == {"16"}
    row = browser.find_element(By.CSS_SELECTOR, "#table tbody tr")
    seen = [one for one in row.find_elements(By.CSS_SELECTOR, "th, td") if one.is_displayed()]
    assert len(seen) == 10


def test_a_mark_shows_its_cell(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    panel = browser.find_element(By.ID, "chosen")
    assert not panel.is_displayed()
    mark = browser.find_element(By.CSS_SELECTOR, "#metg-5 .mark-symbol path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).click().perform()
    assert panel.is_displayed()
    assert "limit/fft/width=16" in panel.text
    assert "taskgrain metg --system limit --pattern fft --width 16" in panel.text
    chosen = browser.find_elements(By.CSS_SELECTOR, "#table tr.chosen")
    assert [row.get_dom_attribute("data-cell") for row in chosen] == ["5"]
    assert browser.find_element(By.ID, "workload").get_property("value") == "fft/width=16"
    faded = """return [...document.querySelectorAll('#efficiency .mark-line path')]
        .map(line => getComputedStyle(line).opacity)"""
    until(browser, lambda: sorted(set(browser.execute_script(faded))) == ["0.125", "1"])
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert not panel.is_displayed()
    assert browser.find_elements(By.CSS_SELECTOR, "#table tr.chosen") == []
    until(browser, lambda: set(browser.execute_script(faded)) == {"1"})
    assert complaints(browser) == []


def test_a_row_shows_its_cell_by_the_keyboard(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    row = browser.find_element(By.XPATH, "//table[@id='table']/tbody/tr[td[contains(., 'crash')]]")
    name = f"{row.find_element(By.TAG_NAME, 'th').text}/{row.find_element(By.TAG_NAME, 'td').text}"
    button = row.find_element(By.TAG_NAME, "button")
    button.send_keys(Keys.ENTER)
    panel = browser.find_element(By.ID, "chosen")
    assert browser.switch_to.active_element == panel
    assert panel.find_element(By.TAG_NAME, "h2").text == name
    assert "the driver ended with signal 11" in panel.text
    link = panel.find_element(By.LINK_TEXT, "crash")
    target = browser.find_element(By.CSS_SELECTOR, str(link.get_dom_attribute("href")))
    browser.execute_script("arguments[0].open = true", target)
    assert "line 29 of the log" in target.text
    panel.find_element(By.ID, "close").send_keys(Keys.ENTER)
    assert browser.switch_to.active_element == button


def test_a_row_leads_to_its_curve(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    button = browser.find_element(By.XPATH, "//tr[contains(., 'dom/')]//button[.='mpi']")
    browser.execute_script("arguments[0].click()", button)
    browser.find_element(By.ID, "to-curve").send_keys(Keys.ENTER)
    top = "return document.getElementById('efficiency').getBoundingClientRect().top"
    until(browser, lambda: 0 <= browser.execute_script(top) < 700)
    assert browser.find_element(By.ID, "workload").get_property("value") == "dom/width=16"
    browser.find_element(By.ID, "to-row").send_keys(Keys.ENTER)
    assert browser.switch_to.active_element == button


def test_hovering_tells_what_a_point_is(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    without_samples(browser)
    mark = browser.find_element(By.CSS_SELECTOR, "#efficiency .mark-symbol path:nth-child(12)")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).perform()
    visible = (By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    tooltip = WebDriverWait(browser, 10).until(lambda one: one.find_element(*visible))
    for word in ("system", "iterations", "granularity", "efficiency", "GFLOP/s", "repeats"):
        assert word in tooltip.text


def test_disturbed_samples_are_grey(browser: webdriver.Chrome, tmp_path: Path) -> None:
    cell = results_folder.cell_name("mpi", "fft")
    ended = results_folder.metg_line(cell, 1e-6) | {"disturbed_runs": 10}
    runs = [line | {"disturbed": at < 10} for at, line in enumerate(results_folder.run_lines(ended, 3))]
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft"), *runs, ended])
    show(browser, write(data.read(folder)).as_uri())
    muted = browser.execute_script("return getComputedStyle(document.querySelector('.note')).color")
    drawn = marks(browser, "efficiency")
    assert drawn.count(muted) == 10 * 2
    assert len(set(drawn)) == 2
    assert len(drawn) == 10 + 30 * 2


def test_samples_stand_behind_the_points(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(
        browser,
        write(data.read(results_folder.big(tmp_path, ["mpi"], ["fft"], rounds=4, repeats=3))).as_uri(),
    )
    assert len(marks(browser, "efficiency")) == len(marks(browser, "rate")) == 10 + 10 * 12
    without_samples(browser)
    until(browser, lambda: len(marks(browser, "efficiency")) == 10)


def test_a_study_of_the_radix(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(browser, write(data.read(results_folder.of_radices(tmp_path))).as_uri())
    assert len(marks(browser, "dependences-0")) == 7  # 2 systems, 4 radices, one never reached
    text = browser.find_element(By.ID, "dependences-0").text
    assert "dependences per task (radix)" in text
    write_filter(browser, "mpi")
    until(browser, lambda: len(marks(browser, "dependences-0")) == 3)
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


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_no_serious_issue(
    browser: webdriver.Chrome, tmp_path: Path, width: int, scheme: str
) -> None:
    folder = results_folder.big(tmp_path, results_folder.SYSTEMS[:6], results_folder.PATTERNS[:4])
    show(browser, write(data.read(folder)).as_uri(), width, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.execute_script("document.querySelector('#table tbody button').click()")
    browser.execute_script(AXE)
    found = browser.execute_async_script(
        "axe.run().then(arguments[0], error => arguments[0]({error: String(error)}))"
    )
    assert "error" not in found
    assert len(found["passes"]) > 25
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:5]) for one in serious] == []


def test_a_report_of_ten_thousand_runs_is_drawn(browser: webdriver.Chrome, tmp_path: Path) -> None:
    target = write(data.read(results_folder.big(tmp_path, rounds=7, repeats=3)))
    assert target.stat().st_size < 3_000_000
    show(browser, target.as_uri())
    assert len(marks(browser, "efficiency")) > 1000
    assert complaints(browser) == []


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
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert complaints(browser) == []


def test_works_from_a_server_too(browser: webdriver.Chrome, tmp_path: Path) -> None:
    write(data.read(results_folder.big(tmp_path, ["mpi"], ["fft"])))
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        show(browser, f"http://127.0.0.1:{server.server_port}/report.html")
        assert complaints(browser) == []
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
