"""Traces of the project's runtime. tests/cpp/rt/engine/trace_order_test.cpp has what the runtime writes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from program_graphs import Graph, graphs, made_of

from taskgrain.graphs.files import read
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words.errors import InputError


def span(number: int, begin: float, dur: float, after: Sequence[int] = (), **args: int) -> dict[str, Any]:
    args = {"task": number, "waits": 0, "after": [*after], **args}  # type: ignore[dict-item]
    return {"ph": "X", "tid": 0, "name": f"step {number}", "ts": begin, "dur": dur, "args": args}


def mark(name: str, ts: float = 0.0, **args: int) -> dict[str, Any]:
    return {"ph": "i", "name": name, "ts": ts, "args": args}


def graph(folder: Path, *events: dict[str, Any]) -> TaskGraph:
    actor = {"ph": "X", "tid": 0, "name": "graph", "ts": 0, "dur": 99}  # which contains others
    (folder / "trace.json").write_text(
        json.dumps({"traceEvents": [{"ph": "M", "name": "n"}, actor, *events]})
    )
    return read(folder / "trace.json")


def before(found: TaskGraph, name: str) -> list[str]:
    """The tasks that a task comes after; those behind a join stand for the join."""
    names, place = list(found.names), list(found.names).index(name)
    joined = [found.before[one] if names[one] in ("wait", "launch") else [one] for one in found.before[place]]
    return sorted(names[one] for some in joined for one in some)


@given(graphs())
def test_a_trace_is_the_graph(tmp_path_factory: pytest.TempPathFactory, drawn: Graph) -> None:
    spans = [
        span(n, 0, time, of) for n, (time, of) in enumerate(zip(drawn.durations, drawn.before, strict=True))
    ]
    found, same = graph(tmp_path_factory.mktemp("trace"), *spans), made_of(drawn)
    assert (found.kind, found.unit) == ("trace of taskgrain::rt", "s")
    assert [*map(sorted, found.before)] == [*map(sorted, same.before)]
    assert found.durations == pytest.approx([one / 1e6 for one in same.durations])


def test_a_task_that_ran_in_parts_takes_as_long_as_these(tmp_path: Path) -> None:
    found = graph(tmp_path, span(0, 1, 2), span(0, 7, 3))
    assert found.durations == [5e-6] and found.bound().critical_path == 5e-6


def test_what_a_worker_does_for_others_in_a_task_is_not_its_time(tmp_path: Path) -> None:
    away = span(0, 1, 9) | {"args": {"task": 0, "waits": 0, "after": [], "away": 7.5}}
    assert graph(tmp_path, away, span(0, 20, 2)).durations == [3.5e-6]


def test_what_is_given_after_a_wait_comes_after_what_has_ended_before(tmp_path: Path) -> None:
    tasks = [
        span(0, 0, 2),
        span(1, 0, 9),
        span(2, 2, 1, [0]),
        span(3, 5, 1, waits=2),
        span(4, 6, 1, [3], waits=2),
        span(5, 20, 1, waits=3),
        span(6, 30, 1),
        span(7, 31, 1, [6], waits=3),
    ]
    found = graph(tmp_path, *tasks, mark("wait", 4), mark("wait", 4.5), mark("wait", 12))
    assert before(found, "step 3") == ["step 2"], "1 still runs, and 2 comes after 0"
    assert before(found, "step 4") == ["step 3"]
    assert before(found, "step 5") == ["step 1", "step 4"]
    assert before(found, "step 6") == [], "it was given before, and began late"
    assert before(found, "step 7") == ["step 1", "step 4", "step 6"]
    assert found.bound().critical_path == pytest.approx(10e-6)


def test_launches_of_a_graph_come_after_each_other(tmp_path: Path) -> None:
    first = [span(0, 0, 1, graph=3, launch=0), span(1, 1, 1, [0], graph=3, launch=0)]
    second = [span(2, 2, 1, graph=3, launch=1), span(3, 2, 1, graph=3, launch=1)]
    found = graph(tmp_path, *first, *second, span(4, 0, 1, graph=4, launch=0))
    assert before(found, "step 2") == before(found, "step 3") == ["step 1"] and before(found, "step 4") == []


def test_a_task_that_launches_a_graph_ends_with_it(tmp_path: Path) -> None:
    body = [span(2, 2, 5, graph=3, launch=0), span(3, 7, 5, [2], graph=3, launch=0)]
    given = mark("launch", task=1, graph=3, launch=0)
    found = graph(tmp_path, span(0, 0, 2), span(1, 2, 1, [0]), *body, span(4, 13, 1, [1]), given)
    assert before(found, "step 2") == ["step 0"] and before(found, "step 1") == ["step 0", "step 3"]
    assert found.bound().critical_path == pytest.approx(14e-6)


def test_a_launch_without_a_task_is_not_that_of_another(tmp_path: Path) -> None:
    later = [span(2, 4, 5, graph=3, launch=6), mark("launch", task=1, graph=3, launch=6)]
    found = graph(tmp_path, span(0, 0, 1), span(1, 2, 1), *later, mark("launch", task=0, graph=3, launch=0))
    assert before(found, "step 0") == [] and before(found, "step 1") == ["step 2"]


def fork(tid: int, begin: float, dur: float) -> dict[str, Any]:
    return {"ph": "X", "tid": tid, "name": "fork", "ts": begin, "dur": dur}


def test_events_that_are_no_tasks_of_the_graph_are_counted(tmp_path: Path) -> None:
    def left_out(*events: dict[str, Any]) -> str:
        text = json.dumps({"traceEvents": events})
        (tmp_path / "trace.json").write_text(text)
        return read(tmp_path / "trace.json").left_out

    assert left_out(span(0, 0, 9)) == ""
    assert left_out(span(0, 0, 9), fork(0, 9, 3), fork(1, 2, 5)).startswith("2 events, 8.00 µs: futures, ")
    assert left_out(span(0, 0, 9), fork(0, 2, 5)) == "", "a part of the task"
    assert left_out(span(0, 0, 9, away=6), fork(0, 2, 5)).startswith("1 event, 5.00 µs"), "it was away"
    assert left_out(fork(0, 0, 9), span(0, 2, 4), fork(0, 7, 1)).startswith("2 events, 5.00 µs")


def test_a_trace_of_several_ranks_lacks_what_others_send(tmp_path: Path) -> None:
    def lacks(**more: int) -> str:
        (tmp_path / "trace.json").write_text(json.dumps({**more, "traceEvents": [span(0, 0, 9)]}))
        return read(tmp_path / "trace.json").no_order

    assert lacks() == lacks(rank=0, ranks=1) == ""
    assert lacks(rank=2, ranks=4) == "the trace, of rank 2, lacks what other ranks send"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "some of tasks of flows, compiled graphs"),
        ([span(0, 0, 1, [7])], "task 0, after: 7 is not"),
        ([span(0, 0, -1)], "event 3, dur: -1"),
        ([span(-1, 0, 1)], "event 3, args, task: -1"),
        ([span(0, 0, 1, [1]), span(1, 0, 1, [0])], "cycles"),
        ([{"ph": "X", "args": {"task": 1}}], "event 3, dur: nothing is not allowed; allowed: a number"),
        (
            [{"ph": "X", "args": {"task": "x"}, "ts": 0, "dur": 1}],
            "event 3, args, task: x is not allowed; allowed: a whole number from 0 on",
        ),
        (
            [span(0, 0, 1, graph=3, launch=0), mark("launch", task=8, graph=3, launch=0)],
            "event 4, args, task: 8 is not allowed; allowed: a task that the trace has",
        ),
        ([7], "event 3: 7 is not allowed; allowed: an object"),
        ([span(0, 0, 1, waits=1)], "event 3, args, waits: 1 is not allowed; allowed: at most 0"),
    ],
)
def test_what_is_wrong_with_a_trace(tmp_path: Path, events: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        graph(tmp_path, *events)
