"""Weak and strong scaling of a folder: which points make a line, and where the limit is met."""

from typing import Any

import pytest
from report_cells import measured, point, results

from taskgrain.answers.data import Cell, Results
from taskgrain.answers.scaling import (
    STEPS,
    Scaling,
    left_out,
    meeting_tables,
    scalings,
    separations,
    shown,
)
from taskgrain.results.lines import SessionLine
from taskgrain.words.interval import Interval
from taskgrain.words.quantity import NOTHING


def on(
    cores: int, *points: tuple[float, float], width: int = 0, used: int = 0, system: str = "a", **fields: Any
) -> Cell:
    """A cell with points of iterations and granularity; eight tasks a core if no width is given."""
    width = width or 8 * cores
    return measured(
        system,
        2e-6,
        f"fft/width={width}/cores={cores}",
        fields={"pattern": "fft", "width": width, "cores": cores},
        cores=used or cores,
        curve=tuple(point(iterations, granularity, 0.5) for iterations, granularity in points),
        **fields,
    )


def on_nodes(nodes: int, *points: tuple[float, float], used: int = 0, **fields: Any) -> Cell:
    """Such a cell on nodes of two cores, with sixteen tasks each."""
    return measured(
        "a",
        2e-6,
        f"fft/width={16 * nodes}/nodes={nodes}",
        fields={"pattern": "fft", "width": 16 * nodes, "nodes": nodes},
        cores=used or 2 * nodes,
        sessions={1: SessionLine(cores=(0, 1))},
        curve=tuple(point(iterations, granularity, 0.5) for iterations, granularity in points),
        **fields,
    )


def shares(one: Scaling, problem: int) -> list[float | None]:
    """The parallel efficiency on each number of cores."""
    found = [one.efficiency(one.problems[problem], time) for time in one.problems[problem].times]
    return [share and share.value for share in found]


def of(experiment: str, *cells: Cell) -> Results:
    return results(*cells, experiment=experiment)


def test_weak_scaling_joins_the_same_sizes_of_tasks() -> None:
    found = scalings(of("weak", on(1, (4, 2e-6), (8, 3e-6)), on(2, (4, 4e-6), (16, 9e-6))))
    (one,) = found
    assert (one.kind, one.system, one.workload) == ("weak", "a", "fft/tasks_per_core=8")
    (problem,) = one.problems
    assert problem.iterations == 4 and one.named(problem) == "4 iterations a task"
    assert problem.line == {1: pytest.approx(8 * STEPS * 2e-6), 2: pytest.approx(8 * STEPS * 4e-6)}
    first, other = (one.efficiency(problem, time) for time in problem.times)
    assert first == Interval(1.0, 1.0, 1.0) and other is not None
    # Half, of times that are known to a tenth.
    assert (other.value, other.low, other.high) == pytest.approx((0.5, 0.5 * 0.9 / 1.1, 0.5 * 1.1 / 0.9))
    assert (shown(first), shown(other), shown(None)) == ("100 %", "50 % (41 – 61)", NOTHING)
    assert shown(Interval(19.3, None, None)) == "1930 % (?)"
    assert [time.seconds for time in one.limit] == [pytest.approx(8 * STEPS * 2e-6)] * 2
    assert problem.times[0].low == pytest.approx(0.9 * problem.times[0].seconds)
    assert not any(separations(of("weak", on(1, (4, 2e-6)), on(2, (4, 4e-6)))))


def test_strong_scaling_joins_sizes_with_the_same_work_of_a_step() -> None:
    """3 µs a task on one core, ideally 1.5 on two: below METG, 2 µs, from 1.5 cores on."""

    def of_system(name: str) -> list[Cell]:
        sizes = {1: ((8, 3e-6), (64, 24e-6)), 2: ((4, 1.8e-6), (32, 12e-6)), 4: ((2, 1.5e-6),)}
        return [on(cores, *points, system=name) for cores, points in sizes.items()]

    cells = of_system("a")
    (one,) = scalings(of("strong", *cells))
    assert [problem.iterations for problem in one.problems] == [64, 512]
    assert one.problems[0].line.keys() == {1, 2, 4}
    assert shares(one, 1) == [1.0, pytest.approx(1.0)]
    (apart,), unmet = separations(of("strong", *cells))
    assert not unmet
    assert apart.ideal.number == pytest.approx(1.5) and apart.ideal.seconds == pytest.approx(8 * STEPS * 2e-6)
    assert 1.5 < apart.actual.number < 2.0
    assert apart.factors[0] == pytest.approx(apart.actual.number / 1.5) and apart.factors[1] == pytest.approx(
        1.0
    )
    _, means = meeting_tables(of("strong", *cells, *of_system("b")))
    mean = f"{apart.factors[0]:.2f} ×, 0.00"
    assert means.rows == [["fft/tasks_per_core=8", "2", "0", mean, "1.00 ×, 0.00"]]


def test_sizes_that_do_not_get_down_to_the_limit_are_counted() -> None:
    """Ideally 1.5 µs on two cores, below METG, 2 µs; but it takes 2.5."""
    found, unmet = separations(of("strong", on(1, (8, 3e-6)), on(2, (4, 2.5e-6))))
    assert (found, unmet) == ([], {"fft/tasks_per_core=8": 1})


def test_efficiency_is_relative_to_the_fewest_cores_or_unknown() -> None:
    (one,) = scalings(of("strong", on(1, (8, 3e-6)), on(2, (4, 2e-6), (32, 8e-6)), on(4, (16, 5e-6))))
    assert shares(one, 0) == [1.0, pytest.approx(0.75)]
    assert shares(one, 1) == [None, None], "of the larger size nobody knows how long one core takes"


def test_a_fixed_width_keeps_the_work_by_itself() -> None:
    cells = on(1, (8, 3e-6), width=16), on(2, (8, 3e-6), width=16)
    (one,) = scalings(of("strong", *cells))
    assert one.workload == "fft/width=16" and one.problems[0].iterations == 128
    assert shares(one, 0) == [1.0, pytest.approx(1.0)]


def test_each_system_scales_by_itself_and_other_experiments_do_not() -> None:
    cells = [on(cores, (8, 3e-6), system=system) for cores in (1, 2) for system in ("a", "b")]
    assert [one.system for one in scalings(of("weak", *cells))] == ["a", "b"]
    assert scalings(of("sweep", *cells)) == scalings(of("weak", cells[0])) == []


def test_a_system_that_works_on_one_number_of_cores_alone_is_named() -> None:
    cells = [on(1, (8, 3e-6)), on(2, (8, 3e-6)), on(1, (8, 3e-6), system="b")]
    failed = on(2, system="b", ending="failed")
    found = of("weak", *cells, failed)
    assert [one.system for one in scalings(found)] == ["a"]
    (sentence,) = left_out(found)
    assert sentence == "b on fft/tasks_per_core=8: no size was measured on more than one number of cores"
    assert not left_out(of("weak", *cells[:2]))


def test_a_cell_without_metg_has_no_limit() -> None:
    (one,) = scalings(of("weak", on(1, (8, 3e-6)), on(2, (8, 3e-6), ending="failed")))
    assert [time.number for time in one.limit] == [1]


def test_work_that_is_not_the_same_is_not_compared() -> None:
    """Of 24 tasks, 3 iterations are 72 together, and 21 are 504, which is near enough to 512."""
    cells = on(1, (8, 3e-6), (64, 24e-6)), on(3, (3, 3e-6), (21, 9e-6))
    (one,) = scalings(of("strong", *cells))
    assert [problem.iterations for problem in one.problems] == [512]


def test_points_of_one_cell_are_no_line() -> None:
    """Where a budget ends a search, sizes stand in the curve that the sweep has not."""
    assert not scalings(of("strong", on(1, (8, 3e-6), (8.1, 3e-6)), on(2, (40, 9e-6))))
    (one,) = scalings(of("strong", on(1, (8, 3e-6), (8.1, 4e-6)), on(2, (4, 2e-6))))
    assert [time.seconds for time in one.problems[0].times] == [
        pytest.approx(8 * STEPS * t) for t in (3e-6, 2e-6)
    ]


def test_a_system_that_leaves_cores_unused_does_not_get_quicker() -> None:
    """Granularity counts the core that it occupies: 16 tasks take twice as long as 8."""
    serial = [on(1, (8, 3e-6)), on(2, (8, 3e-6), used=1)]
    (weak,) = scalings(of("weak", *serial))
    times = weak.problems[0].times
    assert times[1].seconds == pytest.approx(2 * times[0].seconds)
    assert shares(weak, 0) == [1.0, pytest.approx(0.5)]
    assert weak.limit[1].seconds == pytest.approx(2 * weak.limit[0].seconds)
    scaled = [on(1, (8, 3e-6)), on(2, (4, 1e-6), used=1)]
    assert not any(separations(of("strong", *scaled))), "it has no limit to meet"


def test_weak_scaling_is_of_the_same_tasks_on_each_core() -> None:
    assert not scalings(of("weak", on(1, (8, 3e-6), width=16), on(2, (8, 3e-6), width=16)))


def test_steps_that_are_not_full_take_less_time() -> None:
    """Of fork_join, every other step has one task."""
    cells = [on(cores, (8, 3e-6), tasks_per_step=(8 * cores + 1) / 2) for cores in (1, 2)]
    (one,) = scalings(of("weak", *cells))
    assert [time.seconds for time in one.problems[0].times] == [
        pytest.approx(STEPS * 3e-6 * tasks) for tasks in (4.5, 4.25)
    ]
    assert one.limit[1].seconds == pytest.approx(STEPS * 2e-6 * 4.25)


def test_nodes_scale_as_cores_do() -> None:
    """The same times as of 1, 2 and 4 cores; METG is met at 1.5 nodes, which are three cores."""
    cells = on_nodes(1, (8, 3e-6)), on_nodes(2, (4, 1.8e-6)), on_nodes(4, (2, 1.5e-6))
    (one,) = scalings(of("strong", *cells))
    assert (one.field, one.workload) == ("nodes", "fft/tasks_per_core=8 over nodes")
    assert one.problems[0].iterations == 128 and one.problems[0].line.keys() == {1, 2, 4}
    assert shares(one, 0) == [1.0, pytest.approx(3 / 3.6), pytest.approx(0.5)]
    (apart,), _ = separations(of("strong", *cells))
    assert apart.ideal.number == pytest.approx(1.5)
    (weak,) = scalings(of("weak", on_nodes(1, (8, 3e-6)), on_nodes(2, (8, 6e-6))))
    assert shares(weak, 0) == [1.0, pytest.approx(0.5)]


def test_a_system_on_one_of_two_nodes_meets_no_limit() -> None:
    scaled = [on_nodes(1, (8, 3e-6)), on_nodes(2, (4, 1e-6), used=2)]
    assert not any(separations(of("strong", *scaled)))
    assert left_out(of("strong", on_nodes(1, (8, 3e-6)), on_nodes(2, ending="failed"))) == [
        "a on fft/tasks_per_core=8 over nodes: no size was measured on more than one number of nodes"
    ]
