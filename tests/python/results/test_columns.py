"""The quantities of a cell: what programs get of them."""

from __future__ import annotations

from stored_cells import stored

from taskgrain.results import lines
from taskgrain.results.columns import OF_A_CELL, Column, plain


def test_programs_get_an_interval_as_three_numbers() -> None:
    found = plain(stored("a", "fft", 1e-6, floor=1e-7, floor_low=0.9e-7))
    assert [found[one] for one in ("floor", "floor_low", "floor_high")] == [1e-7, 0.9e-7, None]
    assert (found["cell"], found["ending"], found["runs"]) == ("a/fft", "precise", 0)
    assert list(found) == [one.name for each in OF_A_CELL for one in each.exported]


def test_a_column_that_is_a_field_says_what_the_field_says() -> None:
    (column,) = [one for each in OF_A_CELL for one in each.exported if one.name == "crossing_iterations"]
    field = lines.fields(lines.MetgLine)["iterations"]
    assert column == Column("crossing_iterations", "number", field.unit, field.meaning, "iterations")
