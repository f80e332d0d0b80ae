"""The quantities of a cell: what stands in their columns, and what rows are sorted by."""

import pytest
from report_cells import cell, measured, point

from taskgrain.results import cell as stored
from taskgrain.results import ranking
from taskgrain.results.cell import Cell
from taskgrain.results.columns import OF_A_CELL, Column, Quantity, Shown, plain, shown
from taskgrain.words.interval import Interval
from taskgrain.words.quantity import NOTHING
from taskgrain.words.warnings import Notice

ON_PAGE = shown(Shown.AT_FIRST | Shown.ON_REQUEST)
BY_TITLE = {one.title: one for one in ON_PAGE}


def content(title: str, of: Cell) -> tuple[str, float | None]:
    return BY_TITLE[title].text(of), BY_TITLE[title].number(of)


def test_each_column_has_a_title_of_its_own() -> None:
    assert len(BY_TITLE) == len(ON_PAGE)
    assert 0 < len(shown(Shown.AT_FIRST)) < len(ON_PAGE)
    assert [one.heading for one in shown(Shown.TERMINAL)] == [
        "METG",
        "steps",
        "times the best",
        "overhead",
        "ending",
    ]


@pytest.mark.parametrize("column", ON_PAGE, ids=lambda one: one.title)
def test_a_cell_that_knows_nothing_has_no_number_to_sort_by(column: Quantity) -> None:
    empty = stored.Cell("a/fft")
    if column.title not in {"Ending", "Warnings", "Runs", "Repeated runs"}:
        assert (column.text(empty), column.number(empty)) == (NOTHING, None)
    assert column.text(empty)


@pytest.mark.parametrize("column", ON_PAGE, ids=lambda one: one.title)
def test_columns_of_numbers_sort_by_numbers(column: Quantity) -> None:
    full = measured(
        "a",
        2e-6,
        fields={"radix": 3},
        best=measured("b", 1e-6),
        ratios={"b/fft/width=4": Interval(1.3, 1.2, 1.4)},
        floor=1e-6,
        floor_low=0.9e-6,
        floor_high=1.1e-6,
        iterations=120.0,
        work=15e3,
        run={
            "tasks": 1000,
            "iterations": 128,
            "steps": 250,
            "dependencies": 1,
            "prepare_seconds": (2e-9,),
            "peak_rss_bytes": 2**20,
        },
        start=1e-6,
        overhead=1e-6,
        peak_rate=1e9,
        repeated_runs=2,
        disturbed_runs=1,
        curve=(point(10, 1e-6, 0.5, asked=5e-7),),
    )
    assert (column.number(full) is not None) == column.numeric


def test_what_stands_in_a_row() -> None:
    one = measured(
        "a",
        4.1e-7,
        low=3.9e-7,
        high=4.4e-7,
        peak_rate=1e9,
        run={
            "peak_rss_bytes": 3 * 2**20,
            "tasks": 3,
            "dependencies": 6,
            "iterations": 1,
            "work_unit": "flop",
        },
        warnings=(Notice("x"), Notice("y")),
    )
    assert content("METG", one) == ("0.41 µs", 4.1e-7)
    assert content("95 % interval", one) == ("0.39 – 0.44 µs", pytest.approx(4.4 / 3.9))
    assert content("Memory of a process", one) == ("3 MiB", 3 * 2**20)
    assert content("Peak rate per core", one) == ("1.00 GFLOP/s", 1e9)
    assert content("Warnings", one) == ("2", 2)
    assert content("Threshold", one) == ("50 %", 0.5)
    assert content("Dependences per task", one) == ("2.00", 2.0)


def test_the_best_is_called_so() -> None:
    ratios = {"b/fft/width=4": Interval(1.3, 1.2, 1.4)}
    best, other = measured("b", 1e-6), measured("c", 1.3e-6, ratios=ratios)
    ranking.mark_best([best, other, measured("a", 1e-6, "dom")])
    assert content("Times the best", best) == ("best", 1.0)
    assert content("Times the best", other) == ("1.30 (1.20 – 1.40)", 1.3)


def test_a_bound_is_sorted_among_the_numbers() -> None:
    assert content("METG", cell(ending="always_reached", high=2e-7)) == ("≤ 200 ns", 2e-7)
    assert content("METG", cell(ending="never_reached", low=5e-3)) == ("> 5.00 ms", 5e-3)


def test_an_ending_is_told_in_words_with_its_error() -> None:
    assert content("Ending", cell(ending="budget"))[0] == "out of time"
    assert content("Ending", cell(ending="failed", error="timeout"))[0] == "failed: timeout"


def test_what_a_graph_takes_ahead_is_told_with_its_tasks() -> None:
    found = content("Graph made ahead", cell(run={"tasks": 320, "prepare_seconds": (1.26e-6,)}))
    assert found == ("1.3 µs for 320 tasks", 1.26e-6)
    assert content("Graph made ahead", cell())[0] == NOTHING


def test_programs_get_an_interval_as_three_numbers() -> None:
    found = plain(measured("a", 1e-6, floor=1e-7, floor_low=0.9e-7))
    assert [found[one] for one in ("floor", "floor_low", "floor_high")] == [1e-7, 0.9e-7, None]
    assert (found["cell"], found["ending"], found["runs"]) == ("a/fft/width=4", "precise", 20)
    assert list(found) == [one.name for each in OF_A_CELL for one in each.exported]


def test_an_interval_has_the_unit_of_its_column() -> None:
    energy = Quantity(lambda _: Interval(3.2, 3.0, 3.5), (Column("joules", "number", "J", "energy"),))
    assert energy.text(stored.Cell("a/fft")) == "3.2 J"
