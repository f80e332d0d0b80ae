"""Cells that end because their place among the systems is sure."""

from dataclasses import replace
from pathlib import Path

import pytest
from killable_study import assert_nothing_twice
from simulated_world import World, comparable, measure, result

from taskgrain.measure.record import CellState
from taskgrain.measure.schedule import LOOKS, Places
from taskgrain.results.ranking import MARGIN
from taskgrain.study.settings import Settings

WANTED = Settings(cores=2, precision=0.0005, rank_precision=0.2, max_rounds=LOOKS[-1])
"""A precision that nothing here reaches within so many rounds."""


def placed(folder: Path, world: World, settings: Settings = WANTED) -> list[CellState]:
    return measure(folder, world, settings, judge=Places(settings))


def endings(states: list[CellState]) -> set[str]:
    return {str(result(state).ending) for state in states}


def test_a_cell_ends_once_its_place_is_sure(tmp_path: Path) -> None:
    world = World()
    states = placed(tmp_path, world)
    assert endings(states) == {"ranked"}
    rounds = [state.experiment.rounds for state in states]
    assert min(rounds) == LOOKS[0] and max(rounds) < LOOKS[-1], "those whose sizes still change go on"
    assert all(state.stored.metg.known and not result(state).warnings for state in states)
    again = World()
    assert comparable(placed(tmp_path, again)) == comparable(states) and again.runs == 0
    assert_nothing_twice(tmp_path)


@pytest.mark.parametrize("factor", [1.0, MARGIN])
def test_a_place_that_is_not_sure_ends_nothing(factor: float, tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = factor * world.overheads["fast"]
    assert endings(placed(tmp_path, world)) == {"budget"}


@pytest.mark.parametrize("wider", [1.0, 0.01])
def test_no_place_ends_a_search_that_shall_be_precise(wider: float, tmp_path: Path) -> None:
    asked = replace(WANTED, rank_precision=wider * WANTED.precision)
    assert endings(placed(tmp_path, World(), asked)) == {"budget"}


def test_no_cell_ends_before_its_least_rounds(tmp_path: Path) -> None:
    states = placed(tmp_path, World(), replace(WANTED, min_rounds=LOOKS[0] + 1))
    assert min(state.experiment.rounds for state in states) > LOOKS[0]
    assert endings(states) == {"ranked"}


def test_a_place_that_others_disturbed_is_not_sure_yet(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 10_000
    states = placed(tmp_path, world)
    assert min(state.experiment.rounds for state in states) >= 20


def test_a_study_that_is_stopped_and_goes_on_ends_alike(tmp_path: Path) -> None:
    whole = placed(tmp_path / "whole", World())
    placed(tmp_path / "parts", World(), replace(WANTED, budget=3.0))
    again = placed(tmp_path / "parts", World())
    assert endings(again) == endings(whole) == {"ranked"}
    assert_nothing_twice(tmp_path / "parts")


def test_a_system_that_never_reaches_the_threshold_is_apart(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 1.0
    assert endings(placed(tmp_path, world)) == {"ranked", "never_reached"}


def test_a_system_that_failed_has_no_place(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "start"): "timeout"}
    assert endings(placed(tmp_path, world)) == {"budget", "failed"}
