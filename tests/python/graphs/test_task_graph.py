"""Tests of what a graph of any shape allows."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import Graph, graphs, made_of

from taskgrain._core import Dependences
from taskgrain.graphs.task_graph import made


def list_schedule(graph: Graph, cores: int) -> float:
    """The time of a schedule that leaves no core idle while a task is ready."""
    left = [len(one) for one in graph.before]
    ready = [n for n, number in enumerate(left) if number == 0]
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            task = ready.pop()
            heapq.heappush(running, (now + graph.durations[task], task))
        now, task = heapq.heappop(running)
        for other, one in enumerate(graph.before):
            if task in one:
                left[other] -= 1
                if left[other] == 0:
                    ready.append(other)
    return now


@given(graphs(), st.integers(1, 4))
def test_a_schedule_takes_as_long_as_the_bound_and_no_longer_than_grahams(graph: Graph, cores: int) -> None:
    bound = made_of(graph).bound()
    time = list_schedule(graph, cores)
    assert bound.time(cores) <= time <= bound.work / cores + bound.critical_path
    assert bound.busy(cores) <= cores
    assert list_schedule(graph, len(graph.before)) == bound.critical_path
    assert list_schedule(graph, bound.most_at_once) == bound.critical_path, "more cores are of no use"


def test_tasks_of_no_time_are_never_at_once() -> None:
    bound = made("test", dict.fromkeys("abc", 0.0), []).bound()
    assert (bound.work, bound.most_at_once, bound.busy(4)) == (0.0, 0, 0.0)


def test_where_no_task_has_a_time_each_takes_one() -> None:
    bound = made("test", dict.fromkeys("abc"), [("b", "a")]).bound()
    assert (bound.work, bound.critical_path, bound.most_at_once) == (3.0, 2.0, 2)


def test_a_task_may_take_several_cores() -> None:
    bound = made("test", {"a": 2.0, "b": 3.0}, [], cores={"a": 8.0}).bound()
    assert (bound.work, bound.busy(4), bound.time(4)) == (19.0, 4.0, 4.75)


def test_times_that_differ_by_rounding_are_the_same() -> None:
    """The chain ends at 0.1 + 0.2, which is above 0.3, where two others begin."""
    times = {"a": 0.1, "b": 0.2, "d": 0.3, "e": 1.0, "f": 1.0}
    assert made("test", times, [("b", "a"), ("e", "d"), ("f", "d")]).bound().most_at_once == 2


@given(graphs())
def test_each_task_comes_and_begins_after_those_that_it_depends_on(graph: Graph) -> None:
    found = made_of(graph)
    place = {task: at for at, task in enumerate(found.order)}
    assert sorted(place) == [*range(len(graph.before))]
    for task, before in enumerate(graph.before):
        assert all(place[one] < place[task] for one in before)
        begins = max((found.ends[one] for one in before), default=0.0)
        assert found.ends[task] == begins + graph.durations[task]


def test_a_dependence_on_a_task_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError, match="not there"):
        Dependences([(), (2,)])


def test_what_tasks_hand_on_counts_as_often_as_it_is_read() -> None:
    before = [("b", "a"), ("c", "a"), ("c", "b"), ("d", "b"), ("d", "c")]
    times = dict.fromkeys("abcd", 1.0)
    outputs = {"a": 7.0, "b": None, "c": 900.0, "d": 1e9}
    found = made("test", times, before, outputs=outputs)
    assert (found.handed_on, found.unsized) == (7.0, 1), "of 7, 7 and 900"
    none = made("test", times, before)
    assert (none.handed_on, none.unsized) == (None, 0)
    assert made("test", times, [], outputs=outputs).handed_on is None
