"""The words of the answers for the graph of a program."""

from __future__ import annotations

import pytest
from program_graphs import Graph, made_of

from taskgrain.answers.program import Program, of_graph
from taskgrain.answers.program_words import allowed, time
from taskgrain.words.interval import Interval


def program(graph: Graph) -> Program:
    return of_graph("test", made_of(graph), 1e-6, 1.0)


def test_the_bound_is_told_before_any_system() -> None:
    chain = program(Graph(((), (0,), (1,), (0,)), (4, 4, 4, 2)))
    first, second = allowed(chain, 4)
    assert "4 tasks of 2.0 µs to 4.0 µs, half of them at most 4.0 µs, together 14.0 µs" in first
    assert second.endswith("12.0 µs on 4 cores: that is its critical path, which keeps 1.17 of them busy.")
    assert [*allowed(chain, 1)][1].endswith(
        "14.0 µs on 1 core. More than 1.17 cores gain nothing: the critical path takes 12.0 µs."
    )
    two_chains = ((), (0,), (1,), (2,), (), (4,), (5,), (6, 0))
    passing = program(Graph(two_chains, (4,) * 8))
    assert "has 2 points more, 20 % of all" in [*allowed(passing, 2)][2]


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
