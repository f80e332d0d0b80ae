"""A study whose budget is spent: its results, from its lines alone."""

from __future__ import annotations

from pathlib import Path

from simulated_world import World, measure

from taskgrain.measure import spent
from taskgrain.results import reader
from taskgrain.study.settings import Settings


def test_the_lines_say_how_every_cell_ended(tmp_path: Path) -> None:
    """A failure and a number, from their lines alone."""
    world = World()
    world.faults["slow", "nearest"] = "system"
    settings = Settings(cores=2, budget=1.0)
    states = measure(tmp_path, world, settings)
    own = [state.cell for state in states]
    ends = spent.ended(reader.read(tmp_path).lines, own, 1.0)
    assert ends is not None
    for state, end in zip(states, ends, strict=True):
        assert end.metg is not None and end.metg.to_json() == state.metg and end.cores == state.cores
        assert (end.failure.to_json() if end.failure else None) == state.failure
    assert [end.failure is not None for end in ends] == [False, False, False, True]
    known = reader.read(tmp_path).lines
    assert spent.ended(known, own, 0.0) is None and spent.ended(known, own, 2.0) is None
    runs = [number for number, line in enumerate(known) if line.kind == "run"]
    assert spent.ended([*known, known[runs[-1]]], own, 1.0) is None, "measured since"
