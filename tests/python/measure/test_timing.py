"""Tests of the shares of a call's time."""

from pathlib import Path

import pytest
from killable_study import lines
from simulated_world import World, measure

from taskgrain.measure import plan
from taskgrain.measure.timing import Timing


def test_each_second_counts_once_for_what_began_last() -> None:
    now = 0.0
    timing = Timing(lambda: now)
    now = 1.0
    with timing.part("requests"):
        now = 3.0
        timing.move(1.5, "tasks")
        with pytest.raises(OSError), timing.part("disk"):
            now = 7.0
            raise OSError
        now = 7.25
    now = 10.0
    assert timing.seconds() == {"disk": 4.0, "the rest": 3.75, "tasks": 1.5, "requests": 0.75}


def test_a_study_knows_where_its_time_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    timing = Timing(lambda: world.now)
    monkeypatch.setattr(plan, "Timing", lambda clock: timing)
    world.wait, world.starting = 0.01, {"slow": 2.0, "fast": 1.0}
    measure(tmp_path, world)
    told = timing.seconds()
    runs, references = lines(tmp_path, "run"), lines(tmp_path, "reference")
    assert told["tasks"] == pytest.approx(sum(sum(line["seconds"]) for line in runs))
    assert told["references"] == pytest.approx(0.01 * len(references))
    assert told["processes"] >= 3.0 and sum(told.values()) <= world.now + 1e-6
