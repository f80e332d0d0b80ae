"""What disturbed runs do to a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem

from taskgrain.estimate.disturbance import Run, chosen, samples_of, widened
from taskgrain.estimate.metg import estimate
from taskgrain.estimate.samples import Sample

SIZES = (30, 40, 60, 80, 120, 200)


def runs(slowdown: Callable[[int], float]) -> dict[int, list[Run]]:
    """Eight rounds of a system whose METG is 2 microseconds, slowed in some of them."""
    system = SimulatedSystem(lambda n: 60e-9, Noise(run=0.01, repeat=0.0))
    found: dict[int, list[Run]] = {}
    for turn in range(8):
        for n in SIZES:
            factor = slowdown(turn)
            sample = Sample(n, turn, factor * system.granularity(n) * 1000 / 2, 128.0 * n * 1000, 1000, 2)
            found.setdefault(n, []).append(Run((sample,), factor))
    return found


def metg(found: dict[int, list[Run]]) -> float:
    value = estimate(samples_of(r for of in found.values() for r in chosen(of)), [[128e9] * 2] * 8).metg
    assert value is not None
    return value


def test_disturbed_runs_do_not_count_where_others_do() -> None:
    quiet = metg(runs(lambda turn: 1.0))
    assert metg(runs(lambda turn: 1.5 if turn % 3 == 0 else 1.0)) == pytest.approx(quiet, rel=0.01)
    mixed = runs(lambda turn: 1.5 if turn % 2 == 0 else 1.0)
    assert {len(chosen(of)) for of in mixed.values()} == {8}, "four quiet rounds are too few"


def test_a_result_of_disturbed_runs_reaches_down_to_the_quiet_one() -> None:
    quiet, slow = metg(runs(lambda turn: 1.0)), runs(lambda turn: 1.4)
    used = [one for of in slow.values() for one in of]
    peaks = [[128e9] * 2] * 8
    found = estimate(samples_of(used), peaks)
    at_best = estimate(samples_of(one.at_best() for one in used), peaks)
    assert found.low is not None and found.low > 1.3 * quiet, "narrow and wrong without the other"
    wide = widened(found, at_best)
    assert wide.low is not None and wide.low <= 1.001 * quiet
    assert (wide.metg, wide.high) == (found.metg, found.high)
    assert wide.half_width > 0.1 and wide.warnings[-1].code == "interval_of_disturbed_runs"


def test_a_number_stays_where_quiet_cores_might_have_none() -> None:
    slow = runs(lambda turn: 1.4)
    used = samples_of(one for of in slow.values() for one in of)
    found = estimate(used, [[128e9] * 2] * 8)
    at_best = estimate([replace(one, seconds=one.seconds / 50.0) for one in used], [[128e9] * 2] * 8)
    assert at_best.ending == "always_reached"
    wide = widened(found, at_best)
    assert (wide.metg, wide.low, wide.high) == (found.metg, None, found.high)
    assert wide.ending == "budget" and math.isinf(wide.half_width)
