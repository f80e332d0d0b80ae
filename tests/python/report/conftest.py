"""A browser, and a report in it, for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import results_folder

from taskgrain.answers import data
from taskgrain.report.page import write

if TYPE_CHECKING:
    from selenium import webdriver


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    import chromium

    driver = chromium.start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report of twenty systems on eight workloads."""
    return write(data.read(results_folder.big(tmp_path_factory.mktemp("big")))).as_uri()
