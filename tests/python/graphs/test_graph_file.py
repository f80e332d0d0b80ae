"""The file that `taskgrain record` writes: any graph is read back as it was, and bad files are refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import graphs

from taskgrain.graphs import graph_file
from taskgrain.graphs.files import read
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words.errors import InputError

AMOUNTS = st.floats(0, 1e9)


@st.composite
def task_graphs(draw: st.DrawFn) -> TaskGraph:
    drawn = draw(graphs())
    before, size = drawn.before, len(drawn.before)

    def column(values: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(values, min_size=size, max_size=size))

    names = draw(st.lists(st.text(max_size=3).filter(str.isprintable), min_size=size, max_size=size))
    cores = draw(st.just([1.0] * size) | st.builds(column, st.just(st.floats(0.5, 1e9))))
    unit = draw(st.sampled_from(["s", "task", ""]))
    untimed, program = draw(st.integers(0, size)), draw(st.text(max_size=3))
    times, kind, outputs = column(AMOUNTS), graph_file.FORMAT, [*drawn.outputs]
    return TaskGraph(tuple(names), [*before], times, cores, untimed, unit, kind, program, outputs=outputs)


@given(graph=task_graphs(), name=st.sampled_from(["graph.json", "graph.json.gz"]))
def test_a_graph_is_read_as_it_was_written(
    graph: TaskGraph, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("graph") / name
    path.write_bytes(graph_file.stored(graph, path))
    assert read(path) == graph and (path.read_bytes()[0] == 0x1F) == (path.suffix == ".gz")


def test_a_compressed_file_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.gz"
    whole = graph_file.stored(TaskGraph(["a"], [()], [1.0], [1.0], 0, "s", ""), path)
    for data in (whole[:-9], whole[:12] + b"\xff" * 9, whole[:-8] + bytes(8)):
        path.write_bytes(data)
        with pytest.raises(InputError, match="a whole file of gzip"):
            read(path)


def test_a_file_by_hand_may_leave_out_all_but_the_dependences(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{ "taskgrain_graph": 1, "before": [[], [0, 0], [1, 0]] }')
    found = read(path)
    assert found.names == ("0", "1", "2") and found.before == [(), (0,), (1, 0)]
    assert found.durations == found.cores == [1.0] * 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"taskgrain_graph": 2}, "taskgrain_graph: 2 is not allowed; allowed: 1"),
        ({"duration": [1, 1]}, "key: duration is not allowed; allowed: taskgrain_graph"),
        ({"before": 3}, "before: 3 is not allowed; allowed: a list"),
        ({"before": []}, "at least one task"),
        ({"before": [[], [2]]}, "task 1: [2] is not allowed; allowed: a list of numbers of tasks, 0 to 1"),
        ({"before": [[], [True]]}, "before, task 1"),
        ({"before": [[1], [0]]}, "a graph without cycles"),
        ({"durations": [1]}, "1 entries is not allowed; allowed: a list with an entry for each of 2"),
        ({"durations": [1, -1]}, "durations, task 1: -1"),
        ({"durations": [1, float("nan")]}, "durations, task 1: NaN"),
        ({"durations": [1e308, 1e308]}, "times whose sum is finite"),
        ({"cores": [1, "5"]}, "cores, task 1: '5'"),
        ({"cores": [1, 0]}, "cores, task 1: 0 is not allowed; allowed: a number above 0"),
        ({"durations": [1, True]}, "durations, task 1: true"),
        ({"outputs": [None, "5"]}, "outputs, task 1: '5'"),
        ({"untimed": 1.5}, "untimed: 1.5"),
        ({"taskgrain_graph": True}, "taskgrain_graph: true"),
        ({"program": 5}, "program: 5"),
        ({"names": ["a", 5], "named": [0, 1]}, "names: 5 is not allowed; allowed: texts"),
        ({"names": ["a"], "named": [0, 1.5]}, "named, task 1: 1.5"),
        ({"unit": "ms"}, "unit: ms"),
        ({"untimed": 3}, "untimed: 3"),
        ({"names": ["a"], "named": [0, 1]}, "named, task 1: 1 is not allowed; allowed: the number of"),
        ({"names": ["a"]}, "named: 0 entries"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"taskgrain_graph": 1, "before": [[], [0]]} | change))
    with pytest.raises(InputError) as error:
        read(path)
    assert said in str(error.value) and str(path) in str(error.value)


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"taskgrain_graph": 1, "before": [[], [0]], "before": [[], []]}')
    with pytest.raises(InputError, match="key: before is not allowed; allowed: each key once"):
        read(path)
