"""A graph of any shape in steps: the same tasks, dependences and times."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import Graph, graphs, made_of

from taskgrain._core import Run
from taskgrain.graphs import steps as steps_module
from taskgrain.graphs.steps import Steps, in_steps
from taskgrain.graphs.task_graph import made
from taskgrain.words.errors import InputError


def of_core(folder: pytest.TempPathFactory, steps: Steps) -> Run:
    """The graph as the core reads it."""
    path = folder.mktemp("steps") / "graph.json"
    path.write_text(steps.text())
    graph = {"pattern": "dag", "dag": str(path), "steps": 1, "width": 1}
    return Run(json.dumps({"op": "run", "graphs": [graph], "validate": "off"}))


@given(graphs())
def test_the_core_has_each_task_with_its_time_after_those_that_it_depends_on(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph
) -> None:
    """A task is told by its duration, and a point of no time passes on the one task that it reads."""
    graph = Graph(graph.before, tuple(range(1, len(graph.before) + 1)))
    steps = in_steps(made_of(graph))
    run = of_core(tmp_path_factory, steps)
    total = sum(graph.durations)
    found: dict[int, list[int]] = {}
    before: dict[int, int] = {}
    for step in range(run.steps()):
        first, last = run.points(0, step)
        here = {}
        weights = run.weights(0, step) or [1.0] * (last + 1 - first)  # of a graph of one task
        for point, weight in zip(range(first, last + 1), weights, strict=True):
            reads = [before[one] for one in run.deps(0, step, point)]
            if weight == 0.0:
                (here[point],) = reads
                continue
            task = round(weight * total / run.tasks) - 1
            here[point] = task
            found[task] = sorted(reads)
        before = here
    assert all({*found[task]} <= {*before} for task, before in enumerate(graph.before))
    assert closure([found[task] for task in range(len(found))]) == closure(graph.before)
    assert run.tasks == steps.points


def closure(graph: Sequence[Sequence[int]]) -> list[set[int]]:
    """All tasks before each, which come earlier in the list."""
    found: list[set[int]] = []
    for before in graph:
        found.append({*before}.union(*(found[one] for one in before)))
    return found


@given(graphs())
def test_fewest_steps_and_no_output_is_passed_on_for_longer_than_it_must(graph: Graph) -> None:
    steps = in_steps(made_of(graph))
    unit = made_of(Graph(graph.before, tuple([1] * len(graph.before))))
    assert steps.number == unit.bound().critical_path
    earliest = [0] * len(graph.before)
    for task, before in enumerate(graph.before):
        earliest[task] = max((earliest[one] + 1 for one in before), default=0)
        assert all(steps.levels[one] < steps.levels[task] for one in before)
        readers = [steps.levels[n] for n, one in enumerate(steps.graph.before) if task in one]
        assert steps.passes[task] == max([0, *(one - steps.levels[task] - 1 for one in readers)])
    readers_of = [
        [earliest[n] for n, one in enumerate(graph.before) if t in one] for t in range(len(earliest))
    ]
    early = sum(max([0, *(one - earliest[t] - 1 for one in all_)]) for t, all_ in enumerate(readers_of))
    assert steps.passed_on <= early


def test_a_task_that_is_read_late_comes_late() -> None:
    """`late` has no input, and the end of a chain of four alone reads it."""
    chain = [("b", "a"), ("c", "b"), ("d", "c"), ("d", "late")]
    assert in_steps(made("test", dict.fromkeys(["a", "b", "c", "d", "late"], 1.0), chain)).passed_on == 0


@given(graphs(), st.integers(1, 4))
def test_the_core_sets_the_same_bound(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph, cores: int
) -> None:
    task_graph = made_of(graph)
    steps = in_steps(task_graph)
    run = of_core(tmp_path_factory, steps)
    if not run.weights(0, 0):
        return  # of tasks of one length it knows more
    mean = sum(graph.durations) / steps.points
    assert run.bound(cores)["time"] * mean == pytest.approx(task_graph.bound().time(cores), rel=1e-5)


def test_tasks_of_one_length_need_no_weights() -> None:
    assert "weights" not in in_steps(made("test", dict.fromkeys("ab", 2.0), [("b", "a")])).text()
    assert "weights" not in in_steps(made("test", dict.fromkeys("ab", 0.0), [("b", "a")])).text()


def test_a_file_that_the_core_would_not_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    few = in_steps(made("test", {"a": 1.0, "b": 2.0}, [("b", "a")]))
    monkeypatch.setattr(steps_module, "_MOST_BYTES", len(few.text()))
    assert few.text()
    monkeypatch.setattr(steps_module, "_MOST_BYTES", len(few.text()) - 1)
    with pytest.raises(
        InputError, match=r"mine: one of 2 points in steps is not allowed; allowed: one whose"
    ):
        few.text("mine")


def test_steps_of_a_long_chain_are_soon_written() -> None:
    n = 20_000
    chain = made("test", {str(k): float(k) for k in range(n)}, [(str(k + 1), str(k)) for k in range(n - 1)])
    assert len(in_steps(chain).text()) > n
