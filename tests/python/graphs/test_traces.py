"""Traces of training steps, and of Ray and Dask: what these write was looked at with Ray 2.60 and distributed
2026.8."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from program_graphs import Graph, graphs, made_of

from taskgrain.answers.program import of_graph
from taskgrain.answers.program_words import allowed
from taskgrain.graphs.files import read
from taskgrain.graphs.kinds import kinds
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words.errors import InputError

NO_ACTOR, ACTOR = 24 * "f" + "01000000", "c5e5c3f7d2cb4a895e546b7401000000"


def ray(task: str, function: str, begin: float, took: float, worker: str = "w") -> dict[str, Any]:
    event = {"cat": f"task::{function}", "name": function, "ph": "X", "pid": "1", "tid": f"worker:{worker}"}
    return event | {"ts": begin, "dur": took, "args": {"name": function, "task_id": task}}


def part(of: dict[str, Any], what: str, later: float, took: float) -> dict[str, Any]:
    cat = f"task:{what}"
    return of | {"cat": cat, "name": cat, "ts": of["ts"] + later, "dur": took, "args": {}}


def dask(key: object, *took: float, status: str = "OK") -> dict[str, Any]:
    times = [{"action": "compute", "start": 1.5e9, "stop": 1.5e9 + one} for one in took]
    moved = {"action": "transfer", "start": 1.5e9, "stop": 1.6e9}
    return {"key": key, "worker": "tcp://1", "status": status, "startstops": [moved, *times], "nbytes": 28}


def graph(folder: Path, *events: object) -> TaskGraph:
    (folder / "timeline.json").write_text(json.dumps(events))
    return read(folder / "timeline.json")


def test_a_task_of_ray_lasts_as_long_as_it_executes(tmp_path: Path) -> None:
    waits, alone = ray("1" * 16 + NO_ACTOR, "add", 10, 90), ray("2" * 16 + NO_ACTOR, "one", 10, 40, "v")
    parts = [part(waits, "deserialize_arguments", 0, 60), part(waits, "execute", 60, 30)]
    later = ray("3" * 16 + NO_ACTOR, "add", 100, 50)
    name = {"ph": "M", "name": "process_name", "args": {"name": "Node"}}  # has no category
    found = graph(tmp_path, name, *parts, waits, alone, part(later, "execute", 1, 20), later)
    assert (found.kind, found.unit) == ("Ray timeline", "s")
    assert found.durations == pytest.approx([30e-6, 40e-6, 20e-6])
    assert [(one.name, one.tasks) for one in kinds(found)] == [("add", 2), ("one", 1)]


def test_tasks_of_an_actor_come_after_each_other_unless_they_overlap(tmp_path: Path) -> None:
    begins = (("ffff", 0, 5), ("1111", 7, 4), ("2222", 10, 5), ("3333", 20, 1))
    tasks = [ray(4 * n + ACTOR, "Actor.m", begin, took) for n, begin, took in begins]
    other = ray("4" * 16 + ACTOR.replace("c", "d"), "Actor.m", 50, 1)
    found = graph(tmp_path, *tasks, other)
    assert [list(one) for one in found.before] == [[], [0], [], [2], []]
    said = " ".join(allowed(of_graph("test", found, None, 1.0), 2))
    assert "As to what tasks depend on, the file has none but those of an actor: with" in said


def test_of_several_attempts_of_a_task_the_last_counts(tmp_path: Path) -> None:
    first, again = (ray(4 * "1" + 12 * "0" + ACTOR, "Actor.m", *when) for when in ((0, 5), (20, 7)))
    between = ray(4 * "2" + 12 * "0" + ACTOR, "Actor.m", 10, 5)
    alone = [ray("3" * 16 + NO_ACTOR, "f", *when) for when in ((9, 2), (1, 8))]
    for events in ([first, again], [again, first]):
        assert (graph(tmp_path, *events).dependences, graph(tmp_path, *events).durations) == (0, [7e-6])
    found = graph(tmp_path, first, between, again, *alone)
    at = [*found.labels].index("f")
    assert len(found.names) == 3 and found.durations[at] == pytest.approx(2e-6)
    assert [(found.names[n][0], found.names[k][0]) for n, of in enumerate(found.before) for k in of] == [
        ("1", "2")
    ]


def test_a_task_of_dask_has_the_time_in_which_it_was_computed(tmp_path: Path) -> None:
    events = [dask("pow-c6dd46a8-ab31-4b59-b917-3553cc945d62", 0.5), dask(["sum-" + 32 * "a", 0], 0.25, 0.5)]
    found = graph(tmp_path, *events, dask("pow-1", 1.0, status="error"))
    assert (found.kind, found.unit, found.dependences) == ("Dask task stream", "s", 0)
    assert found.durations == pytest.approx([0.5, 0.75]) and [*found.labels] == ["pow", "sum"]
    assert graph(tmp_path, *events, events[0]).durations == [0.5, 0.75, 0.5], "it was computed again"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "the events of a Ray timeline or a Dask task stream"),
        ([7], "event 1: 7 is not allowed; allowed: an object"),
        ([{"cat": "task::f", "ts": 0}], "event 1, dur: nothing is not allowed; allowed: a number"),
        ([ray("1", "f", 0, -1)], "event 1, dur: -1"),
        ([dask("a", 1.0), dask("b", -1.0)], "event 2, time of b: -1"),
        ([{"name": "of another program"}], "the events of a Ray timeline or a Dask"),
    ],
)
def test_what_is_wrong_with_a_timeline(tmp_path: Path, events: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        graph(tmp_path, *events)


def chakra(graph: Graph, metadata: str) -> str:
    """As protobuf writes JSON: 64-bit numbers are texts, and what is 0 or empty is left out."""
    nodes = [
        {"id": str(n), "name": f"op{n}", "type": "COMP_NODE", "durationMicros": str(graph.durations[n])}
        | {"ctrlDeps": [str(one) for one in before[::2]], "dataDeps": [str(one) for one in before[1::2]]}
        for n, before in enumerate(graph.before)
    ]
    short = [{key: value for key, value in one.items() if value not in ("0", [])} for one in nodes]
    return metadata + "\n".join(json.dumps(one, indent=2) for one in short)


@given(graphs())
def test_a_trace_is_the_graph(tmp_path_factory: pytest.TempPathFactory, graph: Graph) -> None:
    file = tmp_path_factory.mktemp("chakra") / "trace.json"
    for metadata in ("{}", '{\n "version": "0.0.4",\n "attr": [{"name": "schema"}]\n}'):
        file.write_text(chakra(graph, metadata))
        found, same = read(file), made_of(graph)
        assert (found.kind, found.unit) == ("Chakra", "s")
        assert [*map(sorted, found.before)] == [*map(sorted, same.before)]
        assert found.durations == pytest.approx([one / 1e6 for one in same.durations])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{} {"id": "1"} {"id": "1"}', "node 3, id: 1 is not"),
        ('{} {"id": "1", "dataDeps": ["2"]}', "2 → 1: 2 is not"),
        ('{} {"id": "1", "dataDeps": "2"}', "node 2, dataDeps: 2 is not allowed; allowed: a list"),
        ('{} {"id": "1", "durationMicros": "-1"}', "node 2, durationMicros: -1"),
        ('{} {"id": "1"} [', "line 1: the end of the file is not allowed; allowed: JSON"),
        ('{} {"id": "1"} 7', "node 3: 7 is not allowed; allowed: an object"),
        ("{} {}", "node 2: {} is not"),
        ('{} {"id": "1"} {"attr": []}', "node 3: .*attr"),
        ('{} {"id": "1", "durationMicros": true}', "node 2, durationMicros: true"),
        ('{} {"id": "1", "ctrlDeps": ["1"]}', "cycles"),
        ('{} {"id": "1", "attr": [{"name": "comm_size", "doubleVal": -8}]}', "doubleVal: -8"),
    ],
)
def test_what_is_wrong_with_a_trace(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "trace.json")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "first", "type": "COMP_NODE", "durationMicros": "3"}\n{"id": "1", "dataDeps": ["0"]}',
        '{} {"id": 0, "duration_micros": 3} {"id": 1, "data_deps": [0]}',
        '{"name": "a", "ctrlDeps": []} {"id": 1, "name": "b", "ctrlDeps": [0], "durationMicros": 3}',
    ],
)
def test_what_writers_differ_in(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace.json").write_text(text)
    found = read(tmp_path / "trace.json")
    assert (found.kind, found.dependences, sum(found.durations)) == ("Chakra", 1, 3e-6)


def test_a_trace_without_times(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text('{} {"id": "1"} {"id": "2"}')
    assert read(tmp_path / "trace.json").unit == "task"


def test_a_workflow_is_none(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text('{"id": "x", "workflow": {"tasks": [{"name": "a", "runtime": 2}]}}')
    assert read(tmp_path / "trace.json").kind == "WfCommons"


def test_bytes_of_communications_and_of_tensors(tmp_path: Path) -> None:
    attributes = (
        '"attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "comm_size", "int64Val": "4096"}]'
    )
    tensors = "[[5, 6, 0, 1024, 4, 'cuda:0'], 3, [7, 8, 0, 2, 8, 'cpu']]"
    (tmp_path / "trace.json").write_text(
        f'{{}} {{"id": 1, {attributes}}} {{"id": 2, "dataDeps": [1], "outputs": {{"values": "{tensors}"}}}}'
        '{"id": 3, "dataDeps": [2], "outputs": {"values": "[4]"}}'
    )
    assert [*read(tmp_path / "trace.json").outputs] == [4096, 1024 * 4 + 2 * 8, None]
