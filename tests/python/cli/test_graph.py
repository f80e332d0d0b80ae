"""`taskgrain graph`: what programs and people get from it."""

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import called
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskgrain._core import InvalidSpec, Run
from taskgrain.cli.main import main

Lines = list[dict[str, object]]


call = partial(called, "graph")


def steps(*words: object) -> Lines:
    out = call(*words).printed()
    return [json.loads(line) for line in out.splitlines()]


def test_a_line_a_step_with_both_directions() -> None:
    assert steps("--pattern", "tree", "--steps", 3, "--width", 3) == [
        {
            "step": 0, "first_point": 0, "width": 1, "dependence_set": 0,
            "dependences": [[]], "reverse_dependences": [[0, 1]],
        },
        {
            "step": 1, "first_point": 0, "width": 2, "dependence_set": 0,
            "dependences": [[0], [0]], "reverse_dependences": [[0, 1], [2]],
        },
        {
            "step": 2, "first_point": 0, "width": 3, "dependence_set": 0,
            "dependences": [[0], [0], [1]], "reverse_dependences": [[], [], []],
        },
    ]  # fmt: skip


def test_a_printed_graph_is_a_dag_file(tmp_path: Path) -> None:
    shape = ("--steps", 6, "--width", 7, "--radix", 3)
    out = call("--pattern", "random_nearest", *shape).printed()
    (tmp_path / "graph.json").write_text(out)
    again = steps("--pattern", "dag", "--dag", tmp_path / "graph.json")
    edges = [(line["dependences"], line["reverse_dependences"]) for line in again]
    assert edges == [(s["dependences"], s["reverse_dependences"]) for s in map(json.loads, out.splitlines())]


WORKFLOW = {"name": "x", "workflow": {"specification": {"tasks": [{"name": "a", "parents": []}]}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least one step"),
        (b"\0\1\2\xff", "line 1, column 1"),
        ('{"steps":[{"width":2}]}'.encode("utf-16"), "line 1, column 1"),
        (b"digraph {\n  a -> b;\n}\n", "line 1, column 1"),
        (json.dumps(WORKFLOW).encode(), "this is a WfCommons workflow"),
        (json.dumps(WORKFLOW, indent=1).encode(), "this is a WfCommons workflow"),
        (b'{"steps":[{"width":3000000000}]}', "step 0' is not allowed; allowed: a 'width' of 1 to 16777216"),
        (b'{"steps":[{"width":9223372036854775807}]}', "a 'width' of 1 to 16777216"),
        (b'{"steps":[{"width":1,"first_point":9000000000000000000}]}', "a 'first_point' of 0 to 16777215"),
        (b'{"steps":[{"width":2},{"width":1,"dependences":[[1,1]]}]}', "step 1, point 0"),
        (None, "a regular file"),
    ],
)
def test_a_file_that_is_no_dag_is_refused_in_a_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "graph.json"
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)
    said = call("--pattern", "dag", "--dag", file).refusal()
    assert said.startswith(f"taskgrain: dag: '{file}") and message in said and len(said.splitlines()) == 1


LAYERS = st.lists(st.lists(st.lists(st.integers(-1, 4), max_size=3), min_size=1, max_size=4), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=3) | LAYERS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["steps", "width", "first_point", "dependences", "x"]), inner)
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    layers=LAYERS,
    change=st.tuples(st.sampled_from(["width", "first_point", "dependences", "steps"]), JSON) | st.none(),
    indent=st.sampled_from([None, 1]),
)
def test_a_dag_is_read_as_it_was_written_or_refused(
    tmp_path: Path, layers: list[list[list[int]]], change: tuple[str, object] | None, indent: int | None
) -> None:
    written: Any = {"steps": [{"width": len(one), "dependences": one} for one in layers]}
    if change is not None:
        (written["steps"][-1] if layers and change[0] != "steps" else written)[change[0]] = change[1]
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(written, indent=indent))
    graph = {"pattern": "dag", "dag": str(file)}
    try:
        run = Run(json.dumps({"op": "run", "graphs": [graph], "validate": "off"}))
    except InvalidSpec as error:
        assert str(error).startswith(f"dag: '{file}")
        before = [range(0), *(range(len(one)) for one in layers)]
        right = all(
            len(set(deps)) == len(deps) and set(deps) <= set(points)
            for one, points in zip(layers, before, strict=False)
            for deps in one
        )
        assert change is not None or not layers or not right
        return
    assert run.steps() == len(written["steps"])
    for number, step in enumerate(written["steps"]):
        first = step.get("first_point", 0)
        assert run.points(0, number) == (first, first + step["width"] - 1)
        for row, deps in enumerate(step.get("dependences", [])):
            assert run.deps(0, number, first + row) == sorted(deps)


def test_stats_count_what_crosses_nodes() -> None:
    out = call(
        "--pattern", "stencil_1d", "--steps", 3, "--width", 4, "--stats", "--nodes", 2, "--json"
    ).printed()
    assert json.loads(out) == {
        "tasks": 12, "dependences": 20, "local": 16, "remote": 4, "most_dependences": 3, "nodes": 2,
    }  # fmt: skip


def test_a_summary_says_how_efficient_the_shape_lets_a_system_be() -> None:
    words = ("--summary", "--pattern", "dom", "--width", 64, "--cores", 64, "--json")
    out = call(*words, "--steps", 16).printed()
    few = json.loads(out)
    assert few == {
        "ramp": 64, "period": 1, "whole": True, "steps": 16, "tasks": 72, "critical_path": 16, "narrowest": 1,
        "widest": 8, "narrow_steps": 16, "time": 16, "cores": 64, "best_efficiency": 72 / (16 * 64),
    }  # fmt: skip
    out = call(*words).printed()
    whole = json.loads(out)
    assert (whole["steps"], whole["best_efficiency"]) == (1000, pytest.approx(0.937))
    out = call(*words, "--steps", 16, "--graphs", 8).printed()
    assert json.loads(out)["best_efficiency"] == 8 * few["best_efficiency"]


def test_a_summary_for_people() -> None:
    shown = call("--summary", "--pattern", "tree", "--width", 16, "--cores", 4)
    assert (shown.code, shown.err) == (0, "")
    assert [re.split("  +", line)[1] for line in shown.out.splitlines()] == [
        "after 4 steps it stays as it is",
        "200, as in the shortest run of a METG",
        "3151",
        "200 tasks",
        "1 to 16 tasks, 15.8 on average",
        "1 % have fewer tasks than cores",
        "at most 100 % on 4 cores",
    ]


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_drawing(tmp_path: Path, kind: str, start: bytes) -> None:
    file = tmp_path / f"graph.{kind}"
    assert call("--pattern", "fft", "--format", kind, "--output", file).code == 0
    assert file.read_bytes().startswith(start)


def test_a_drawing_on_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["graph", "--pattern", "tree", "--steps", "2", "--width", "2", "--format", "svg"])
    assert not ended.value.code
    drawn = capfdbinary.readouterr().out
    assert drawn.startswith(b"<svg") and drawn.endswith(b"</svg>\n")
    assert drawn.count(b"<circle") == 3 and drawn.count(b'class="edge"') == 2


def test_stats_for_people() -> None:
    words = ("--pattern", "stencil_1d", "--steps", 3, "--width", 4, "--stats")
    shown = call(*words, "--nodes", 2)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split("  ")[0] for line in shown.out.splitlines()] == [
        "tasks", "dependences", "a task has", "local of 2 nodes", "remote"
    ]  # fmt: skip
    assert "1.67 on average, at most 3" in shown.out
    assert "local of 1 node " in call(*words).printed()


def test_tasks_per_core_is_a_width() -> None:
    shown = call("--tasks-per-core", 3, "--cores", 1, "--steps", 5, "--stats", "--json")
    assert (shown.code, shown.err) == (0, "")
    assert json.loads(shown.out)["tasks"] == 15


def test_a_field_that_the_pattern_does_not_use_is_a_warning() -> None:
    shown = call("--pattern", "tree", "--radix", 5, "--fraction", 0.1)
    assert (shown.code, len(shown.out.splitlines())) == (0, 8)
    assert shown.err == "taskgrain: warning: --radix, --fraction: pattern tree does not use them\n"
    assert call("--pattern", "nearest", "--radix", 5).err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pattern", "nope"), "pattern: nope is not allowed; `taskgrain run --help` lists what is allowed"),
        (("--steps", "1.5"), "--steps: 1.5 is not allowed"),
        (("--pattern", "spread", "--radix", 5, "--width", 16, "--period", 5), "allowed: at most 4"),
        (("--steps", "1e4", "--format", "svg"), "at most 4096 tasks in a drawing"),
        (("--pattern", "dag"), "dag:"),
        (("--format", "svg", "--stats"), "--stats: give this or a --format of drawings, not both"),
        (("--summary", "--stats"), "--summary: give this, --stats, or a --format of drawings"),
        (("--summary", "--steps", "1e12"), "--steps x --width: 8000000000000 is not allowed"),
        (("--summary", "--pattern", "dag"), "dag:"),
        (("--nodes", 2), "--nodes is for --stats: give that too"),
        (("-o", "graph.json"), "--output is for a drawing: give --format svg or --format png too"),
        (("-o", "stats.txt", "--stats"), "--output is for a drawing"),
        (("-o", "/nowhere/graph.svg", "--format", "svg"), "graph.svg: cannot be written: No such file"),
        (("--width", 4, "--tasks-per-core", 4), "give this or --tasks-per-core, not both"),
        (("--pattern", "dom", "--steps", "1e18"), "at most 2^31 for pattern dom"),
        (
            ("--width", "1e18", "--stats"),
            "--steps x --width: 8000000000000000000 is not allowed; allowed: at most 4294967296 tasks",
        ),
        (("--steps", "1e12", "--stats"), "--steps x --width: 8000000000000 is not allowed; allowed: at most"),
    ],
)
def test_bad_input_ends_with_code_2(words: tuple[object, ...], message: str) -> None:
    assert message in call(*words).refusal()


def test_a_step_that_is_too_wide_for_a_line_is_refused() -> None:
    shape = ("--pattern", "fft", "--width", 100_000_000, "--steps", 1_000_000)
    said = call(*shape).refusal()
    assert "--width: 100000000 is not allowed; allowed: at most 4194304: a step is one line" in said
