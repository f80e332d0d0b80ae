"""The table of cells: what stands in its columns, and what they are sorted by."""

from __future__ import annotations

import pytest
from report_cells import cell, measured, point

from taskgrain.report.cells import Cell
from taskgrain.report.columns import COLUMNS, ending
from taskgrain.words.interval import Interval
from taskgrain.words.quantity import NOTHING
from taskgrain.words.warnings import Notice

BY_TITLE = {one.title: one for one in COLUMNS}


def content(title: str, of: Cell) -> tuple[str, float | None]:
    return BY_TITLE[title].content(of)


def test_each_column_has_a_title_of_its_own() -> None:
    assert len(BY_TITLE) == len(COLUMNS)
    assert any(one.shown for one in COLUMNS) and not all(one.shown for one in COLUMNS)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: one.title)
def test_a_cell_that_knows_nothing_has_no_number_to_sort_by(column: object) -> None:
    nothing = cell(ending="unfinished", **dict.fromkeys((
        "width", "radix", "graphs", "output_bytes", "dependences", "cores", "rounds", "peak_rate",
    )))  # fmt: skip
    text, number = column.content(nothing)  # type: ignore[attr-defined]
    known = {"Ending", "Warnings", "Threshold", "Reference", "Runs", "Pattern", "Kernel"}
    if column.title not in known:  # type: ignore[attr-defined]
        assert (text, number) == (NOTHING, None)
    assert text


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: one.title)
def test_columns_of_numbers_sort_by_numbers(column: object) -> None:
    full = measured(
        "a",
        2e-6,
        radix=3,
        floor=1e-6,
        floor_low=0.9e-6,
        floor_high=1.1e-6,
        iterations=120.0,
        prepare=2e-9,
        prepare_tasks=1000,
        memory=2**20,
        start=1e-6,
        overhead=1e-6,
        quiet=1.5e-6,
        repeated_runs=2,
        disturbed_runs=1,
        to_best=Interval(1.3, 1.2, 1.4),
        curve=(point(10, 1e-6, 0.5, asked=5e-7),),
    )
    _, number = column.content(full)  # type: ignore[attr-defined]
    assert (number is not None) == column.numeric  # type: ignore[attr-defined]


def test_what_stands_in_a_row() -> None:
    one = measured(
        "a", 4.1e-7, low=3.9e-7, high=4.4e-7, memory=3 * 2**20, warnings=(Notice("x"), Notice("y"))
    )
    assert content("METG", one) == ("0.41 µs", 4.1e-7)
    assert content("95 % interval", one) == ("0.39 – 0.44 µs", pytest.approx(4.4 / 3.9))
    assert content("Memory of a process", one) == ("3 MiB", 3 * 2**20)
    assert content("Peak rate per core", one) == ("1.00 GFLOP/s", 1e9)
    assert content("Warnings", one) == ("2", 2)
    assert content("Threshold", one) == ("50 %", 0.5)
    assert content("Dependences per task", one) == ("2.00", 2.0)


def test_the_best_is_called_so() -> None:
    assert content("Times the best", cell(best=True)) == ("best", 1.0)
    assert content("Times the best", cell(to_best=Interval(1.3, 1.2, 1.4))) == ("1.30 (1.20 – 1.40)", 1.3)


def test_a_bound_is_sorted_among_the_numbers() -> None:
    assert content("METG", cell(ending="always_reached", high=2e-7)) == ("≤ 200 ns", 2e-7)
    assert content("METG", cell(ending="never_reached", low=5e-3)) == ("> 5.00 ms", 5e-3)


def test_an_ending_is_told_in_words_with_its_error() -> None:
    assert ending(cell(ending="budget")) == "out of time"
    assert ending(cell(ending="failed", error="timeout")) == "failed: timeout"


def test_what_a_graph_takes_ahead_is_told_with_its_tasks() -> None:
    found = content("Graph made ahead", cell(prepare=1.26e-6, prepare_tasks=320))
    assert found == ("1.3 µs for 320 tasks", 1.26e-6)
    assert content("Graph made ahead", cell())[0] == NOTHING
