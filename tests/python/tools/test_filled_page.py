"""Pages with what commands print: no page of this repository is stale."""

from __future__ import annotations

import subprocess
from pathlib import Path

import filled_page
import pytest

PAGES = [page for page in filled_page.ROOT.glob("docs/**/*.md") if "<!-- begin: " in page.read_text("utf-8")]


@pytest.mark.submission
@pytest.mark.parametrize("page", PAGES, ids=lambda one: one.stem)
def test_a_page_says_what_its_commands_print(page: Path) -> None:
    """If this fails, call tools/filled_page.py with the page, and draw the figures of the page anew."""
    text = page.read_text("utf-8")
    assert filled_page.filled(text) == text


def test_a_part_is_replaced_and_the_rest_stays() -> None:
    text = "a\n<!-- begin: taskgrain --version -->\nold\n\nold\n<!-- end -->\nb\n<!-- end -->\n"
    begin, version, end = filled_page.filled(text).partition("\ntaskgrain ")
    assert begin == "a\n<!-- begin: taskgrain --version -->\n"
    assert end.endswith("\n\n<!-- end -->\nb\n<!-- end -->\n")
    assert "old" not in version + end


def test_a_command_that_fails_is_not_taken_for_a_page() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        filled_page.filled("<!-- begin: taskgrain no-such-verb -->\n<!-- end -->\n")
