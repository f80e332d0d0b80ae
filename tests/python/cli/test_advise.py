"""`taskgrain advise`, with simulated systems: from folders, and by measuring."""

import html
import json
import re
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from results_folder import change

from taskgrain.cli.advise import with_defaults
from taskgrain.graphs.files import read
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.measure.record import CellState

ASKED = ("advise", "--at", "20us", "--neighbours", "5", "--output-bytes", "4K")


def answers(text: str) -> dict[str, Any]:
    return {one["system"]: one for one in json.loads(text)["answers"]}


def test_what_is_measured_is_kept_and_answers_again(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = (*ASKED, "--systems", systems)
    measured = taskgrain(*words, "--measure", "-q", "-o", tmp_path / "kept").printed()
    assert measured.splitlines()[1] == "Tasks of 20 µs reach 90 % with fast (simulated)."
    again = taskgrain(*words, "--from", tmp_path / "kept", "--json").printed()
    value = json.loads(again)
    assert value["question"]["workload"].startswith("nearest/radix=6/width=")
    assert (value["notes"], value["interrupted"]) == ([], False)
    fast = answers(again)["fast"]
    assert fast["efficiency"]["value"] == pytest.approx(20 / 21, rel=0.03)
    assert [one["verdict"] for one in fast["levels"]] == ["yes"] * 3
    needed = fast["levels"][2]["needed"]
    assert needed["low"] < 9e-6 < needed["high"] and fast["source"]["folder"] == str(tmp_path / "kept")


def test_only_what_is_missing_is_measured(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = (*ASKED, "--systems", systems, "--json", "-q")
    kept = tmp_path / "kept"
    assert taskgrain(*words, "--measure", "--system", "fast", "-o", kept).code == 0
    names = ("--system", "fast,faulty,absent")
    found = answers(taskgrain(*words, "--from", kept, "--measure", *names, "-o", tmp_path / "more").printed())
    assert (found["fast"]["source"]["now"], found["faulty"]["source"]["now"]) == (False, True)
    assert found["absent"]["problem"] == "it cannot run here: no program no-such-x"
    lines = (tmp_path / "more" / "runs.jsonl").read_text()
    assert "faulty/nearest" in lines and "fast/nearest" not in lines


def test_what_is_odd_about_a_folder_is_said_as_everywhere(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    taskgrain(*ASKED, "--systems", systems, "--measure", "-q", "-o", kept)
    with (kept / "runs.jsonl").open("a") as file:
        file.write("garbage\n{")
    words = (*ASKED, "--systems", systems, "--from", kept, "--from", kept)
    said = taskgrain(*words)
    assert said.code == 0
    assert said.err == taskgrain("export", kept).err and said.err.count("\n") == 2
    assert [f"taskgrain: {one}\n" for one in json.loads(taskgrain(*words, "--json").out)["notes"]] == (
        said.err.splitlines(keepends=True)
    )


def test_an_interruption_is_no_end_of_the_budget(
    taskgrain: Command, systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("taskgrain.measure.runner.Runner._measure_round", interrupt)
    words = (*ASKED, "--systems", systems, "--measure", "-q")
    ended = taskgrain(*words)
    assert ended.code == 130
    assert "Nothing is known of fast: it was interrupted before it was measured." in ended.out
    assert ended.err == "taskgrain: interrupted; nothing is kept without --output\n"
    kept = taskgrain(*words, "-o", tmp_path / "kept")
    assert kept.err == "taskgrain: interrupted; the same command goes on from here\n"


def test_an_interruption_leaves_the_answer_of_the_first_round(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object, group: Sequence[CellState]) -> Iterator[str]:
        if group[0].experiment.rounds and not group[0].experiment.preparing:
            raise KeyboardInterrupt
        return iter(())

    monkeypatch.setattr("taskgrain.measure.runner.Runner._sentences", interrupted)
    ended = taskgrain(*ASKED, "--systems", systems, "--measure", "-q")
    assert ended.code == 130
    assert "Tasks of 20 µs reach about 95 % with fast (simulated), by one round" in ended.out


def test_a_budget_that_is_too_short_for_all_answers_for_some(taskgrain: Command, systems: Path) -> None:
    """A run of 1000 steps of 16 tasks takes 2.4 s on two cores, and a system needs some of them."""
    words = ("advise", "--at", "300us", "--pattern", "stencil_1d", "--width", "16", "--steps", "1000")
    names = ("--systems", systems, "--system", "fast,faulty,picky", "--cores", "2")
    found = taskgrain(*words, *names, "--measure", "--budget", "24", "-q").printed()
    assert "Tasks of 0.30 ms reach " in found and "with fast (simulated)" in found
    assert re.search(
        "Nothing is known of picky: a budget of 24 s is too short for more than 2 systems with such tasks; "
        "raise --budget to [34]0 s, which has room for all, or choose by --system.",
        found,
    )


def test_a_failure_is_no_answer(taskgrain: Command, systems: Path) -> None:
    words = ("advise", "--at", "20us", "--pattern", "tree", "--systems", systems, "--system", "faulty")
    result = taskgrain(*words, "--measure", "-q")
    assert result.code == 1
    assert "Nothing is known of faulty: validation: pattern: tree is not allowed" in result.out


def test_another_workload_is_not_taken_for_the_answer(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    taskgrain(*ASKED, "--systems", systems, "--measure", "-q", "-o", kept)
    other = taskgrain("advise", "--at", "20us", "--like", "halo-2d", "--systems", systems, "--from", kept)
    assert other.code == 1
    assert "No folder has a result for these tasks." in other.out
    assert f"{kept}: has nearest/radix=6/width=" in other.err and "not what was asked" in other.err


def test_results_of_another_machine_do_not_stand_beside_what_is_measured(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    taskgrain(*ASKED, "--systems", systems, "--measure", "-q", "-o", kept)
    change(kept, {"machine": "elsewhere"}, kind=["session"])
    words = (*ASKED, "--systems", systems, "--from", kept, "--json", "-q")
    value = json.loads(taskgrain(*words, "--measure").out)
    assert value["notes"][0] == f"{kept}: is of another machine, and not used beside what is measured"
    assert value["answers"][0]["source"]["now"] is True
    alone = answers(taskgrain(*words).out)
    assert alone["fast"]["source"]["now"] is False, "by itself it answers for its machine"


def test_what_is_left_open_has_its_default() -> None:
    assert with_defaults({}) == {"tasks_per_core": "8"}
    assert with_defaults({"width": "3"}) == {"width": "3"}
    assert with_defaults({"tasks_per_core": "2"}) == {"tasks_per_core": "2"}
    assert with_defaults({"like": "fft"}) == {"like": "fft"}
    assert with_defaults({"pattern": "dag"}) == {"pattern": "dag"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--at: is missing; give the time of a task, such as 20us"),
        (["--at", "20us"], "--from: give a results folder to answer from, or --measure"),
        (["--at", "20us", "--from", "/nowhere"], "/nowhere/runs.jsonl: there is no such file"),
        (["--at", "20us", "--iterations", "garbage"], "--iterations: --at says how long the tasks are"),
        (["--at", "20us", "--from", "r", "--steps", "9"], "--steps is for --measure"),
        (["--at", "20us", "--from", "r", "--isa", "avx2"], "--isa is for --measure"),
        (["--at", "20us", "--budget", "9"], "--budget is for --measure"),
        (["--at", "20us", "--output", "x"], "--output is for --measure"),
        (["--at", "20us", "--measure", "--scale", "2"], "--scale is for --graph"),
        (["--at", "20us", "--measure", "--unit", "2"], "--unit is for --graph"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    assert message in taskgrain("advise", "--systems", systems, *words).refusal()


def test_what_is_simulated_does_not_stand_beside_what_is_measured(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    for name in ("kept", "other"):
        assert taskgrain(*ASKED, "--systems", systems, "--measure", "-q", "-o", tmp_path / name).code == 0
    file = tmp_path / "other" / "runs.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for one in lines:
        one.pop("simulated", None)
        one |= {"cell": "real" + one["cell"].removeprefix("fast")} if "cell" in one else {}
        one |= {"system": "real"} if "system" in one else {}
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    words = (*ASKED, "--from", tmp_path / "kept")
    assert "reach 90 % with fast (simulated)." in taskgrain(*words).out
    both = taskgrain(*words, "--from", tmp_path / "other")
    assert "reach 90 % with real." in both.out and "fast" not in both.out
    assert "taskgrain: fast: left out, as simulated and not measured like the others" in both.err


def test_a_folder_of_a_larger_machine_answers_for_its_cores(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    taskgrain(*ASKED, "--systems", systems, "--width", "64", "--measure", "-q", "-o", kept)
    change(kept, {"cores": [*range(4096)]}, kind=["session"])
    words = (*ASKED, "--width", "64", "--cores", "4096", "--systems", systems)
    assert answers(taskgrain(*words, "--from", kept, "--json").out)["fast"]["efficiency"]["value"]
    absurd = taskgrain(*words, "--cores", "9999999999", "--from", kept).refusal()
    assert "--cores: 9999999999 is not allowed; allowed: 1 to 1048576" in absurd
    assert "--cores: 4096 is not allowed" in taskgrain(*words, "--measure").refusal()


PROGRAM = """digraph program {
  load [duration=2]; left [duration=6]; right [duration=5]; store [duration=2];
  load -> {left right} -> store; load -> store;
}"""


def test_the_graph_of_a_program(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    (tmp_path / "program.dot").write_text(PROGRAM)
    words = ("advise", "--graph", tmp_path / "program.dot", "--unit", "10us", "--systems", systems)
    measured = taskgrain(*words, "--system", "fast", "-q", "-o", tmp_path / "kept", "--cores", "1").printed()
    head, it_has, bound, *_ = measured.splitlines()
    assert head == "program.dot, 1 core"
    assert it_has == "It has 4 tasks of 20 µs to 60 µs, half of them at most 50 µs, together 150 µs."
    assert bound.startswith("No runtime is quicker than 150 µs on 1 core. More than 1.5 cores gain nothing")
    (tmp_path / "program.dot").rename(tmp_path / "elsewhere.dot")
    words = ("advise", "--graph", tmp_path / "elsewhere.dot", *words[3:], "--cores", "1")
    value = json.loads(taskgrain(*words, "--from", tmp_path / "kept", "--json").printed())
    assert value["graph"] == {
        "file": "elsewhere.dot", "tasks": 4, "work": pytest.approx(150e-6), "steps": 3, "passed_on": 0,
        "untimed": 0, "critical_path": pytest.approx(100e-6), "least_time": pytest.approx(150e-6),
    }  # fmt: skip
    (fast,) = value["answers"]
    assert fast["cost"]["time"]["value"] == pytest.approx(154e-6, rel=0.02)  # a task costs 1 µs
    assert fast["cost"]["overhead"] == pytest.approx(1e-6, rel=0.4) and fast["cost"]["shorter"] == 0.0
    shown = taskgrain("report", tmp_path / "kept", "--json")
    (same,) = json.loads(shown.out)["advice"]
    assert same["graph"] == value["graph"] | {"file": "program.dot"} and same["question"]["cores"] == 1
    assert [one["cost"] for one in same["answers"]] == [one["cost"] for one in value["answers"]]
    page = html.unescape((tmp_path / "kept" / "report.html").read_text())
    said = taskgrain(*words, "--from", tmp_path / "kept").out.splitlines()
    (row,) = (line for line in said if line.startswith(" fast"))
    assert said[2] in page and all(f">{one}</td>" in page for one in re.split(" {2,}", row.strip())), said
    other = taskgrain(*words, "--from", tmp_path / "kept", "--scale", "10")
    assert other.code == 1 and "together 1.50 ms" in other.out and "is not known: the runs were" in other.out
    near = taskgrain(*words, "--from", tmp_path / "kept", "--scale", "1.1", "--json")
    (fast,) = json.loads(near.out)["answers"]
    assert near.code == 0 and fast["cost"]["time"]["value"] == pytest.approx(169e-6, rel=0.02)
    other = taskgrain(*words, "--cores", "2", "--from", tmp_path / "kept")
    assert other.code == 1 and ": 1 core; not what" in other.err
    assert "has dag/dag=program.steps.json" in other.err


def test_no_task_time_reaches_more_than_the_shape_of_a_program_allows(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    chain = "a [duration=2]; b [duration=3]; c [duration=1]; d [duration=1]; a -> b -> c; a -> d"
    (tmp_path / "chain.dot").write_text(f"digraph chain {{ {chain} }}")
    words = ("--graph", tmp_path / "chain.dot", "--unit", "10us", "--systems", systems, "--cores", "2")
    measured = taskgrain("advise", *words, "--system", "fast", "-q", "-o", tmp_path / "kept")
    assert measured.code == 0, measured.err
    (tmp_path / "kept").rename(tmp_path / "moved")
    shown = taskgrain("report", tmp_path / "moved", "--at", "1ms", "--json")
    (fast,) = json.loads(shown.out)["at"]["cells"]
    assert [one["verdict"] for one in fast["levels"]] == ["yes", "never", "never"], fast
    page = html.unescape((tmp_path / "moved" / "report.html").read_text())
    assert page.count("no task is long enough: this graph allows 58 % at most") == 2
    assert "keeps 1.17 of them busy, 58 % of their time." in page


def test_the_budget_begins_when_the_graph_is_read(
    taskgrain: Command, systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.dot").write_text(PROGRAM)
    words = ("--graph", tmp_path / "program.dot", "--unit", "10us", "--systems", systems, "--system", "fast")

    def slow(*_: object) -> TaskGraph:
        time.sleep(1.2)
        return read(tmp_path / "program.dot")

    monkeypatch.setattr("taskgrain.graphs.files.read", slow)
    short = taskgrain("advise", *words, "--cores", "1", "--budget", "1s", "-q").refusal()
    said = r"taskgrain: --budget: 1\.00 s is not allowed; allowed: more than \d\.\d s, for"
    assert re.match(said, short)
    held = taskgrain("advise", *words, "--cores", "1", "--budget", "9s", "-o", tmp_path / "kept")
    assert held.code == 0, held.err
    assert tomllib.loads((tmp_path / "kept/study.toml").read_text())["budget"] < 9, "it answers, too"
    lines = map(json.loads, (tmp_path / "kept/runs.jsonl").read_text().splitlines())
    assert min(one["elapsed"] for one in lines if one.get("elapsed")) >= 1.2


def test_a_short_budget_has_room_for_fewer_systems(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    (tmp_path / "program.dot").write_text(PROGRAM)
    words = ("advise", "--graph", tmp_path / "program.dot", "--unit", "10ms", "--systems", systems)
    found = taskgrain(*words, "--system", "fast,faulty,picky", "--cores", "1", "--budget", "4.5s", "-q")
    said = "a budget of 4.5 s is too short for more than 2 systems with such tasks; raise"
    assert said in found.out, found.out + found.err


def test_a_graph_is_kept_with_its_results_and_replaces_nothing(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.dot").write_text(PROGRAM)
    (tmp_path / "other.dot").write_text(PROGRAM.replace("duration=6", "duration=7"))
    words = ("--unit", "10us", "--systems", systems, "--system", "fast", "-q", "--cores", "1")
    assert taskgrain("advise", "--graph", tmp_path / "program.dot", *words, "-o", tmp_path / "kept").code == 0
    kept = (tmp_path / "kept" / "program.steps.json").read_bytes()
    refused = taskgrain("advise", "--graph", tmp_path / "other.dot", *words, "-o", tmp_path / "kept")
    assert refused.code == 2 and refused.err.startswith("taskgrain: --output: ")
    assert (tmp_path / "kept" / "program.steps.json").read_bytes() == kept
    (tmp_path / "link").symlink_to(tmp_path)
    again = taskgrain("advise", "--graph", tmp_path / "program.dot", *words, "-o", tmp_path / "link/kept")
    assert again.code == 0, "the same folder by another path: " + again.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "program.steps.json").write_text("mine")
    for output in (tmp_path / "full", tmp_path, tmp_path / "program.dot", "/dev/null"):
        refused = taskgrain("advise", "--graph", tmp_path / "program.dot", *words, "-o", output).refusal()
        assert refused.startswith("taskgrain: --output: "), output
    assert {one.name for one in tmp_path.iterdir()} >= {"kept", "full"}
    assert (tmp_path / "full" / "program.steps.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--unit", "1us", "--at", "2us"], "--at: --graph says how long"),
        (["--unit", "1us", "--width", "3"], "--width: the graph is that of --graph"),
        (["--unit", "0us"], "--unit: 0us is not"),
        ([], "--unit: '' is not allowed"),
        (["--unit", "1us", "--scale", "0"], "--scale: 0 is not"),
        (["--unit", "1us", "--scale", "nan"], "--scale: nan is not"),
    ],
)
def test_refusals_of_graphs(taskgrain: Command, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "program.dot").write_text(PROGRAM)
    found = taskgrain("advise", "--graph", tmp_path / "program.dot", *words).refusal()
    assert found.startswith(f"taskgrain: {message}")
