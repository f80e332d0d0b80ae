"""Intervals on simulated machines that are not quiet: a few of the trials that `bench/worlds.py` makes."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated_worlds.clock import PEAK, QUIET, TAU, Machine, Scatter, State, States, System, Timeline, always
from simulated_worlds.noisy import CONSTANT, ITERATIONS, WORLDS, trial

from taskgrain.measure.experiments.experiment import Request

BENCH = Path(__file__).parents[3] / "bench" / "worlds.py"


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("quiet", 5),
        pytest.param("epyc-cloud", 5, marks=pytest.mark.submission),
        pytest.param("tiny", 10, marks=pytest.mark.deep),
        pytest.param("smt 10 ms", 5, marks=pytest.mark.deep),
        pytest.param("smt 30 s in a study", 5, marks=pytest.mark.deep),
    ],
)
def test_intervals_hold_the_truth_and_a_system_is_like_itself(name: str, seeds: int) -> None:
    trials = [trial(WORLDS[name], seed, resamples=200) for seed in range(seeds)]
    found = [one for each in trials for one in each.found]
    held = [
        (one.metg.metg.low or 0.0) <= max(one.typical, one.mean)
        and min(one.typical, one.mean) <= (one.metg.metg.high or math.inf)
        for one in found
        if one.metg.metg.value is not None
    ]
    assert len(held) == len(found)
    assert sum(held) >= 0.85 * len(held)
    assert sum(each.same.decided for each in trials) <= 0.2 * seeds
    assert sum(each.apart.contains(1.5) for each in trials) >= 0.8 * seeds


EXACT = Scatter(0.0, 0.0, 0.0)


def half_a_second_slow(rng: np.random.Generator) -> States:
    yield 0.5, State(kernel=3.0, overhead=2.0)
    while True:
        yield 3600.0, QUIET


def test_a_run_and_the_reference_see_what_is_while_they_last() -> None:
    rng = np.random.default_rng(0)
    machine = Machine(half_a_second_slow, EXACT, rng)
    system = System(machine, CONSTANT, Timeline(always()(rng)))
    # A task takes 5 µs in the slow state and 2 µs later, and there are two tasks a step and core.
    request = Request("measure", 0, round(ITERATIONS), 100_000, 1, 0)
    machine.refer(again=False)
    (sample,) = system.run(request)
    slow = 0.5 - 0.0103  # the reference before the run, and the asking, took the rest
    assert sample.seconds == pytest.approx(slow + 2.0 * 2e-6 * 1e5 * (1.0 - slow / (2.0 * 5e-6 * 1e5)))
    assert sample.peak == pytest.approx(PEAK / 3.0), "slow before"
    (saw,) = system.seen
    share = slow / sample.seconds
    assert (saw.kernel, saw.overhead, saw.run) == pytest.approx((1.0 + 2.0 * share, 1.0 + share, 1.0))
    assert machine.now == pytest.approx(0.0103 + sample.seconds)
    machine.refer(again=False)
    (later,) = system.run(request)
    assert later.seconds == pytest.approx(0.4) and later.peak == pytest.approx(PEAK)


def test_metg_of_the_curves() -> None:
    overhead = ITERATIONS * TAU
    assert CONSTANT.metg() == pytest.approx(2.0 * overhead)
    assert CONSTANT.metg(State(kernel=2.2, overhead=1.2)) == pytest.approx(2.4 * overhead)
    assert CONSTANT.metg(State(run=1.25)) == pytest.approx(1.25 / (1.0 - 0.625) * overhead)
    assert CONSTANT.metg(threshold=0.9) == pytest.approx(10.0 * overhead)
    for name in ("knee", "growing", "kernel at 85 %", "overlap"):
        curve = WORLDS[name].curve
        assert curve.scaled(1.5).metg() == pytest.approx(1.5 * curve.metg())
    assert replace(CONSTANT, task=max).metg() == pytest.approx(overhead)


def test_the_bench_prints_a_row_for_each_world() -> None:
    command = [sys.executable, str(BENCH), "--seeds", "1", "--processes", "1", "--worlds"]
    done = subprocess.run([*command, "quiet,tiny"], capture_output=True, text=True, check=True)
    head, *rows = done.stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["quiet", "tiny"]
    assert all(len(row.split()) == len(head.split()) for row in rows)
