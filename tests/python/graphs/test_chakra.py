"""Traces of training steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from program_graphs import Graph, graphs, made_of

from taskgrain.graphs.files import read
from taskgrain.words.errors import InputError


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
