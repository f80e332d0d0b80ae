"""A headless Chromium that opens reports, for the tests and for the pictures in the documentation."""

import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

BINARY = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
NEEDED = pytest.mark.skipif(
    BINARY is None or DRIVER is None,
    reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)",
)
"""The mark of tests that open a page."""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def start(profile: Path) -> webdriver.Chrome:
    """A browser with an empty profile in the folder `profile`."""
    options = webdriver.ChromeOptions()
    options.binary_location = BINARY or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.set_script_timeout(600)  # a hang is left to the time limit of the test
    return browser


def show(
    browser: webdriver.Chrome, uri: str, width: int = 1280, scheme: str = "light", media: str = ""
) -> None:
    """Opens a report and waits until its charts are drawn."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(uri)
    WebDriverWait(browser, 60).until(
        lambda one: one.execute_script("return document.documentElement.dataset.drawn")
    )
