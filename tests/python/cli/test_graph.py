"""`taskgrain graph`: what programs and people get from it, of a pattern and of a program's file."""

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import called
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskgrain._core import InvalidSpec, Run
from taskgrain.cli.main import main
from taskgrain.graphs.files import FORMATS

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
        (("-o", "graph.json"), "--output is for a drawing: give --format svg or --format png"),
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


def test_the_graph_of_a_program_is_bounded_and_written_in_steps(tmp_path: Path) -> None:
    program, written = tmp_path / "program.dot", tmp_path / "steps.json"
    program.write_text(
        "digraph { a [weight=2]; b [weight=3]; c [weight=4]; d [weight=0]; a -> {b c}; a -> d; c -> d }"
    )
    out = call("--from", program, "--cores", 8, "--output", written).printed()
    for line in ("work           9", "critical path  6", "at most 1.5 of 8 can be busy: it takes 6 or more"):
        assert line in out
    summary = call("--dag", written, "--summary", "--json").printed()
    assert json.loads(summary)["critical_path"] == 3
    told = json.loads(call("--from", program, "--cores", 8, "--json", "-o", written).printed())
    assert told["output"] == str(written)
    assert (told["work"], told["most_busy"], told["passed_on"]) == (9.0, 1.5, 0)


def test_the_help_names_each_format() -> None:
    said = " ".join(call("--help").printed().split())
    formats = {one.split()[0] for one in FORMATS} - {"trace"} | {"taskgrain::rt", "gzip"}
    assert [one for one in formats if one not in said] == []


def test_a_graph_without_times_says_where_they_would_be(tmp_path: Path) -> None:
    (tmp_path / "a.dot").write_text("digraph { a [cost=2]; b [exec_time=3]; a -> b }")
    out = call("--from", tmp_path / "a.dot").printed()
    assert "each counts as 1: no node has duration, runtime, time, weight or size" in out
    (tmp_path / "a.dot").write_text("digraph { a [time=2]; b; a -> b }")
    assert "no node" not in call("--from", tmp_path / "a.dot").printed()


def test_what_a_trace_has_and_its_graph_has_not_is_said(tmp_path: Path) -> None:
    task = {"ph": "X", "tid": 0, "name": "a", "ts": 0, "dur": 9, "args": {"task": 0, "waits": 0}}
    trace = {"rank": 1, "ranks": 2, "traceEvents": [task, {"ph": "X", "tid": 1, "ts": 0, "dur": 4}]}
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    out = call("--from", tmp_path / "trace.json").printed()
    assert "0: the trace, of rank 1, lacks what other ranks send; the critical path may be longer\n" in out
    assert "left out       1 event, 4.00 µs: futures, forks and loops\n" in out


@pytest.mark.parametrize(
    ("size", "then"), [(5000, " --output-bytes 5000"), (1 << 29, ""), (3, " --output-bytes 16")]
)
def test_as_many_bytes_are_suggested_as_fit(tmp_path: Path, size: int, then: str) -> None:
    tasks: list[dict[str, object]] = [{"id": one, "parents": ["a", "b"] * (one == "c")} for one in "abc"]
    tasks[0]["files"] = [{"link": "output", "size": size}]
    (tmp_path / "a.json").write_text(json.dumps({"workflow": {"tasks": tasks}}))
    written = tmp_path / "steps.json"
    out = call("--from", tmp_path / "a.json", "--output", written).printed()
    assert out.endswith(f"taskgrain metg --dag {written}{then}\n")
    assert "each as often as it is read (without 1 task of which the file has no size)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pattern", "fft"), "--pattern: the graph is that of --from; give --cores alone with it"),
        (("--steps", 3), "--steps: the graph is that of --from"),
        (("--summary",), "--from: give --cores, --format, --output and --json with it, and nothing else"),
        (("--format", "gif"), "--format: gif is not allowed"),
        (("--output", "/nowhere/x.svg"), "/nowhere/x.svg: cannot be written"),
        (("--output", "/nowhere/x.json"), "--output: /nowhere/x.json is not allowed"),
        (("--output", "x" * 300), "allowed: a file that can be written"),
        (("--output", "x.json.gz"), "--output: x.json.gz is not allowed; allowed: a name without .gz"),
        (("--output", "x.PDF"), "--output: x.PDF is not allowed; allowed: a drawing by .svg or .png"),
        (("--output", "x.SVG.GZ"), "--output: x.SVG.GZ is not allowed; allowed: a name without .gz"),
        (("--output", "program.dot"), "--output: program.dot is not allowed; allowed: another file than"),
    ],
)
def test_what_does_not_go_with_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.dot").write_text("digraph { a -> b }")
    assert message in call("--from", "program.dot", *words).refusal()
    assert Path("program.dot").read_text() == "digraph { a -> b }"


@pytest.mark.parametrize("chosen", [("--format", "svg"), ("--output", "{}.svg"), ("--output", "{}.png")])
def test_a_drawing_of_a_program(
    tmp_path: Path, chosen: tuple[str, str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "a.dot").write_text(
        'digraph { gemm_1 [weight=3]; "<b>" [weight=1]; gemm_1 -> "<b>" -> gemm_2 }'
    )
    chosen = (chosen[0], chosen[1].format(tmp_path / "drawn"))
    with pytest.raises(SystemExit):
        main(["graph", "--from", str(tmp_path / "a.dot"), *chosen])
    out = capfdbinary.readouterr().out
    drawn = out if chosen[0] == "--format" else Path(chosen[1]).read_bytes()
    assert chosen[0] == "--format" or out.endswith(f"{chosen[1]} is written\n".encode())
    if chosen[1].endswith("png"):
        assert drawn.startswith(b"\x89PNG")
        return
    assert {"gemm", "<b>", "a.dot"} <= {one.text for one in ElementTree.fromstring(drawn).iter()}


def test_a_drawing_of_a_large_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.dot").write_text("digraph { " + " ".join(f"t{n};" for n in range(4097)) + "}")
    said = call("--from", tmp_path / "a.dot", "--output", tmp_path / "a.svg").refusal()
    assert "at most 4096 in a drawing" in said and not (tmp_path / "a.svg").exists()


def test_the_kinds_with_most_work_are_named(tmp_path: Path) -> None:
    """A kind for each letter, of which the later ones have less work."""
    nodes = [f"{kind}_{n} [weight={26 - place}];" for place, kind in enumerate("abcdefghij") for n in (1, 2)]
    (tmp_path / "a.dot").write_text(f"digraph {{ {' '.join(nodes)} }}")
    out = call("--from", tmp_path / "a.dot").printed()
    table = [line.split() for line in out[out.index("most work") :].splitlines() if line.strip()][2:]
    assert [one[0] for one in table[:8]] == [*"abcdefgh"] and table[0][1:] == ["2", "52", "12", "%"]
    assert table[8] == ["2", "others", "4", "70", "16", "%"]
    found = json.loads(call("--from", tmp_path / "a.dot", "--json").printed())["kinds"]
    assert [one["name"] for one in found] == [*"abcdefghij"]
    assert sum(one["work"] for one in found) == 430 and sum(one["share"] for one in found) == pytest.approx(1)
