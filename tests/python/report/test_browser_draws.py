"""The first look at the report in a real browser: its charts are drawn, and it asks for nothing."""

import pytest
import results_folder

pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
import chromium
from browser_page import complaints, marks
from chromium import show
from selenium import webdriver
from selenium.webdriver.common.by import By

pytestmark = [chromium.NEEDED, pytest.mark.slow]


def test_draws_without_complaint_or_request(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    assert complaints(browser) == []
    assert "cannot be drawn" not in browser.find_element(By.TAG_NAME, "main").text
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart svg")
    assert len(charts) == 3 * len(results_folder.PATTERNS)
    for chart in ("metg-0", "efficiency-0", "rate-0"):
        assert len(marks(browser, chart)) > 3  # five systems are drawn; one has no METG here
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
