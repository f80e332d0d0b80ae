"""The page of a history in a real browser: it fits a phone, and is accessible."""

from collections.abc import Iterator

import history_store as made
import pytest

from taskgrain.history.page import render

pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
import chromium
from selenium import webdriver
from selenium_axe_python import Axe

pytestmark = [chromium.NEEDED, pytest.mark.submission]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    folder = tmp_path_factory.mktemp("browser")
    path = made.grown(folder / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    made.grown(path, [1e-6, None], "taskgrain_taskflow_with_a_long_name")
    page = folder / "h.html"
    page.write_text(render(made.history(path), "runtime"), "utf-8")
    found = chromium.start(folder / "profile")
    found.get(page.as_uri())
    yield found
    found.quit()


def emulate(browser: webdriver.Chrome, width: int, scheme: str = "light") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_no_wider_than_the_screen(browser: webdriver.Chrome, width: int) -> None:
    emulate(browser, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_colours_follow_the_scheme(browser: webdriver.Chrome) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        emulate(browser, 1280, scheme)
        colours.add(browser.execute_script(
            "return getComputedStyle(document.querySelector('.chart path[fill^=\"var(--accent\"]')).fill"
        ))  # fmt: skip
    assert len(colours) == 2 and all(colour.startswith("rgb(") for colour in colours)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_says_nothing_in_the_console(browser: webdriver.Chrome, scheme: str) -> None:
    emulate(browser, 1280, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    axe = Axe(browser)
    axe.inject()
    found = axe.run()
    assert [one["id"] for one in found["violations"]] == []
    assert browser.get_log("browser") == []
