"""The words of the answers for the graph of a program."""

from dataclasses import replace

import pytest
from advice_answers import curve as made_up
from program_graphs import Graph, made_of

from taskgrain.answers.advise import Answer
from taskgrain.answers.program import Program, of_graph
from taskgrain.answers.program_words import allowed, reached, time
from taskgrain.estimate.advice import Efficiency
from taskgrain.graphs.dot import read_dot
from taskgrain.words.interval import Interval


def program(graph: Graph) -> Program:
    return of_graph("test", made_of(graph), 1e-6, 1.0)


def test_the_bound_is_told_before_any_system() -> None:
    chain = program(Graph(((), (0,), (1,), (0,)), (4, 4, 4, 2)))
    first, second = allowed(chain, 4)
    assert "4 tasks of 2.0 µs to 4.0 µs, half of them at most 4.0 µs, together 14.0 µs" in first
    assert second.endswith(
        "12.0 µs on 4 cores: that is its critical path, which keeps 1.17 of them busy, 29 % of their time."
    )
    assert [*allowed(chain, 1)][1].endswith(
        "14.0 µs on 1 core. More than 1.17 cores gain nothing: the critical path takes 12.0 µs."
    )
    two_chains = ((), (0,), (1,), (2,), (), (4,), (5,), (6, 0))
    passing = program(Graph(two_chains, (4,) * 8))
    assert "has 2 points more, 20 % of all" in [*allowed(passing, 2)][2]


def test_tasks_without_a_time_count_as_none_where_others_have_one() -> None:
    def said(file: str, unit: float) -> str:
        return " ".join(allowed(of_graph("test", read_dot(file), unit, 1.0), 1))

    some = "The file leaves out the time of"
    assert f"{some} 1 task, which counts as none." in said("digraph { a [time=1]; b }", 1e-6)
    assert f"{some} 2 tasks, which count as none." in said("digraph { a [time=1]; b; c }", 1e-6)
    untimed = said("digraph { a [cost=3]; b [cost=4] }", 10e-6)
    assert "Each task counts as 10 µs: no node has duration, runtime, time, weight or size." in untimed
    assert some not in untimed


def test_what_the_graph_leaves_out_is_told() -> None:
    graph = replace(made_of(Graph(((),), (1,))), left_out="1 event, 4.00 µs: futures")
    assert "Left out: 1 event, 4.00 µs: futures." in allowed(of_graph("test", graph, 1e-6, 1.0), 1)


@pytest.mark.parametrize(
    ("tasks", "high", "said"),
    [
        (64, 0.3, "If 32 tasks that follow each other were one, it would take about "),
        (64, 1.0, ""),  # nothing may be lost
        (64, None, ""),
        (1, 0.3, ""),  # there are no tasks that follow each other
    ],
)
def test_longer_tasks_are_advised_where_they_gain(tasks: int, high: float | None, said: str) -> None:
    chain = program(Graph(tuple((n - 1,) if n else () for n in range(tasks)), (1,) * tasks))
    efficiency = Efficiency("measured", Interval(0.25, 0.2, high))
    curve = made_up("mpi", 1e-6, cores=1)
    (*_, last) = reached(chain, [Answer("mpi", curve, efficiency, ())])
    assert (said in last) if said else "were one" not in last


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (Interval(2e-3, 1e-3, 3e-3), "2.0 ms (1.0 – 3.0)"),
        (Interval(low=2e-3), "over 2.0 ms"),
        (Interval(high=2e-3), "under 2.0 ms"),
        (Interval(), "–"),
    ],
)
def test_a_time_of_which_only_a_bound_is_known(known: Interval, said: str) -> None:
    assert time(known) == said
