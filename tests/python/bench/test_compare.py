"""Comparisons in simulated worlds: false alarms, and what is found (bench/compare.py counts many more)."""

import pytest
from simulated_worlds.compared import Trial, until_decided, within
from simulated_worlds.noisy import WORLDS


def alarms(trials: list[Trial]) -> int:
    return sum(one.alarm for one in trials)


def test_a_quiet_study_finds_a_fifth_and_raises_no_alarm() -> None:
    same = [within(WORLDS["quiet"], 1.0, seed, cells=2) for seed in range(2)]
    slower = [within(WORLDS["quiet"], 1.2, seed, cells=2) for seed in range(2)]
    assert alarms(same) == 0
    assert [one.share("slower", 1.2) for one in slower] == [1.0] * 2
    assert not any(one.wrong for one in slower)


def test_two_builds_are_decided() -> None:
    for times, verdict in ((1.0, "same"), (1.2, "slower"), (1 / 1.2, "faster")):
        found = until_decided(WORLDS["quiet"], times, 5)
        assert [cell.verdict for cell in found.found.cells] == [verdict]
        assert found.rounds < 60


@pytest.mark.deep
@pytest.mark.parametrize(("world", "seeds", "most"), [("noisy", 8, 1), ("clock", 16, 2)])
def test_false_alarms_are_at_most_one_in_twenty(world: str, seeds: int, most: int) -> None:
    """More than one of eight, or two of sixteen, would come by chance in 6 or 4 % of such tests if the share
    were 5 %."""
    assert alarms([within(WORLDS[world], 1.0, seed, cells=3) for seed in range(seeds)]) <= most
