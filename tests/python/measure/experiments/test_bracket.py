"""The bracket alone: two sizes around the crossing, found in a few short runs."""

from __future__ import annotations

import pytest
from simulated_system import SimulatedSystem, constant

from taskgrain.measure.experiments.bracket import Bracket
from taskgrain.measure.experiments.experiment import CellSettings, Request


def closed(system: SimulatedSystem, settings: CellSettings, *, whole: bool = False) -> Bracket:
    bracket = Bracket(settings, whole=whole)
    request: Request | None = settings.first_request()
    while request:
        request = bracket.take(request, system.run(request))
    return bracket


@pytest.mark.parametrize("overhead", [3e-9, 1e-7, 1e-5, 1e-3])
def test_two_sizes_a_factor_of_two_apart_enclose_the_crossing(overhead: float) -> None:
    system = SimulatedSystem(constant(overhead))
    bracket = closed(system, CellSettings())
    enclosing = bracket.enclosing()
    assert enclosing is not None and bracket.runs <= 8
    low, high = enclosing
    assert low.iterations < overhead / 1e-9 * 1.001 and high.iterations >= overhead / 1e-9 * 0.999
    assert high.iterations <= 2.1 * low.iterations or high.iterations - low.iterations == 1
    assert bracket.crossing() == pytest.approx(overhead / 1e-9, rel=0.05)


def test_of_a_whole_curve_it_goes_on_by_doubling_until_the_efficiency_is_reached() -> None:
    system = SimulatedSystem(constant(1e-7))
    near, far = (closed(system, CellSettings(), whole=whole) for whole in (False, True))
    assert near.top.efficiency < 0.9 and 0.95 < far.top.efficiency < 0.98
    never = closed(SimulatedSystem(lambda n: 1e-7 + 0.25e-9 * n), CellSettings(), whole=True)
    assert never.top.efficiency < 0.81 and 64.0 < never.top.iterations / never.crossing() < 270.0


def test_no_crossing_ends_at_one_iteration_or_at_the_longest_task() -> None:
    always = closed(SimulatedSystem(constant(4e-10)), CellSettings())
    assert always.enclosing() is None and always.least.iterations == 1
    never = closed(SimulatedSystem(lambda n: 2e-9 * n), CellSettings(max_task_seconds=0.01))
    assert never.enclosing() is None and never.crossing() == 1.0
    assert 0.005 < never.top.granularity <= 0.01
    assert never.largest_allowed() <= 1.3 * never.top.iterations


def test_slow_runs_are_neither_repeated_nor_warmed_up() -> None:
    settings = CellSettings()
    bracket = Bracket(settings)
    system = SimulatedSystem(constant(1e-2), width=16)
    request = bracket.take(settings.first_request(), system.run(settings.first_request()))
    assert request is not None and (request.repeats, request.warmup) == (1, 0)
