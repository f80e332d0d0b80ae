"""Whether probes tell quiet cores from disturbed ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from taskgrain.drive.answers import DriverError, Probe
from taskgrain.drive.session import Session
from taskgrain.machine.topology import choose_cores
from taskgrain.measure.call import reference_launch

FILE = Path(__file__).parents[3] / "bench" / "quiet_cores.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("quiet_cores", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


quiet_cores = _loaded()


def probe(issue: float = 1.0, hop: float | None = 60e-9) -> Probe:
    return Probe((1e9, issue * 1e9), hop)


def known(*probes: Probe) -> Any:
    quiet = quiet_cores.Quiet()
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

    def watch(self) -> Any:
        return quiet_cores.Watch(self.probe, lambda: self.now, self.sleep)


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


def test_the_reference_probes_the_real_cores() -> None:
    cores = choose_cores(0)
    with Session("reference", reference_launch(cores)) as reference:
        reference.start()
        found = reference.probe(0.001)
        assert len(found.issue_rates) == len(cores) and min(found.issue_rates) > 0
        assert (found.hop_seconds is None) == (len(cores) == 1)
        assert found.hop_seconds is None or found.hop_seconds > 1e-9
        with pytest.raises(DriverError, match="seconds"):
            reference.probe(-1.0)
        assert reference.alive
