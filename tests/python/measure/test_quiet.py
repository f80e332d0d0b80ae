"""Whether probes tell quiet cores from disturbed ones, and what disturbed runs do to a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem

from taskgrain.drive.answers import DriverError, Probe
from taskgrain.drive.session import Session
from taskgrain.estimate.disturbance import Run, chosen, samples_of, widened
from taskgrain.estimate.metg import Sample, estimate
from taskgrain.machine.topology import choose_cores
from taskgrain.measure.call import reference_launch
from taskgrain.measure.quiet import Quiet, Watch


def probe(issue: float = 1.0, hop: float | None = 60e-9) -> Probe:
    return Probe((1e9, issue * 1e9), hop)


def known(*probes: Probe) -> Quiet:
    quiet = Quiet()
    for one in probes or [probe()] * 20:
        quiet.take(one)
    return quiet


def test_the_slowest_core_and_the_hop_decide() -> None:
    quiet = known()
    assert not quiet.disturbed(probe(0.95)) and quiet.slowdown(probe(0.95)) == pytest.approx(1 / 0.95)
    assert quiet.disturbed(probe(0.85)) and quiet.slowdown(probe(0.5)) == pytest.approx(2.0)
    assert not quiet.disturbed(probe(hop=80e-9))
    assert quiet.disturbed(probe(hop=200e-9)) and quiet.slowdown(probe(hop=120e-9)) == pytest.approx(2.0)
    assert quiet.slowdown(probe(1.1, 30e-9)) == 1.0, "nothing is quicker than the best"


def test_one_core_has_no_hop() -> None:
    alone = Probe((1e9,), None)
    assert not known(alone).disturbed(alone)


def test_the_best_is_that_of_a_few_and_is_forgotten_in_the_end() -> None:
    mostly_slow = [probe(0.5)] * 60 + [probe()] * 40
    assert known(*mostly_slow).disturbed(probe(0.5))
    lucky = [probe()] * 400 + [probe(1.3)]
    assert not known(*lucky).disturbed(probe()), "a single lucky probe sets no scale"
    assert not known(probe(), *[probe(0.5)] * 6000).disturbed(probe(0.5)), "what lasts is the machine"


class Cores:
    """Cores that are slow until a time."""

    def __init__(self, slow_from: float, slow_until: float) -> None:
        self.now, self.slow = 0.0, (slow_from, slow_until)

    def probe(self) -> Probe:
        self.now += 0.001
        return probe(0.5 if self.slow[0] <= self.now < self.slow[1] else 1.0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def watch(self) -> Watch:
        return Watch(self.probe, lambda: self.now, self.sleep)


@pytest.mark.parametrize(("until", "waits_until", "disturbed"), [(1.05, 1.05, False), (9.0, 1.2, True)])
def test_waits_for_quiet_cores_but_not_for_ever(until: float, waits_until: float, disturbed: bool) -> None:
    cores = Cores(1.0, until)
    watch = cores.watch()
    watch.look()
    cores.now = 1.0
    watch.look()
    found = watch.wait(0.2)
    assert cores.now == pytest.approx(waits_until, abs=0.02)
    assert watch.judge(probe(), found) == (pytest.approx(2.0 if disturbed else 1.0), disturbed)


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
    assert wide.half_width > 0.1 and "quiet machine" in wide.warnings[-1]


def test_a_number_stays_where_quiet_cores_might_have_none() -> None:
    slow = runs(lambda turn: 1.4)
    used = samples_of(one for of in slow.values() for one in of)
    found = estimate(used, [[128e9] * 2] * 8)
    at_best = estimate([replace(one, seconds=one.seconds / 50.0) for one in used], [[128e9] * 2] * 8)
    assert at_best.ending == "always_reached"
    wide = widened(found, at_best)
    assert (wide.metg, wide.low, wide.high) == (found.metg, None, found.high)
    assert wide.ending == "budget" and math.isinf(wide.half_width)


def test_the_reference_probes_the_real_cores() -> None:
    cores = choose_cores(0)
    with Session("reference", reference_launch(cores)) as reference:
        reference.start()
        found = reference.probe(0.001)
        assert len(found.issue_rates) == len(cores) and min(found.issue_rates) > 1e6
        assert (found.hop_seconds is None) == (len(cores) == 1)
        assert found.hop_seconds is None or 1e-9 < found.hop_seconds < 1e-3
        with pytest.raises(DriverError, match="seconds"):
            reference.probe(-1.0)
        assert reference.alive
