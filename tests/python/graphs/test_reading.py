"""Whatever a file of any format has: it is read, or the error names place, value and what is allowed."""

import copy
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.graphs.files import read
from taskgrain.graphs.reading import Entry
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words.errors import InputError

RAY = {"cat": "task::f", "ph": "X", "tid": "w", "ts": 1, "dur": 2, "args": {"task_id": "1" * 40}}
SPAN = {"ph": "X", "name": "f", "ts": 1, "dur": 2, "args": {"task": 0, "waits": 0, "after": []}}
OF_LAUNCH = {"task": 1, "waits": 1, "after": [0], "graph": 3, "launch": 0}
JSON: dict[str, list[Any]] = {
    "taskgrain graph": [
        {
            "taskgrain_graph": 1,
            "program": "./a",
            "unit": "s",
            "names": ["a", "b"],
            "named": [0, 1, 1],
            "durations": [1, 2.5, 0],
            "cores": [1, 2, 1],
            "outputs": [None, 8, 9],
            "untimed": 0,
            "before": [[], [0], [0, 1]],
        }
    ],
    "WfCommons 1.5": [
        {
            "schemaVersion": "1.5",
            "workflow": {
                "specification": {
                    "tasks": [
                        {"name": "a", "id": "1", "children": ["2"], "outputFiles": ["o"]},
                        {"name": "b", "id": "2", "parents": ["1"]},
                    ],
                    "files": [{"id": "o", "sizeInBytes": 5}],
                },
                "execution": {"tasks": [{"id": "1", "runtimeInSeconds": 2, "coreCount": 2}]},
            },
        }
    ],
    "WfCommons": [
        {
            "workflow": {
                "jobs": [
                    {"name": "a", "runtime": 1, "files": [{"link": "output", "size": 3}]},
                    {"name": "b", "category": "c", "parents": ["a"], "cores": 1},
                ]
            }
        }
    ],
    "Chakra": [
        {"version": "4"},
        {"id": "1", "name": "a", "durationMicros": "2"},
        {"id": 2, "name": "b", "ctrlDeps": ["1"], "dataDeps": [1], "outputs": {"values": "[]"}},
        {"id": 3, "type": "COMM_COLL_NODE", "attr": [{"name": "comm_size", "int64Val": "8"}]},
    ],
    "trace of taskgrain::rt": [
        {
            "traceEvents": [
                {"ph": "M", "name": "thread_name", "args": {"name": "worker 0"}},
                SPAN,
                SPAN | {"args": OF_LAUNCH},
                SPAN | {"args": SPAN["args"] | {"task": 2}},
                {"ph": "i", "name": "wait", "ts": 4},
                {"ph": "i", "name": "launch", "ts": 0, "args": {"task": 2, "graph": 3, "launch": 0}},
            ]
        }
    ],
    "Ray timeline": [
        [{"ph": "M", "name": "process_name", "args": {"name": "Node"}}, RAY, RAY | {"cat": "task:execute"}]
    ],
    "Dask task stream": [
        [
            {"key": "a-1", "status": "OK", "startstops": [{"action": "compute", "start": 1, "stop": 2.5}]},
            {"key": ["b", 0], "status": "error", "startstops": []},
        ]
    ],
}
TEXTS = {
    "DOT": 'digraph g {\n node [weight=2]\n a [label="x\\n", weight=3]; subgraph s { b -> "c d" [k=<l>] }\n'
    " a -> {b c} [size=8] // d\n}",
    "Standard Task Graph": "2\n0 0 0\n1 5 1 0\n2 6 2 0 1\n3 0 1 2\n# made by hand",
    "StarPU tasks.rec": "Model: m\nJobId: 1\nDependsOn: 7\nStartTime: 1.0\nEndTime: 2.0\n\n"
    "Model: m\nName: x\nJobId: 2\nDependsOn: 1\nModes: R W\nSizes: 8 9\n",
}
ODD = (None, True, "", "x", "5", "-1", "a\nb", "\ud800", -1, 0, 1.5, 7, 10**400, math.nan, math.inf)
VALUES = st.sampled_from([*ODD, [], {}, [7], [None], [[]], {"a": 1}])
NOT_FOR_PEOPLE = re.compile(r"\b\w*(Error|Exception)\b|Traceback|NoneType|\bNone\b|Expecting|char \d|<class")


def written(objects: list[Any]) -> str:
    return "\n".join(map(json.dumps, objects))


SAMPLES = {name: written(some) for name, some in JSON.items()} | TEXTS


def graph_or_words(text: str, folder: Path) -> TaskGraph | str:
    path = folder / "file"
    path.write_text(text, "utf-8")
    try:
        found = read(path)
    except InputError as error:
        said = str(error)
        assert said.startswith(f"--from {path}") or f"{path}" in said
        assert said.isprintable() and "allowed" in said
        assert not NOT_FOR_PEOPLE.search(said.replace(str(path), "")), said
        return said
    size = len(found.before)
    assert size == len(found.names) == len(found.durations) == len(found.cores) > 0
    assert found.bound().critical_path <= sum(found.durations) * (1 + 1e-9) < math.inf
    assert min(found.cores) > 0 and all(map(str.isprintable, found.labels or found.names))
    return found


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each list or object within a value, and a key of it."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_graphs(name: str, tmp_path: Path) -> None:
    found = graph_or_words(SAMPLES[name], tmp_path)
    assert isinstance(found, TaskGraph) and found.kind == name


@pytest.mark.parametrize("name", JSON)
@given(data=st.data())
def test_a_field_that_is_missing_or_odd(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    objects = copy.deepcopy(JSON[name])
    inside, key = data.draw(st.sampled_from([*places(objects)]))
    if data.draw(st.booleans()):
        del inside[key]
    else:
        inside[key] = data.draw(VALUES)
    graph_or_words(written(objects), tmp_path_factory.mktemp("odd"))


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
def test_a_text_that_is_cut(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = SAMPLES[name]
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    for cut in (text[:begin], text[:begin] + data.draw(st.text('{}[]",:- \n0xé', max_size=2)) + text[end:]):
        graph_or_words(cut, tmp_path_factory.mktemp("cut"))


@pytest.mark.parametrize("name", [one for one in JSON if one != "Chakra"])
def test_json_that_ends_early_is_refused_where_it_ends(name: str, tmp_path: Path) -> None:
    text = SAMPLES[name]
    for end in range(1, len(text)):
        assert "line 1" in str(graph_or_words(text[:end], tmp_path)) or end < len('{"taskgrain_graph"')


def test_an_entry_says_what_is_wrong_and_where() -> None:
    entry = Entry("event 17", {"ts": "x", "of": [{"n": 1}, 5]})
    for read_it, said in (
        (lambda: entry.amount("ts"), "event 17, ts: x is not allowed; allowed: a number from 0 on"),
        (lambda: entry.amount("dur"), "event 17, dur: nothing is not allowed"),
        (lambda: entry.whole("ts"), "event 17, ts: x is not allowed; allowed: a whole number from 0 on"),
        (lambda: entry.entries("of"), "event 17, of, entry 2: 5 is not allowed; allowed: an object"),
        (lambda: entry.text("of", "ts"), "event 17, of: [{'n': 1}, 5] is not allowed; allowed: a text"),
    ):
        with pytest.raises(InputError) as error:
            read_it()
        assert str(error.value).startswith(said)
    assert entry.known("dur") is None and entry.texts("none") == [] and entry.entry("none").fields == {}
