"""Pages with what commands print and what results hold: no page of this repository is stale."""

from __future__ import annotations

import subprocess
from pathlib import Path

import filled_page
import pytest

PAGES = [page for page in filled_page.pages() if "<!-- begin: " in page.read_text("utf-8")]


@pytest.mark.submission
@pytest.mark.parametrize("page", PAGES, ids=lambda one: one.stem)
def test_a_page_says_what_its_commands_print(page: Path) -> None:
    """If this fails, call `make docs-tables`, and draw the figures of the page anew."""
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


def test_a_part_of_another_kind_is_named() -> None:
    with pytest.raises(
        ValueError, match="begin: 'restul' is not allowed; allowed: taskgrain, results, result, programs"
    ):
        filled_page.filled("<!-- begin: restul x -->\n<!-- end -->\n")


def test_a_table_has_the_chosen_rows_and_what_workloads_differ_by() -> None:
    words = "result 2026-11-27-default metg rounds system=mpi,limit pattern=stencil_1d"
    lines = filled_page.filled(f"<!-- begin: {words} -->\n<!-- end -->\n").splitlines()[2:-2]
    assert lines[0] == "| system | width=2, metg | width=2, rounds | width=16, metg | width=16, rounds |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| `mpi`", "| `limit` (bound)"]
    assert lines[2].split(" | ")[1] == "0.76 µs (0.73 – 0.78)"


def test_the_results_are_small_enough_for_a_checkout() -> None:
    """One result of each kind: a clone has all of them, with every version."""
    files = [file for file in filled_page.RESULTS.rglob("*") if file.is_file() and file.name != "report.html"]
    assert sum(file.stat().st_size for file in files) < 4e6
