"""One side of two: it goes on until it is told to end, and has the empty kernel's samples too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem, constant, drive

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.side import Side

SETTINGS = CellSettings(precision=0.5, max_rounds=24)


def test_it_does_not_end_because_metg_is_known() -> None:
    side, search = Side(SETTINGS), MetgSearch(SETTINGS)
    for one in (side, search):
        drive(one, SimulatedSystem(constant(1e-7), Noise()))
    assert search.rounds == SETTINGS.min_rounds
    assert side.rounds == SETTINGS.max_rounds


def test_it_ends_when_it_is_told() -> None:
    side, system = Side(SETTINGS), SimulatedSystem(constant(1e-7), Noise())
    drive(side, system, most_runs=120)
    assert not side.done and 10 < side.rounds < 24
    side.end()
    assert side.done and side.next_round() == []
    assert side.result(system.rates).metg.value == pytest.approx(2e-7, rel=0.05)


def test_it_ends_where_there_is_no_crossing() -> None:
    side = Side(replace(SETTINGS, max_task_seconds=1e-6))
    drive(side, SimulatedSystem(constant(1e-4)))
    assert side.done and side.rounds < 10


def test_everything_has_the_empty_kernel() -> None:
    side = Side(SETTINGS)
    drive(side, SimulatedSystem(constant(1e-7), Noise()), most_runs=120)
    empty = [one for one in side.everything() if not one.iterations]
    assert len({one.round for one in empty}) >= 3
    assert [one for one in side.everything() if one.iterations] == side.samples()
