"""`taskgrain graph --from`: what the graph of a program allows, which tasks have the work, and a drawing."""

import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import called

from taskgrain.cli.main import main
from taskgrain.graphs.files import FORMATS

call = partial(called, "graph")


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
def test_a_drawing(
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


def test_a_drawing_of_many_tasks_is_refused(tmp_path: Path) -> None:
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
