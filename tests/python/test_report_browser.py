"""The report in a real browser (headless Chromium): what only a browser can tell."""

from __future__ import annotations

import base64
import functools
import http.server
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import results_folder
from test_report import hostile_folder

from taskgrain.report import write

selenium = pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)",
)

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(results_folder.big(tmp_path_factory.mktemp("big"))).as_uri()


def show(browser: webdriver.Chrome, uri: str, width: int = 1280, scheme: str = "light") -> None:
    """Opens the page and waits until its charts are drawn."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get(uri)
    WebDriverWait(browser, 60).until(
        lambda one: one.execute_script("return document.documentElement.dataset.drawn")
    )


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
    assert complaints(browser) == []


def test_chooses_workload_and_systems(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    first = "return document.querySelector('#efficiency .mark-symbol path').getAttribute('transform')"
    browser.find_element(By.CSS_SELECTOR, "#systems button[data-all='false']").send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda one: marks(one, "efficiency") == [])
    button = browser.find_element(By.CSS_SELECTOR, "#systems button[data-system='limit']")
    assert button.get_dom_attribute("aria-pressed") == "false"
    button.send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda one: len(marks(one, "efficiency")) == 10)
    assert button.get_dom_attribute("aria-pressed") == "true"
    place = browser.execute_script(first)
    Select(browser.find_element(By.ID, "workload")).select_by_visible_text("all_to_all/width=16")
    WebDriverWait(browser, 10).until(lambda one: one.execute_script(first) != place)
    browser.find_element(By.CSS_SELECTOR, "#systems button[data-all='true']").send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda one: len(marks(one, "efficiency")) > 100)
    assert complaints(browser) == []


def test_downloads_the_results(browser: webdriver.Chrome, report: str, tmp_path: Path) -> None:
    show(browser, report)
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    browser.execute_script("document.getElementById('download').click()")
    target = tmp_path / "example study.metg.jsonl"
    for _ in range(100):
        if target.exists():
            break
        time.sleep(0.05)
    assert '"kind":"metg"' in target.read_text("utf-8").splitlines()[0]


def test_hostile_texts_do_nothing(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(browser, write(hostile_folder(tmp_path)).as_uri())
    assert complaints(browser) == []
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert "cannot be drawn" not in browser.find_element(By.TAG_NAME, "main").text
    mark = browser.find_element(By.CSS_SELECTOR, "#metg-0 .mark-symbol path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).perform()
    visible = (By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    tooltip = WebDriverWait(browser, 10).until(lambda one: one.find_element(*visible))
    assert "onerror=alert(1)" in tooltip.text
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert complaints(browser) == []


def test_works_from_a_server_too(browser: webdriver.Chrome, tmp_path: Path) -> None:
    write(results_folder.big(tmp_path, ["mpi"], ["fft"]))
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        show(browser, f"http://127.0.0.1:{server.server_port}/report.html")
        assert complaints(browser) == []
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
