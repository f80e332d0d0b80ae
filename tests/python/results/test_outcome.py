"""Tests of the result of a cell in words."""

from dataclasses import replace

import pytest
from report_cells import cell, measured, point

from taskgrain.results import outcome
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import Notice


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"ending": "always_reached", "high": 1.2e-8}, "≤ 12.0 ns"),
        ({"ending": "always_reached"}, "always"),
        ({"ending": "never_reached", "low": 5e-3}, "> 5.00 ms"),
        ({"ending": "never_reached"}, "never"),
        ({"ending": "several_crossings"}, "no one value"),
        ({"ending": "failed", "error": "memory"}, "out of memory"),
        ({"ending": "failed", "error": "validation"}, "wrong result"),
        ({"ending": "failed", "error": "odd"}, "failed"),
        ({"ending": "unfinished"}, "unfinished"),
        ({"ending": "budget"}, "out of time"),
        ({"ending": "at"}, "none"),
    ],
)
def test_a_cell_without_a_number_has_a_word(fields: dict[str, object], text: str) -> None:
    one = cell(**fields)
    assert outcome.short(one) == outcome.long(one) == text


def test_a_result_is_as_long_as_there_is_room() -> None:
    one = measured("a", 4.1e-7, low=3.9e-7, high=4.4e-7)
    assert outcome.short(one) == "0.41 µs"
    assert outcome.long(one) == "0.41 µs (0.39 – 0.44)"


def test_what_is_missing_of_an_interval_is_told() -> None:
    assert outcome.long(measured("a", 1e-6, low=None)) == "1.00 µs (? – 1.10), no lower bound"
    assert outcome.long(measured("a", 1e-6, high=None)) == "1.00 µs (0.90 – ?), no upper bound"
    assert outcome.long(measured("a", 1e-6, low=None, high=None)) == "1.00 µs, no interval"
    assert outcome.middle(Interval(None, None, 2e-7)) == "≤ 200 ns"


def test_the_efficiency_at_task_times_stands_for_a_metg() -> None:
    asked = point(310, 4e-5, 0.5, asked=20e-6)
    one = cell(ending="at", curve=(asked, point(620, 5e-5, 0.8, asked=40e-6)))
    assert outcome.short(one) == "50 % at 20 µs and 1 more"
    assert outcome.long(one) == "50 % (45 – 55) at 20 µs; 80 % (72 – 88) at 40 µs"
    unsure = replace(asked, efficiency_low=None, efficiency_high=None)
    assert outcome.short(cell(ending="at", curve=(unsure,))) == "about 50 % at 20 µs"
    mostly_start = cell(ending="at", curve=(unsure,), warnings=(Notice("start_dominates"),))
    assert outcome.short(mostly_start) == "not known at 20 µs"


def test_task_times_for_programs_have_the_work_of_a_task_alone() -> None:
    (found,) = outcome.at_task_times(cell(ending="at", curve=(point(310, 4e-5, 0.5, asked=20e-6),)))
    assert (found["work"], found["low"], found["high"]) == (20e-6, 0.45, 0.55)
    assert outcome.at_task_times(cell(curve=(point(310, 4e-5, 0.5),))) == []
