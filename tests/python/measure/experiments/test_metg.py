"""The search of a cell, driven by a simulated system: no clock, no driver."""

import math
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_system import (
    QUIET,
    Answer,
    Noise,
    SimulatedSystem,
    bump,
    constant,
    drive,
    finish,
    prepare,
)

from taskgrain.estimate.metg import Metg
from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.rounds import LONGER

ORDINARY = Noise(run=0.03, repeat=0.015)
FAST = CellSettings(resamples=300)


def rounds_of(answers: list[Answer]) -> list[list[Request]]:
    """The requests of each round of the measure phase, floors included."""
    measured = [request for request, _, _ in answers if request.phase != "bracket"]
    return [list(group) for _, group in groupby(measured, key=lambda request: request.round)]


@pytest.mark.parametrize("overhead", [3e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_metg_is_found_over_six_orders_of_magnitude(overhead: float, threshold: float) -> None:
    system = SimulatedSystem(constant(overhead), ORDINARY, start_seconds=5e-6)
    search = MetgSearch(CellSettings(threshold=threshold))
    answers = drive(search, system)
    found = search.result(system.rates)
    assert found.ending == "precise" and found.metg.low is not None and found.metg.high is not None
    assert found.metg.value == pytest.approx(
        system.true_metg(threshold), rel=0.1 if threshold == 0.5 else 0.2
    )
    # One interval in twenty misses the truth, but none by far; coverage has its own tests.
    assert 0.9 * found.metg.low <= system.true_metg(threshold) <= 1.1 * found.metg.high
    assert found.floor.value == pytest.approx(overhead, rel=0.05)
    assert 5 <= len(search.sizes) <= 9
    efficiencies = [p.efficiency.number for p in found.curve]
    assert min(efficiencies) < 0.35 or search.sizes[0] == 1
    assert max(efficiencies) > 0.82
    # The bracket is cheap: finding the place costs less than one round of measuring it.
    cost = {
        phase: sum(s.seconds for r, run, _ in answers if (r.phase == "bracket") is phase for s in run)
        for phase in (True, False)
    }
    assert cost[True] < cost[False] / search.rounds


def test_every_round_asks_for_the_sizes_around_the_crossing_and_every_third_for_the_others() -> None:
    search = MetgSearch(CellSettings(min_rounds=12, max_rounds=12, search_resamples=50, resamples=100))
    system = SimulatedSystem(constant(1e-7), ORDINARY)
    rounds = rounds_of(drive(search, system))
    assert len(rounds) == 12 and search.done and len(search.seldom) == 3
    first = {r.iterations for r in rounds[0]} - {*search.seldom}
    for k, requests in enumerate(rounds):
        assert {r.round for r in requests} == {k}
        short = requests.pop(next(k for k, r in enumerate(requests) if r.phase == "start"))
        assert short.iterations == min(n for n in first if n > 100)
        beside = next(r for r in requests if r.iterations == short.iterations)
        assert short == replace(beside, phase="start", steps=beside.steps // 10)
        asked = {r.iterations for r in requests}
        assert asked & {*search.seldom} == ({*search.seldom} if k % 3 == 0 else set())
        assert first <= asked and asked - {*search.seldom} <= {*search.sizes}  # one between may join
        assert len(asked) == len(requests)
        assert [r.phase for r in requests if r.iterations == 0] == ["floor"] * (k % 3 == 0)
        assert {(r.repeats, r.warmup) for r in requests} == {(3, 1)}
        for r in requests:  # every run lasts as long
            lasts = r.steps * system.width * system.granularity(r.iterations) / system.cores
            assert lasts == pytest.approx(CellSettings().run_seconds, rel=0.35)
    assert len({requests[0].iterations for requests in rounds}) >= len(search.sizes)


def test_a_slow_system_is_warmed_up_but_not_repeated() -> None:
    search = MetgSearch(FAST)
    answers = drive(search, SimulatedSystem(constant(1e-2), ORDINARY, width=16))
    asked = {(r.steps, r.repeats, r.warmup) for requests in rounds_of(answers) for r in requests}
    assert asked == {(steps, 1, 1) for steps in (5, FAST.min_steps, LONGER * FAST.min_steps)}
    assert search.done and search.rounds >= FAST.min_rounds


def test_a_run_at_the_crossing_lasts_as_long_as_asked() -> None:
    system = SimulatedSystem(constant(1e-7), width=16, cores=2)
    search = MetgSearch(CellSettings(run_seconds=0.02))
    for requests in rounds_of(drive(search, system)):
        for one in requests:
            if one.phase == "start":
                continue
            assert one.steps * 16 * system.granularity(one.iterations) / 2 == pytest.approx(0.02, rel=0.3)
    wide = SimulatedSystem(constant(1e-9), width=2**20, cores=2)
    for request, *_ in drive(MetgSearch(CellSettings(run_seconds=10.0, resamples=50)), wide):
        assert request.steps * 2**20 <= 2**26
    fixed = MetgSearch(CellSettings(steps=50, resamples=50))
    assert {r.steps for requests in rounds_of(drive(fixed, system)) for r in requests} == {50}


@pytest.mark.parametrize("noise", [QUIET, Noise(run=0.05, outliers=0.03)])
def test_endings_without_a_number(noise: Noise) -> None:
    never = SimulatedSystem(lambda n: 2e-9 * n + 1e-7, noise)
    found = finish(MetgSearch(FAST), never)
    assert (found.ending, found.metg.value) == ("never_reached", None)
    assert found.metg.low is not None and 0.25 < found.metg.low <= 1.2
    assert found.floor.value == pytest.approx(1e-7, rel=0.1) and len(found.curve) > 10
    always = SimulatedSystem(constant(4e-10), noise)
    found = finish(MetgSearch(FAST), always)
    assert (found.ending, found.metg.value) == ("always_reached", None)
    assert (
        found.metg.high == pytest.approx(always.granularity(1), rel=0.15) and found.curve[0].iterations == 1
    )
    twice = SimulatedSystem(bump(1e-7, 190, 20.0), noise)
    found = finish(MetgSearch(FAST), twice)
    assert (found.ending, found.metg.value) == ("several_crossings", None)


def test_a_bracket_led_astray_is_put_right() -> None:
    for factor in (12.0, 1.0 / 12.0):
        system = SimulatedSystem(constant(1e-7), ORDINARY)
        search = MetgSearch(CellSettings(resamples=200))
        # Some disturbance, or a lucky state, lasts as long as the bracket and is then gone.
        system.overhead = constant(1e-7 * factor)
        prepare(search, system)
        system.overhead = constant(1e-7)
        drive(search, system, 20)  # two rounds: no size is right, which is no finding about the system
        early = search.result(system.rates, out_of_budget=True)
        assert (early.ending, early.metg.value) == ("budget", None) and early.curve
        found = finish(search, system)
        assert found.ending == "precise"
        assert found.metg.value == pytest.approx(system.true_metg(), rel=0.1)


def test_interval_and_cost_fall_from_round_to_round() -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.15))
    search = MetgSearch(CellSettings(precision=0.08, max_rounds=60, resamples=300))
    assert search.interval_width() == math.inf and search.expected_seconds_left() > 0.0
    widths = []
    left = []
    spent = 0.0
    while not search.done:
        for request in search.next_round():
            samples = system.run(request)
            spent += sum(s.seconds for s in samples) * (request.repeats + request.warmup) / request.repeats
            search.tell(request, samples, system.rates)
        system.measure_reference()
        if not search.preparing and search.rounds:
            widths.append(search.interval_width())
            left.append((spent, search.expected_seconds_left()))
    assert widths[0] == math.inf and widths[-1] <= 0.08 < widths[4]
    assert left[-1][1] == 0.0 and search.next_round() == []
    middle, expected = left[len(left) // 2]
    assert 0.2 < expected / (spent - middle) < 6.0
    assert search.result(system.rates).ending == "precise"


def test_where_the_budget_ends_the_search() -> None:
    def result(runs: int) -> Metg:
        system = SimulatedSystem(constant(1e-5), ORDINARY)
        search = MetgSearch(FAST)
        drive(search, system, runs)
        found = search.result(system.rates, out_of_budget=True)
        return found

    early = result(2)
    assert (early.ending, early.metg.value) == ("budget", None)
    said = early.warnings[-1]
    assert said.code == "budget_before_crossing" and 0.0 < said.values["efficiency"] < 1.0
    assert said.values["granularity"] > 1e-5
    system = SimulatedSystem(constant(1e-5), ORDINARY)
    search = MetgSearch(FAST)
    bracket = len([r for r, *_ in drive(search, system) if r.phase == "bracket"])
    for runs in (bracket, bracket + 4, bracket + 9, bracket + 22, bracket + 40):
        found = result(runs)
        assert found.ending == "budget" and found.metg.value == pytest.approx(2e-5, rel=0.3)
        assert (found.metg.low or 0.0) <= 2e-5 <= (found.metg.high or math.inf)
        assert found.warnings[-1].code in ("budget_before_rounds", "budget_before_precise")
        if runs == bracket:
            assert (found.metg.low, found.warnings[-1].code) == (None, "budget_before_rounds")
    with pytest.raises(ValueError, match="nothing was told"):
        MetgSearch(FAST).result(system.rates)


def coverage(noise: Noise, seeds: range) -> tuple[float, float]:
    """Share of whole searches whose interval holds the truth, and their mean number of rounds."""
    held, rounds = 0, 0
    truth = SimulatedSystem(constant(1e-7), noise).true_metg()
    for seed in seeds:
        search = MetgSearch(CellSettings(resamples=200, seed=seed))
        found = finish(search, SimulatedSystem(constant(1e-7), noise, seed=seed))
        assert found.metg.value is not None
        held += (found.metg.low or 0.0) <= truth <= (found.metg.high or math.inf)
        rounds += search.rounds
    return held / len(seeds), rounds / len(seeds)


def test_stopping_when_the_interval_is_narrow_does_not_spoil_it() -> None:
    held, rounds = coverage(Noise(run=0.08, repeat=0.03, outliers=0.02), range(20))
    assert held >= 0.9 and rounds > FAST.min_rounds


@settings(max_examples=10)
@given(st.floats(-9.5, -3.5), st.sampled_from([0.2, 0.5, 0.8]), st.integers(1, 5000), st.integers(0, 99))
def test_any_system_is_searched_to_an_end(exponent: float, threshold: float, width: int, seed: int) -> None:
    system = SimulatedSystem(constant(10.0**exponent), Noise(run=0.05, outliers=0.05), width=width, seed=seed)
    # Two outliers in a row may mislead the bracket: the sizes then have a way to go.
    search = MetgSearch(CellSettings(threshold=threshold, max_rounds=24, resamples=50))
    answers = drive(search, system, 1000)
    assert search.done and len(answers) < 500
    found = search.result(system.rates)
    if found.metg.value is not None:
        assert found.metg.value == pytest.approx(system.true_metg(threshold), rel=0.5)
    else:
        assert found.ending == "always_reached"
