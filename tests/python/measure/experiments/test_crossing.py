"""The search for a crossing: where it ends, and what start and end of a run do to it."""

import math
from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem, constant, drive, growing, prepare

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.sweep import Sweep
from taskgrain.words.warnings import notice

FAST = CellSettings(resamples=200, search_resamples=100)


@pytest.mark.parametrize("made", [MetgSearch, Sweep])
def test_a_system_that_is_faster_than_the_reference_has_a_floor_too(made: type[MetgSearch]) -> None:
    """As a kernel is whose memory the caches hold in the short runs of the bracket."""
    system = SimulatedSystem(lambda n: 1e-12 - 0.2e-9 * n)
    search = made(FAST)
    drive(search, system)
    found = search.result(system.rates)
    assert found.floor.value == pytest.approx(1e-12) and max(p.efficiency.number for p in found.curve) > 1.2


def test_the_search_ends_where_more_rounds_would_gain_little() -> None:
    """An overhead that grows with the task keeps the sizes off the line, however many rounds there are."""
    system = SimulatedSystem(growing(3e-7, 0.8), Noise(run=0.002, repeat=0.0, reference=0.0))
    search = MetgSearch(replace(FAST, precision=0.001, max_rounds=40))
    drive(search, system)
    found = search.result(system.rates)
    assert search.done and search.rounds < 40
    assert found.systematic > 0.001 and found.ending == "budget"
    assert found.warnings[-1] == notice("rounds_before_precise", rounds=search.rounds, precision=0.001)


def test_the_search_ends_where_only_more_processes_would_gain() -> None:
    """Two processes that differ by 20 % take turns: no number of rounds tells the typical one."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    search = MetgSearch(replace(FAST, precision=0.001, max_rounds=40))
    while not search.done:
        for request in search.next_round():
            process = 1 + request.round % 2
            slower = 1.0 if process == 1 else 1.2
            samples = [replace(s, seconds=s.seconds * slower, process=process) for s in system.run(request)]
            search.tell(request, samples, system.rates)
    found = search.result(system.rates)
    assert search.rounds < 40 and found.lasting > 0.5 * math.log(found.metg.reach)


def test_start_and_end_are_measured_where_the_crossing_has_moved_to() -> None:
    """The bracket is led astray: what it finds is a hundred times too large."""
    system = SimulatedSystem(constant(1e-5), Noise(run=0.02))
    search = MetgSearch(FAST)
    prepare(search, system)
    system.overhead = constant(1e-7)
    asked = {r.iterations for r, *_ in drive(search, system) if r.phase == "start"}
    found = search.result(system.rates)
    assert found.metg.value == pytest.approx(2e-7, rel=0.1) and found.start.value is not None
    assert max(asked) > 5000 and 50 <= min(asked) <= 400
    assert {s.iterations for s in search.samples() if s.short} == {min(asked)}


@pytest.mark.parametrize("start", [1e-4, 3e-4, 6e-4, 8e-4, 1e-3, 2e-3, 5e-3])
def test_start_and_end_do_not_hide_the_crossing(start: float) -> None:
    """They take from a tenth to most of the first runs; the bracket takes them for a part of the tasks."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02), start_seconds=start)
    search = MetgSearch(FAST)
    drive(search, system)
    found = search.result(system.rates)
    assert found.start.value == pytest.approx(start, rel=0.1)
    assert found.ending == "precise" and found.metg.value == pytest.approx(2e-7, rel=0.15)
