"""What a cell tells of a METG that it does not have, and the order of systems and workloads."""

from __future__ import annotations

import pytest
from report_cells import cell, measured, point, results

ENDINGS = (
    "precise",
    "budget",
    "several_crossings",
    "failed",
    "unfinished",
    "always_reached",
    "never_reached",
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_only_an_ending_outside_of_the_curve_bounds_metg(ending: str) -> None:
    one = cell(ending=ending, low=1e-6, high=3e-6)
    assert one.at_most == (3e-6 if ending == "always_reached" else None)
    assert one.at_least == (1e-6 if ending == "never_reached" else None)


def test_the_largest_task_tried_is_the_lower_bound() -> None:
    curve = (point(10, 2e-6, 0.1), point(1000, 8e-6, 0.3), point(100, 4e-6, 0.2))
    assert cell(ending="never_reached", low=1e-6, curve=curve).at_least == 8e-6
    assert cell(ending="never_reached").at_least is None


def test_systems_and_workloads_keep_the_order_of_the_study() -> None:
    found = results(measured("b", 1e-6, "fft"), measured("a", 2e-6, "dom"), measured("b", 3e-6, "dom"))
    assert found.systems == ("b", "a")
    assert found.workloads == ("fft", "dom")
    assert results().systems == ()
