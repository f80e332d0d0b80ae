"""The samples of a cell: those that its search rested on, and nothing that makes no sense."""

import math
from pathlib import Path
from typing import Any

import pytest

from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import Record
from taskgrain.results import reader
from taskgrain.results.lines import CellLine, RunLine
from taskgrain.results.measurements import opened
from taskgrain.results.samples import counting, of_sizes, undisturbed
from taskgrain.study.workload import REFERENCE, Cell, Workload

RESULTS = Path(__file__).parents[3] / "docs" / "results"
RATE = 5e10


def run(**changes: Any) -> RunLine:
    known: dict[str, Any] = {
        "cell": "a/fft", "phase": "measure", "round": 0, "iterations": 64, "steps": 100,
        "seconds": (1e-3, 2e-3), "tasks": 800, "work": 64 * 128.0 * 800, "cores": 2, "busy": 0.0,
    }  # fmt: skip
    return RunLine(**known | changes)


def samples(*runs: RunLine, rate: float = RATE) -> list[Sample]:
    return counting((line, line.round or 0, rate) for line in runs)


def test_each_repeat_is_a_sample() -> None:
    first, second = samples(run())
    assert (first.seconds, second.seconds) == (1e-3, 2e-3)
    assert (first.iterations, first.tasks, first.cores, first.round) == (64, 800, 2, 0)
    assert first.peak == pytest.approx(RATE)
    assert first.work == run().work and not first.short


@pytest.mark.parametrize(
    ("told", "alone"),
    [
        ({}, (1e-3, 2e-3)),
        ({"busy": 0.5}, ()),
        ({"busy": 0.5, "waited": (0.0, 1e-3)}, (1e-3,)),
        ({"busy": 0.5, "waited": (3.1e-5, 5.9e-5)}, (2e-3,)),
        ({"busy": 0.5, "waited": (0.0, None)}, (1e-3,)),
        ({"busy": 0.5, "waited": (0.0,)}, (1e-3,)),
        ({"throttled": 0.03, "waited": (0.0, 0.0)}, ()),  # nor for a quota
        ({"busy": 0.02, "waited": (1e-3, 1e-3)}, (1e-3, 2e-3)),  # its own threads were in each other's way
        (
            {"busy": 0.5, "steal": 0.4, "waited": (0.0, 0.0)},
            (),
        ),  # no thread waits for the hypervisor
    ],
)
def test_the_repeats_that_others_left_alone(told: dict[str, Any], alone: tuple[float, ...]) -> None:
    """They may take 3 % of its time."""
    line = run(**told)
    assert undisturbed(line) == list(alone)
    counted = [one.seconds for one in samples(line)]
    assert counted == list(alone or (1e-3,)), "of a run that they disturbed all along, the fastest"


def test_without_a_reference_only_empty_tasks_tell_anything() -> None:
    assert samples(run(), rate=math.nan) == []
    floor = run(phase="floor", iterations=0, work=0.0)
    assert [one.iterations for one in samples(floor, rate=math.nan)] == [0, 0]


def test_disturbed_runs_count_where_there_are_too_few_others() -> None:
    first, *others = (run(round=number) for number in range(3))
    loud = run(round=3, busy=0.2)
    assert len(samples(first, *others, loud)) == 6
    assert [one.seconds for one in samples(first, loud)] == [1e-3, 2e-3, 1e-3], "its fastest repeat"


def test_a_curve_rests_on_rounds_and_on_looks_where_there_are_none() -> None:
    look, short, longer, first = (run(phase=one) for one in ("bracket", "start", "longer", "measure"))
    assert of_sizes([look, short, longer, first]) == [first]
    assert of_sizes([look, short, longer]) == [look]


def test_short_runs_are_those_of_the_last_size_with_enough_of_them() -> None:
    first = [run(round=number, phase="start", iterations=64) for number in range(6)]
    second = [run(round=number, phase="start", iterations=32) for number in range(6, 9)]
    assert {one.iterations for one in samples(*first, *second) if one.short} == {64}
    more = [run(round=number, phase="start", iterations=32) for number in range(9, 12)]
    assert {one.iterations for one in samples(*first, *second, *more) if one.short} == {32}
    assert {one.iterations for one in samples(*second) if one.short} == {32}


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": None}, {"phase": "bracket"}, {"tasks": None}, {"tasks": 0}, {"cores": None},
        {"seconds": ()},
        {"seconds": (1e-3, None)}, {"iterations": None}, {"work": None}, {"work": 0.0},
    ],
    ids=str,
)  # fmt: skip
def test_a_run_that_makes_no_sense_is_left_out(changes: dict[str, Any]) -> None:
    assert samples(run(**changes)) == []


@pytest.mark.parametrize("system", ["limit", "starpu", "mpi", "taskgrain_ptg"])
def test_they_are_those_of_the_search(system: str) -> None:
    """The study's own record of a folder has the same samples, and the same empty runs.

    The systems are some of which the method of today asks for the runs that were made then, of 16 steps at
    least.
    """
    folder = RESULTS / "2026-11-27-default"
    lines = reader.read(folder).lines
    first = next(one for one in lines if isinstance(one, CellLine) and one.system == system)
    fields = dict(first.workload)
    cell = Cell(system, Workload(fields.pop("pattern"), fields.pop("width"), **fields))
    record = Record([cell], lambda _: MetgSearch(CellSettings(min_steps=16)), 2, {system: REFERENCE})
    for line in lines:
        if getattr(line, "cell", cell.name) == cell.name:
            record.take(line)
    search = record.cells[cell.name].experiment
    assert isinstance(search, MetgSearch)
    (measurement,) = [
        one
        for one in opened(folder).measurements
        if (one.system, one.workload) == (cell.system, cell.workload.name)
    ]

    def key(one: Sample) -> tuple[object, ...]:
        return one.short, one.iterations, one.round % 10**6, one.seconds, one.peak

    assert sorted(key(one) for one in measurement.samples if one.iterations) == sorted(
        map(key, search.samples())
    )
    empty = [one for one in measurement.samples if not one.iterations]
    assert len({one.round for one in empty}) >= 4
