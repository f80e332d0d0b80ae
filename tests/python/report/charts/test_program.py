"""The charts of the graph of a program, and the answers that they rest on."""

from pathlib import Path

import pytest
import results_folder
from drawn_chart import draw
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import Graph, graphs, made_of

from taskgrain.answers import data, task_times
from taskgrain.answers.advise import Question, answer
from taskgrain.answers.data import Results
from taskgrain.answers.program_words import reached
from taskgrain.cli import report_table
from taskgrain.graphs import graph_file
from taskgrain.graphs.task_graph import TaskGraph, made
from taskgrain.report import matrix
from taskgrain.report.charts import program
from taskgrain.report.charts.chart import NO_CELL
from taskgrain.report.figures import of_chart
from taskgrain.results import store

CHAIN = made("test", {f"t{n}": 2e-6 for n in range(10)}, [(f"t{n + 1}", f"t{n}") for n in range(9)], "s")


def kept(folder: Path, graph: TaskGraph = CHAIN, asked: float = 2e-6, slower: float = 1.0) -> Results:
    """The results of two systems with the tasks of a graph, of which one takes twice as long. By the
    reference, tasks take so many times as long as was asked."""
    lines = []
    for system, efficiency in (("slow", 0.2), ("<quick>", 0.4)):
        cell = results_folder.cell_line(system, "dag")
        ended = results_folder.metg_line(str(cell["cell"]), 4e-6) | dict.fromkeys(("metg", "low", "high"))
        ended["ending"] = "at"
        point = {"granularity": slower * asked / efficiency, "efficiency": efficiency, "asked": asked}
        ends = {"low": 0.9, "high": 1.1}
        point |= {
            f"{name}_{end}": point[name] * by
            for name in ("granularity", "efficiency")
            for end, by in ends.items()
        }
        lines += [cell, ended | {"curve": [point | {"iterations": 1000, "repeats": 9}]}]
    results_folder.write(folder, lines)
    (folder / store.GRAPH).write_text(graph_file.write(graph))
    return data.read(folder)


def test_each_system_has_its_time_and_what_a_task_costs(tmp_path: Path) -> None:
    found = kept(tmp_path)
    plots = {one.heading: one for one in program.plots(found)}
    assert [*plots] == ["Tasks at once", "How long its tasks are", "Time with each system"]
    times = {row["system"]: row["x"] for rows in plots["Time with each system"].own.values() for row in rows}
    assert times == {"<quick>": pytest.approx(25e-6), "slow": pytest.approx(50e-6)}, (
        "20 µs of work on 2 cores"
    )
    own = plots["How long its tasks are"].own
    assert [own[at][0]["overhead"] for at in (1, 0)] == [pytest.approx(0.5e-6), pytest.approx(3e-6)]
    assert [own[at][0]["share"] for at in (1, 0)] == [0.0, 1.0], "tasks take 2 µs"
    for figure in of_chart(program, found):
        assert draw(figure).marks
    intro = str(program.SECTION.intro(found))
    assert "&lt;quick&gt;" in intro and "<quick>" not in intro


def test_the_quickest_are_drawn_first(tmp_path: Path) -> None:
    found = kept(tmp_path)
    assert matrix.drawn(found, matrix.of(found), 2) == ["<quick>", "slow"] != [*found.systems]


def test_the_graph_has_tasks_of_the_length_that_was_measured(tmp_path: Path) -> None:
    found = kept(tmp_path, asked=1e-6)
    (one,) = task_times.of_the_study(found)
    assert one.question.program and one.question.program.ranked == pytest.approx([1e-6] * 10)


def test_a_reference_that_changed_is_told_from_tasks_of_other_times(tmp_path: Path) -> None:
    found = kept(tmp_path, slower=3.0)
    ((_, said),) = task_times.said(found)
    assert any(one.startswith("The time with slow and <quick> is not known: the reference") for one in said)
    (asked,) = task_times.of_the_study(found)
    assert asked.question.program
    other = asked.question.program.lasting(1e-5)
    (first, *_) = reached(
        other, [answer(Question(1e-5, asked.question.workload, 2), "slow", found.cells[0].known)]
    )
    assert first == "The time with slow is not known: the runs were of tasks of other times."


@pytest.mark.parametrize("begun", [0, 1])
def test_the_shape_needs_no_time(tmp_path: Path, begun: int) -> None:
    """A study that was interrupted before it had a number, or a cell."""
    results_folder.write(tmp_path, [results_folder.cell_line("slow", "dag")][:begun])
    (tmp_path / store.GRAPH).write_text(graph_file.write(CHAIN))
    found = data.read(tmp_path)
    assert [one.heading for one in program.plots(found)] == ["Tasks at once", "How long its tasks are"]
    assert all(draw(figure).marks for figure in of_chart(program, found))
    assert "No system has a time yet" in program.SECTION.intro(found)
    ((_, said),) = task_times.said(found)
    assert said[0] == "It has 10 tasks of 2.0 µs, together 20.0 µs."
    assert said[-1] == "No system has a time yet. --measure measures it."
    assert report_table.as_json(found)["advice"][0]["graph"]["critical_path"] == pytest.approx(20e-6)


@pytest.mark.parametrize(
    "content", ["", "{}", '{"taskgrain_graph":1}', '{"taskgrain_graph":1,"before":[[0]]}']
)
def test_a_graph_that_cannot_be_read_is_a_warning(tmp_path: Path, content: str) -> None:
    kept(tmp_path)
    (tmp_path / store.GRAPH).write_text(content)
    found = data.read(tmp_path)
    assert found.program is None and [one for one in found.warnings if "graph.json" in one]
    assert not [*program.plots(found)]


@given(graphs(), st.integers(1, 40))
def test_the_tasks_at_once_are_all_the_work(graph: Graph, parts: int) -> None:
    found = made_of(graph)
    running = found.at_once(parts)
    assert len(running) == parts and min(running) > -1e-9
    bound = found.bound()
    assert sum(running) / parts * bound.critical_path == pytest.approx(bound.work)
    assert max(running) <= bound.most_at_once + 1e-9


@pytest.mark.parametrize("others", [0, 9])
def test_the_name_of_a_line_ends_within_the_plot(tmp_path: Path, others: int) -> None:
    """The tasks that have half of the work are the longest."""
    durations = {f"t{n}": 0.02e-6 for n in range(others)} | {"long": 2e-6}
    figures = of_chart(program, kept(tmp_path, made("test", durations, [], "s")))
    (figure,) = (one for one in figures if "tasks" in one.name)
    (name,) = (one for layer in draw(figure).marks["text"] for one in layer if one["text"] == "their work")
    assert name["align"] == "left"
    assert name["x"] + name["dx"] + 0.5 * name["fontSize"] * len(name["text"]) <= 200


def test_a_long_line_has_few_points(tmp_path: Path) -> None:
    many = made("test", {f"t{n}": (1 + n % 7) * 1e-6 for n in range(3000)}, [], "s")
    (one, *_) = (plot for plot in program.plots(kept(tmp_path, many)) if plot.id.startswith("program-tasks"))
    assert len(one.own[NO_CELL]) < 600 and one.own[NO_CELL][-1]["share"] == 1.0
