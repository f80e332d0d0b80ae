"""Processes of one driver that take turns."""

from collections import Counter
from dataclasses import dataclass

import pytest

from taskgrain.measure.crew import MOST, Crew


@dataclass(eq=False)
class Process:
    alive: bool = True
    asked: bool = False

    def quit(self) -> None:
        self.asked = True

    def close(self) -> None:
        self.alive = False

    def kill(self) -> int | None:
        self.close()
        return None


def crew(count: int, cost: float = 0.1) -> Crew[Process]:
    found = Crew[Process](True)
    for number in range(count):
        found.join(Process())
        found.took(float(number), number + cost)
    return found


def numbers(of: Crew[Process], rounds: int) -> list[int]:
    found = []
    for _ in range(rounds):
        of.turn()
        found.append(of.number)
    return found


def test_all_are_asked_to_quit_before_anyone_is_waited_for() -> None:
    class Last(Process):
        def close(self) -> None:
            assert all(one.asked for one in of.processes())
            super().close()

    of = Crew[Process](True)
    for one in (Last(), Last(), Last()):
        of.join(one)
    of.close()
    assert not any(one.alive for one in of.processes())


def test_nobody_serves_before_one_has_joined() -> None:
    empty = Crew[Process](True)
    assert empty.serving is None and empty.number == 0 and not empty.due(9.0, 9.0, 1)
    empty.turn()
    assert empty.processes() == []


def test_who_joins_serves_and_then_all_take_turns() -> None:
    three = crew(3)
    assert three.number == 3
    served = numbers(three, 6)
    assert sorted(served[:3]) == [1, 2, 3] and served[3:] == served[:3]


@pytest.mark.parametrize("workloads", [1, 2, 3, 6])
def test_every_workload_sees_all_processes_alike(workloads: int) -> None:
    full, seen = crew(MOST), Counter[tuple[int, int]]()
    for number in range(2 * MOST * workloads):
        workload = number % workloads
        full.turn(workload)
        seen[workload, full.number] += 1
    assert len(seen) == workloads * MOST and set(seen.values()) == {2}


def test_the_oldest_leaves_for_whom_there_is_no_room() -> None:
    full = crew(MOST)
    oldest, fresh = full.processes()[-1], Process()
    full.turn()
    assert full.join(fresh) is oldest
    assert sorted({*numbers(full, MOST)}) == list(range(2, MOST + 2)) and fresh in full.processes()


def test_with_who_has_died_the_others_go_too() -> None:
    """A parked process that was killed, too, does not tell."""
    two = crew(2)
    both = two.processes()
    assert two.serving is both[0]
    both[0].close()
    assert two.serving is None and not any(one.alive for one in both) and two.number == 0
    two.join(Process())
    assert two.serving is not None and two.number == 3


@pytest.mark.parametrize(
    ("count", "cost", "after", "due"),
    [
        (1, 0.1, 0.0, True),  # the first ones come at once,
        (2, 0.5, 0.0, True),
        (1, 0.6, 0.0, False),  # unless they are slow,
        (1, 0.6, 8 * 2 * 0.6, True),  # then as an eighth of the time allows, here of two drivers
        (MOST, 0.1, 8 * 2 * 0.1 - 0.01, False),
        (MOST, 0.1, 8 * 2 * 0.1 + 0.01, True),
        (1, 1.1, 1e6, False),  # tasks of such systems hardly depend on the place of a process
        (1, 0.0, 1e6, False),
    ],
)
def test_when_another_is_due(count: int, cost: float, after: float, due: bool) -> None:
    some = crew(count, cost)
    assert some.due(count - 1 + after, 100.0, 2) == due
    some.keep()
    assert not some.due(1e9, 1e9, 2)


def test_the_first_ones_wait_where_little_time_is_left() -> None:
    assert crew(1, 0.4).due(0.4, 4 * 2 * MOST * 0.4, 2)
    assert not crew(1, 0.4).due(0.4, 4 * 2 * MOST * 0.4 - 0.1, 2)


def test_one_alone_stays_alone() -> None:
    alone = Crew[Process](False)
    alone.join(Process())
    alone.took(0.0, 0.1)
    assert not alone.due(1e9, 1e9, 1)
