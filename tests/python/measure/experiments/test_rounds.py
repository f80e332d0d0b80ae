"""What the experiments have in common: runs as long at all sizes, disturbed runs, and when a search ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem, constant, drive, growing

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.sweep import Sweep

FAST = CellSettings(resamples=200, search_resamples=100)


@pytest.mark.parametrize("made", [MetgSearch, Sweep])
def test_disturbed_runs_count_only_where_too_few_others_do(made: type[MetgSearch]) -> None:
    """Every fifth run is disturbed, and takes twice as long."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    search = made(replace(FAST, precision=0.001, max_rounds=16))
    told = 0
    while not search.done:
        for request in search.next_round():
            told += 1
            hit = not search.preparing and told % 5 == 0
            samples = [replace(s, seconds=s.seconds * (2.0 if hit else 1.0)) for s in system.run(request)]
            search.tell(request, samples, system.rates, hit)
    found = search.result(system.rates)
    assert found.metg.value == pytest.approx(2e-7, rel=0.03)
    assert {s.round for s in search.samples()} == set(range(16))


def test_a_search_waits_for_runs_that_nobody_disturbs() -> None:
    """Others take a tenth of the cores until they go away."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    search = MetgSearch(FAST)
    while not search.done:
        for request in search.next_round():
            hit = not search.preparing and search.rounds < 9
            samples = [replace(s, seconds=s.seconds * (1.1 if hit else 1.0)) for s in system.run(request)]
            search.tell(request, samples, system.rates, hit)
    found = search.result(system.rates)
    assert 13 <= search.rounds < 20 and found.metg.value == pytest.approx(2e-7, rel=0.02)


def test_of_disturbed_runs_alone_there_is_a_number_too() -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    search = MetgSearch(FAST)
    while not search.done:
        for request in search.next_round():
            search.tell(request, system.run(request), system.rates, disturbed=True)
    assert search.result(system.rates).metg.value == pytest.approx(2e-7, rel=0.05)


def test_of_a_disturbed_run_only_the_fastest_repeat_counts() -> None:
    """Others take the cores during two of three repeats of each run."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    search = MetgSearch(FAST)
    while not search.done:
        for request in search.next_round():
            samples = [
                replace(s, seconds=s.seconds * (1.0 if k == 1 or search.preparing else 3.0))
                for k, s in enumerate(system.run(request))
            ]
            search.tell(request, samples, system.rates, disturbed=not search.preparing)
    found = search.result(system.rates)
    assert found.metg.value == pytest.approx(2e-7, rel=0.05) and found.ending == "precise"
    assert {point.repeats for point in found.curve if point.iterations in search.sizes} == {search.rounds}


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
    assert found.warnings[-1].code == "rounds_before_precise"


def test_a_bracket_alone_gives_a_number_without_an_interval() -> None:
    search = MetgSearch(FAST)
    system = SimulatedSystem(constant(1e-7), Noise(run=0.01))
    while search.preparing:
        (request,) = search.next_round()
        search.tell(request, system.run(request), system.rates)
    found = search.result(system.rates, out_of_budget=True)
    assert found.metg.value == pytest.approx(2e-7, rel=0.3)
    assert (found.metg.low, found.metg.high) == (None, None)
    assert "budget_before_rounds" in [one.code for one in found.warnings]


def test_start_and_end_are_measured_where_the_crossing_has_moved_to() -> None:
    """The bracket is led astray: what it finds is a hundred times too large."""
    system = SimulatedSystem(constant(1e-5), Noise(run=0.02))
    search = MetgSearch(FAST)
    while search.preparing:
        (request,) = search.next_round()
        search.tell(request, system.run(request), system.rates)
    system.overhead = constant(1e-7)
    asked = {r.iterations for r, *_ in drive(search, system) if r.phase == "start"}
    found = search.result(system.rates)
    assert found.metg.value == pytest.approx(2e-7, rel=0.1) and found.start.value is not None
    assert max(asked) > 5000 and 50 <= min(asked) <= 400
    assert {s.iterations for s in search.samples() if s.short} == {min(asked)}


@pytest.mark.parametrize("start", [1e-4, 3e-4, 1e-3, 5e-3])
def test_start_and_end_never_make_a_number_that_is_wrong(start: float) -> None:
    """They take from a tenth to most of the first runs; the bracket takes them for a part of the tasks."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02), start_seconds=start)
    search = MetgSearch(FAST)
    drive(search, system)
    found = search.result(system.rates)
    assert found.start.value == pytest.approx(start, rel=0.1)
    if start < 2e-4 or found.metg.value is not None:
        assert found.metg.value == pytest.approx(2e-7, rel=0.15)


def test_a_pattern_that_is_not_at_full_width_tells_no_start() -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02), start_seconds=1e-4)
    search = MetgSearch(FAST)
    while not search.done:
        for request in search.next_round():
            samples = system.run(request)
            if request.phase == "start":  # its steps are narrow
                samples = [replace(s, tasks=s.tasks // 2) for s in samples]
            search.tell(request, samples, system.rates)
    assert search.result(system.rates).start.value is None and not any(s.short for s in search.samples())
