"""Tests of the systems that may be the best: a bound that is missing is infinite."""

import math
import random
from collections.abc import Mapping

import pytest
from stored_cells import stored

from taskgrain.results import ranking
from taskgrain.results.cell import Cell
from taskgrain.results.columns import times_the_best
from taskgrain.results.lines import MetgLine, RatioLine
from taskgrain.results.ranking import standing
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval


def cell(system: str, metg: Interval, to_a: Interval | None = None) -> Cell:
    name, first = f"{system}/fft", "a/fft"
    line = MetgLine(cell=name, ending=Ending.BUDGET, metg=metg.value, low=metg.low, high=metg.high)
    ratios = {}
    if to_a is not None:
        ratios[first] = RatioLine(cell=name, to=first, value=to_a.value, low=to_a.low, high=to_a.high)
    return Cell(name, result=line, ratios=ratios)


def systems(cells: tuple[Cell, ...]) -> list[str]:
    return [cell.system for cell in cells]


@pytest.mark.parametrize(
    ("metgs", "ties", "behind"),
    [
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.5e-6, 3e-6)}, ["a"], ["b"]),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.0e-6, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, None), "b": (2e-6, 1.5e-6, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, None, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.5e-6, None)}, ["a"], ["b"]),
        ({"a": (1e-6, None, None), "b": (2e-6, 1.9e-6, 2.1e-6), "c": (9e-6, 8e-6, 9e-6)}, ["a", "b"], []),
        # b may be better than a, and c worse than both: it is neither among the best nor behind all of them.
        (
            {"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1e-6, 9e-6), "c": (3e-6, 2e-6, 4e-6)},
            ["a", "b"],
            [],
        ),
        # Bounds alone.
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (None, None, 9e-6), "c": (None, 2e-6, None)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (None, 2e-6, None)}, ["a"], ["b"]),
    ],
)
def test_a_missing_bound_is_infinite(
    metgs: Mapping[str, tuple[float | None, float | None, float | None]], ties: list[str], behind: list[str]
) -> None:
    found = standing([cell(system, Interval(*metg)) for system, metg in metgs.items()])
    assert (systems(found.ties), systems(found.behind)) == (ties, behind)


def test_nothing_known_is_no_standing() -> None:
    nothing = cell("ray", Interval())
    found = standing([nothing])
    assert (found.ties, found.behind, found.unknown) == ((), (), (nothing,))


def test_a_ratio_decides_where_intervals_overlap() -> None:
    first = cell("a", Interval(1e-6, 0.9e-6, 1.1e-6))
    slower = cell("b", Interval(1.2e-6, 0.5e-6, 3e-6), Interval(1.2, 1.1, 1.3))
    tied = cell("c", Interval(1.3e-6, 0.5e-6, 3e-6), Interval(1.3, 0.9, 1.8))
    unbounded = cell("d", Interval(1.4e-6, 0.5e-6, 3e-6), Interval(1.4, None, 1.8))
    hardly = cell("e", Interval(1.5e-6, 1.4e-6, 1.6e-6), Interval(1.06, 1.04, 1.08))
    found = standing([unbounded, tied, slower, first, hardly])
    assert systems(found.ties) == ["a", "c", "d", "e"], "two processes of one build differ by as much"
    assert systems(found.behind) == ["b"]


def test_a_cell_that_failed_does_not_say_how_many_cores_there_are() -> None:
    one = stored("a", cores=1)
    assert ranking.best([one, stored("b", metg=None, cores=2, error="unsupported")]) is one


def test_nobody_can_choose_a_bound() -> None:
    limit, serial = stored("limit", metg=1e-7, bound=True), stored("serial", cores=1, bound=True)
    a, b = stored("a", metg=2e-7), stored("b", metg=3e-7)
    cells = [limit, a, serial, b]
    assert (ranking.best(cells), ranking.contest(cells), ranking.bounds(cells)) == (a, [a, b], [limit])
    assert ranking.best([limit, serial]) is None


def test_a_cell_of_another_machine_is_no_choice_and_no_bound() -> None:
    here, there = cell("a", Interval(2e-6, 1e-6)), cell("a@ab12cd34.0f3a9b21", Interval(1e-6, 0.9e-6))
    earlier = cell("mpi.mpich@ab12cd34", Interval(1.5e-6))
    assert ranking.contest([here, there, earlier]) == [here, earlier]
    assert ranking.best([here, there]) is here


def test_what_was_looked_at_once_is_not_the_best_and_has_no_ratio() -> None:
    once, known = cell("a", Interval(1e-6)), cell("b", Interval(2e-6, 1e-6, 3e-6))
    assert ranking.best([once, known]) is known and ranking.best([once]) is None
    assert ranking.ratio(once, known) is None and ranking.ratio(known, once) is None


def test_a_ratio_does_not_contradict_the_two_numbers() -> None:
    first, other = cell("a", Interval(1e-6, 0.9e-6, 1.1e-6)), Interval(1.05e-6, 0.9e-6, 1.2e-6)
    contrary = cell("b", other, Interval(0.91, 0.8, 1.04))
    both = ranking.ratio(contrary, first)
    assert both == Interval(None, 0.8, pytest.approx(1.05)), "0.91 contradicts the METGs, 1.05 the rounds"
    ranking.mark_best([contrary, first])
    assert (times_the_best(first), times_the_best(contrary)) == ("best", "0.80 – 1.05")
    agreeing = cell("c", other, Interval(1.03, 0.9, 1.1))
    assert ranking.ratio(agreeing, first) == Interval(1.03, 0.9, 1.1)


def test_a_ratio_and_the_two_metgs_beside_it_agree() -> None:
    """Whatever the rounds that both have tell, and however well each of the three is known."""
    dice = random.Random(5)

    def drawn(value: float) -> Interval:
        low, high = sorted(value * math.exp(dice.gauss(0.0, 0.3)) for _ in range(2))
        low, high = min(low, value), max(high, value)
        return Interval(value, *dice.choice([(low, high), (low, high), (None, high), (low, None)]))

    for _ in range(300):
        first, other = (drawn(1e-6 * math.exp(dice.gauss(0.0, 0.4))) for _ in range(2))
        one = cell("b", other, drawn(math.exp(dice.gauss(0.0, 0.4))))
        found, quotient = ranking.ratio(one, cell("a", first)), other.number / first.number
        assert found and found.contains(quotient)
        if found.value is not None:
            assert (found.value > 1.0) == (quotient > 1.0)
            assert found.low or found.high or found.value == quotient


def test_what_is_only_bounded_has_no_ratio_but_a_bound_of_it() -> None:
    first = cell("a", Interval(2e-6, 1.9e-6, 2.1e-6))
    above, below = cell("b", Interval(low=1e-6)), cell("c", Interval(high=1e-6))
    assert ranking.ratio(above, first) == Interval(low=0.5)
    assert ranking.ratio(below, first) == Interval(high=0.5)
    assert ranking.ratio(first, below) == Interval(low=2.0)
    assert ranking.ratio(above, below) == Interval(low=1.0)
