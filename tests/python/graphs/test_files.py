"""Files of other formats: all say the same graph, and what is wrong in them is named."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import Graph, graphs

from taskgrain.graphs import files
from taskgrain.graphs.files import read
from taskgrain.words.errors import InputError


def wfcommons(graph: Graph) -> str:
    tasks: list[dict[str, object]] = [
        {"id": f"t{n}", "parents": [f"t{k}" for k in one], "children": []}
        for n, one in enumerate(graph.before)
    ]
    files: list[dict[str, object]] = [{"id": "an input", "sizeInBytes": 1e9}]
    for n, one in enumerate(graph.outputs):
        tasks[n] |= {"inputFiles": ["an input"], "outputFiles": [f"a{n}", f"b{n}"]}
        files += [{"id": f"a{n}", "sizeInBytes": one}] if one is not None else []
        files += [{"id": f"b{n}", "sizeInBytes": 0}]  # of which alone a task's outputs are not known
    ran = [{"id": f"t{n}", "runtimeInSeconds": one} for n, one in enumerate(graph.durations)]
    workflow = {"specification": {"tasks": tasks, "files": files}, "execution": {"tasks": ran}}
    return json.dumps({"schemaVersion": "1.5", "workflow": workflow})


def wfcommons_1_4(graph: Graph) -> str:
    """Edges by the children alone, and the times beside them."""
    after = [[f"t{k}" for k, one in enumerate(graph.before) if n in one] for n in range(len(graph.before))]
    tasks: list[dict[str, object]] = [
        {"name": f"t{n}", "children": one, "runtimeInSeconds": graph.durations[n]}
        for n, one in enumerate(after)
    ]
    for n, size in enumerate(graph.outputs):
        written = [{"link": "output", "name": "a", "size": size}] if size is not None else []
        tasks[n]["files"] = [{"link": "input", "name": "b", "size": 10**9}, *written]
    return json.dumps({"workflow": {"tasks": tasks}})


def dot(graph: Graph) -> str:
    nodes = [f'  "t{n}" [label="<t{n}>", weight={one}]' for n, one in enumerate(graph.durations)]
    edges = [f"  t{k} -> {{ t{n} }} [color=red];" for n, one in enumerate(graph.before) for k in one]
    return "\n".join(["/* a graph */ strict digraph {", "node [shape=box]", *nodes, *edges, "}"])


def standard(graph: Graph) -> str:
    """The graph with the dummy tasks before and after all."""
    last = len(graph.before) + 1
    lines = [f"{len(graph.before)}", "0 0 0"]
    for n, one in enumerate(graph.before, 1):
        before = [k + 1 for k in one] or [0]
        lines.append(f"{n} {graph.durations[n - 1]} {len(before)} {' '.join(map(str, before))}")
    lines.append(f"{last} 0 {last - 1} {' '.join(map(str, range(1, last)))}")
    return "\n".join([*lines, "# made by hand"])


def tasks_rec(graph: Graph) -> str:
    """The graph with a task of StarPU's own, without a number, and dependences on no tasks."""
    records = ["%rec: task", "Model: a transfer"]
    for n, one in enumerate(graph.before):
        before = " ".join(map(str, (1000, *one)))
        end = 2.0 + 1e3 * graph.durations[n]
        records.append(f"Model: m\nJobId: {n}\nDependsOn: {before}\nStartTime: 2.0\nEndTime: {end}")
        if graph.outputs and graph.outputs[n] is not None:
            records[-1] += f"\nModes: R RW W \nSizes: 1000 {graph.outputs[n]} 0 "
    return "\n\n".join(records)


@given(graph=graphs())
@pytest.mark.parametrize("writer", [wfcommons, wfcommons_1_4, dot, standard, tasks_rec])
def test_each_format_says_the_graph(
    writer: Callable[[Graph], str], graph: Graph, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("graph") / "file"
    path.write_text(writer(graph))
    found = read(path)
    assert [sorted(one) for one in found.before] == [sorted(one) for one in graph.before]
    assert found.durations == pytest.approx(graph.durations) and found.untimed == 0
    assert list(found.outputs) == ([] if writer in (dot, standard) else list(graph.outputs))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a file of one of WfCommons, DOT"),
        ('{"workflow": {"tasks": [{"name": "a"}]}} x', "line 1: x is not allowed; allowed: nothing after"),
        ("hello", "a file of one of WfCommons, DOT"),
        ("\x00\x01", "a file of one of"),
        ("graph { a -- b }", "digraph: dependences have a direction"),
        ("digraph { a -> b -> c -> a }", "a → b → c → a is not allowed; allowed: a graph without cycles"),
        ("digraph { a -> a }", "a → a is not allowed"),
        ("digraph { }", "file with a task"),
        ("digraph { a [weight=-1] }", "time of a: -1"),
        ("digraph { a [weight=nan] }", "time of a: nan"),
        ("digraph { a ->", "a node, or { of a subgraph"),
        ("digraph { a", "a } for each {"),
        ("digraph { a [label=<b }", "line 1: <b }"),
        ("digraph { a [weight=3ms] }", "line 1: 3ms"),
        ("digraph {\n a [bold] }", "line 2: ] } is not allowed; allowed: ="),
        ("digraph {\na\n-> -- b }", "line 3: -- b } is not allowed; allowed: a node"),
        ("digraph { a [weight=1e308]; b [weight=1e308] }", "times whose sum is finite"),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": 1e308, "cores": 0.1},'
            ' {"id": "b", "runtime": 1e308, "cores": 0.1}]}}',
            "times whose sum is finite",
        ),
        (
            '{"taskgrain_graph": 1, "durations": [1e308, 1e308], "cores": [0.1, 0.1], "before": [[], [0]]}',
            "times whose sum is finite",
        ),
        ("digraph {\n\n a ? b }", "line 3: ? b }"),
        ("digraph { a } b", "nothing after the graph"),
        ("digraph " + "{ a " * 100_000, "fewer within each other"),
        ("{", "line 1: the end of the file is not allowed; allowed: JSON"),
        ("[" * 100_000, "fewer within each other"),
        ('{"a":' * 100_000, "so many lists and objects is not allowed; allowed: fewer within each other"),
        ('{"workflow": []}', "JSON, workflow: [] is not allowed; allowed: an object"),
        ('{"jobs": []}', "workflow.specification.tasks or workflow.tasks"),
        ('{"steps": []}', "--dag reads one that is in steps already"),
        ('{"workflow": {"tasks": [{"id": "a", "parents": ["b"]}]}}', "b → a: b is not allowed; allowed"),
        ('{"workflow": {"tasks": [{"id": "a"}, {"id": "a"}]}}', "an id that no other task has"),
        ('{"workflow": {"tasks": [{"id": "a", "runtimeInSeconds": NaN}]}}', "task a, runtimeInSeconds: NaN"),
        ('{"workflow": {"tasks": [{"id": "a", "runtimeInSeconds": "x"}]}}', "task a, runtimeInSeconds: x"),
        ('{"workflow": {"tasks": [{"id": "a", "cores": -4}]}}', "task a, cores: -4"),
        (
            '{"workflow": {"tasks": [{"id": "1", "name": "a"}, {"id": "2", "name": "a"},'
            ' {"id": "3", "parents": ["a"]}]}}',
            "a → 3: a is not allowed; allowed: an id, as several tasks have this name",
        ),
        ("2\n0 1 0\n1 1 2 0\n", "line 3: 1 tasks is not allowed; allowed: 2 tasks before task 1"),
        ("2\n0 1 0\n0 1 0\n", "line 3: 0 is not allowed"),
        ("2\n0 1 0\n1 -1 0\n", "line 3: 1 -1 0"),
        ("9\n0 1 0\n", "tasks: 1 is not allowed; allowed: 9"),
        ("1\n0 " + "9" * 5000 + " 0\n", "a task, its time"),
        ("9" * 150 + "\n0 1 0\n", "line 1: 999"),
        ("JobId: 1\n\nJobId: 1\n", "JobId: 1 is not allowed"),
        ("JobId: 1\nJobId: 2\n", "an empty line between two tasks"),
        ("0\n", "file with a task"),
        ('{"workflow": {"tasks": [{"id": "a", "runtime": 1' + "0" * 400 + "}]}}", "runtime: 1"),
        ('{"workflow": {"tasks": [{"id": "a", "runtime": 1' + "0" * 5000 + "}]}}", "thousands of digits"),
        ("name: x\non: push\n", "a file of one of WfCommons"),
        ("1\n\n\n# c\n0 0 0\n1 x 1 0\n", "line 6: 1 x 1 0"),
        ("JobId: 1\nStartTime: 5\nEndTime: 2\n", "time of 1: -0.003"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read(path)
    assert said in str(error.value) and str(path) in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, said in ((tmp_path, "a readable file"), (tmp_path / "none", "a readable file")):
        with pytest.raises(InputError, match=said):
            read(path)
    wide = tmp_path / "utf-16"
    wide.write_text("digraph { a }", "utf-16")
    with pytest.raises(InputError, match="a text in UTF-8"):
        read(wide)


def test_a_file_that_is_too_large_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff" * 9)
    monkeypatch.setattr(files, "_MOST_BYTES", 8)
    with pytest.raises(InputError, match="a file of at most"):
        read(path)


def test_memory_that_is_not_enough_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(text: str) -> None:
        raise MemoryError

    path = tmp_path / "file"
    path.write_text("digraph { a }")
    monkeypatch.setattr(files, "_reader", full)
    with pytest.raises(InputError, match="a smaller file: it needs more memory than there is"):
        read(path, "--graph")


@pytest.mark.parametrize("blank", ["\n", "#\n", "// x\n", "/**/"])
@pytest.mark.parametrize("file", ["{} digraph {{ a }}", 'digraph {{ a [label="{}"] }}'])
def test_blanks_take_no_memory_of_their_own(tmp_path: Path, blank: str, file: str) -> None:
    path = tmp_path / "file"
    path.write_text(text := file.format(blank * 100_000))
    tracemalloc.start()
    read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(text) + 4_000_000


@given(st.text('dgraph{}[]->=;:,"<>#/*\n 0.1', max_size=40))
def test_any_text_is_a_graph_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("graph") / "file"
    path.write_text(f"digraph {{{text}")
    try:
        read(path)
    except InputError as error:
        assert str(path) in str(error)


def test_dependences_on_tasks_that_a_file_of_starpu_lacks_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "tasks.rec"
    path.write_text("JobId: 1\nDependsOn: 7 8\n\nJobId: 2\nDependsOn: 1 7\n")
    found = read(path)
    assert (found.dependences, found.no_order) == (1, "the file lacks the tasks of 3 more dependences")
    path.write_text("JobId: 1\n\nJobId: 2\nDependsOn: 1\n")
    assert read(path).no_order == ""


def test_names_that_tasks_of_wfcommons_share_are_no_error_where_ids_are_given(tmp_path: Path) -> None:
    tasks = [{"id": "a", "name": "a"}, {"id": "2", "name": "a"}, {"id": "3", "parents": ["a", "2"]}]
    (tmp_path / "file").write_text(json.dumps({"workflow": {"tasks": tasks}}))
    assert read(tmp_path / "file").before == [(), (), (0, 1)]


def test_older_and_odder_instances_of_wfcommons(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tasks = [
        {"name": "a", "id": "ID1", "runtime": 1},
        {"name": "b", "id": "ID2", "parents": ["a"], "cores": 4},
    ]
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps({"schemaVersion": "\x1b[31m", "workflow": {"jobs": tasks}}).encode()
    )
    found = read(path)
    assert (found.kind, found.names, found.before) == ("WfCommons", ("ID1", "ID2"), [(), (0,)])
    assert (found.durations, found.cores, found.untimed) == ([1.0, 0.0], [1.0, 4.0], 1)
