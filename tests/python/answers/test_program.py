"""The graph of a program: its times, and what efficiencies of it mean."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_graphs import Graph, graphs, made_of

from taskgrain.answers.program import Program, of_graph
from taskgrain.answers.program_words import handed_on
from taskgrain.estimate.advice import Efficiency
from taskgrain.graphs.task_graph import made
from taskgrain.words.errors import InputError
from taskgrain.words.interval import Interval


def program(graph: Graph) -> Program:
    return of_graph("test", made_of(graph), 1e-6, 1.0)


@given(graphs(), st.integers(1, 4), st.floats(0.01, 1.0), st.floats(1.0, 1.5))
def test_no_time_is_less_than_the_least_and_time_lost_is_what_is_above(
    graph: Graph, cores: int, value: float, apart: float
) -> None:
    found = program(graph)
    cost = found.cost(Efficiency("measured", Interval(value, value / apart, value * apart)), cores)
    least = found.least(cores)
    assert cost.time.low is not None and cost.time.high is not None and cost.overhead is not None
    assert least <= cost.time.low <= cost.time.number <= cost.time.high
    assert cost.lost.number == pytest.approx(1.0 - least / cost.time.number)
    assert found.fused(cost.overhead, 1, cores) == pytest.approx(cost.time.number)
    assert cost.shorter == sum(one < cost.overhead for one in found.graph.durations) / len(graph.before)
    assert found.fused(0.0, 1, cores) == pytest.approx(least)
    whole = math.ceil(found.steps.points / 8)
    assert found.fused(cost.overhead, 8, cores) >= found.total / min(whole, cores) * (1 - 1e-9)


def test_what_is_not_known_stays_so() -> None:
    found = of_graph("test", made("test", {"a": 1.0, "b": 3.0}, [("b", "a")], unit="s"), None, 1.0)
    cost = found.cost(Efficiency("above", Interval(low=0.25)), 2)
    assert (cost.time, cost.lost, cost.overhead) == (Interval(None, 4.0, 8.0), Interval(None, 0.0, 0.5), None)
    nothing = found.cost(Efficiency("unknown"), 2)
    assert (nothing.time, nothing.shorter) == (Interval(), None)


def test_times_are_scaled() -> None:
    graph = made("test", {"a": 1.0, "b": 3.0}, [], unit="s")
    assert of_graph("test", graph, None, 0.1).total == pytest.approx(0.4)
    untimed = made("test", {"a": None, "b": None}, [])
    assert of_graph("test", untimed, 2e-6, 10.0).ranked == pytest.approx([2e-5, 2e-5])


@pytest.mark.parametrize(
    ("outputs", "taken"), [(0.0, 16), (5000.0, 5000), (2.0**27, 1 << 27), (2.0**28, None)]
)
def test_outputs_are_those_of_the_file_where_the_widest_step_has_room(
    outputs: float, taken: int | None
) -> None:
    before = [("c", "a"), ("c", "b")]
    graph = made("test", dict.fromkeys("abc", 1.0), before, "s", outputs=dict.fromkeys("abc", outputs))
    found = of_graph("test", graph, None, 1.0)
    assert found.output_bytes == taken
    said = " ".join(handed_on(found, found.output_bytes or 16))
    assert ("give --output-bytes" in said) == (taken is None)
    assert "here each task hands on 16 B" in " ".join(handed_on(found, 16))


def test_tasks_whose_outputs_have_no_size_are_counted() -> None:
    before, times = [("d", "a"), ("d", "b"), ("d", "c")], dict.fromkeys("abcd", 1.0)
    found = of_graph("test", made("test", times, before, "s", outputs={"a": 64.0}), None, 1.0)
    assert " in the median (without 2 tasks of which the file has no size); here" in " ".join(
        handed_on(found, 64)
    )


@pytest.mark.parametrize(
    ("times", "unit", "given_unit", "scale", "message"),
    [
        ({"a": 1.0}, "", None, 1.0, "does not say its unit"),
        ({"a": None}, "", None, 1.0, "has no times"),
        ({"a": 1.0}, "s", 1e-6, 1.0, "in seconds"),
        ({"a": 0.0}, "s", None, 1.0, "times of test: 0 s together is not"),
        ({"a": 1e300}, "s", None, 1.0, "less than 1e+09 s"),
    ],
)
def test_units_that_are_needed_or_not(
    times: dict[str, float | None], unit: str, given_unit: float | None, scale: float, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        of_graph("test", made("test", times, [], unit=unit), given_unit, scale)


def test_where_the_critical_path_takes_the_time_its_tasks_cost_it() -> None:
    """A hundred tasks in a chain, of 1 µs: the other cores are idle for the shape, and not for the system."""
    chain = program(Graph(tuple((n - 1,) if n else () for n in range(100)), (1,) * 100))
    for cores in (2, 64):
        cost = chain.cost(Efficiency("measured", Interval(100 / 178 / cores)), cores)
        assert cost.overhead == pytest.approx(0.78e-6) and cost.shorter == 0.0
        assert chain.fused(0.78e-6, 2, cores) == pytest.approx(139e-6)


def test_tasks_that_are_one_are_not_divided_among_cores() -> None:
    """Ten chains of 16 tasks, of 1 µs: of 4 in one there are 40, and a core of 16 has 3 of them."""
    chains = program(Graph(tuple((n - 1,) if n % 16 else () for n in range(160)), (1,) * 160))
    assert chains.fused(1e-6, 4, 16) == pytest.approx(20e-6), "the chains take longer: 16 + 16 / 4"
    assert chains.fused(9e-6, 4, 32) == pytest.approx(52e-6), "16 + 16 x 9 / 4"
    assert chains.fused(9e-6, 16, 8) == pytest.approx(50e-6), "2 of 16 tasks in one, and not 1.25"
