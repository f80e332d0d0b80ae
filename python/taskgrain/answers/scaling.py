"""Weak and strong scaling: the time to solution of each size on more cores or nodes, and METG's limit."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import fmean, stdev
from typing import Any

from taskgrain.answers.data import Cell, Results
from taskgrain.answers.sweeps import NUMBERS, Sweep, sweeps
from taskgrain.estimate.scaling import Meeting, ideal, meeting
from taskgrain.study.settings import KEEPS, Kept
from taskgrain.words import quantity
from taskgrain.words.interval import Interval
from taskgrain.words.table import Table

STEPS = 1000
"""The time steps of the program whose time the tables tell: as many as in the Task Bench paper."""
_SAME_WORK = 0.02
"""The work of a step may be so far from a power of two, where iterations cannot meet it."""


@dataclass(frozen=True)
class Time:
    """The program on so many cores or nodes: seconds of wall time, with the 95 % interval as far as known."""

    cell: int
    """The number of the cell that it was measured in."""
    number: int
    """The number of cores or nodes."""
    seconds: float
    low: float | None
    high: float | None
    efficiency: float | None
    """The share of what the kernel alone would do; of the limit, the threshold."""


@dataclass(frozen=True)
class Problem:
    """A size of problem on several numbers of cores or nodes."""

    iterations: int
    """The iterations of a task for weak scaling, and of all points of a step together for strong scaling."""
    times: tuple[Time, ...]
    """The times by number, ascending."""

    @property
    def line(self) -> dict[int, float]:
        return {one.number: one.seconds for one in self.times}


@dataclass(frozen=True)
class Scaling:
    """A system on one workload with several numbers of cores or nodes."""

    kind: str
    """The name of the experiment."""
    field: str
    """The field that grows: `cores` or `nodes`."""
    keeps: Kept
    """The unit that has the same work on each number of them."""
    system: str
    workload: str
    """The fields that its workloads have in common. Untrusted, as `system` is."""
    threshold: float
    problems: tuple[Problem, ...]
    limit: tuple[Time, ...]
    """The shortest time with that efficiency, on each number with a METG."""
    uses_all: bool
    """True if it occupies all cores that it is given; else it does not scale, and meets no limit."""
    cells: tuple[int, ...]

    def named(self, problem: Problem) -> str:
        """A size of problem in words."""
        number = quantity.counted(problem.iterations, "iteration")
        return f"{number} a {self.keeps}"

    def efficiency(self, problem: Problem, time: Time) -> Interval | None:
        """Parallel efficiency, relative to the smallest number of any size; None if this size was not
        measured there. It lies within the bounds of the two times that it is the ratio of: at least 95 %
        sure."""
        first = problem.times[0]
        if first.number > min(one.times[0].number for one in self.problems):
            return None
        if time == first:
            return Interval(1.0, 1.0, 1.0)
        more = time.number / first.number if self.keeps == "step" else 1.0

        def share(one: float | None, other: float | None) -> float | None:
            return one / (other * more) if one is not None and other else None

        value = first.seconds / (time.seconds * more)
        return Interval(value, share(first.low, time.high), share(first.high, time.low))

    def meetings(self, problem: Problem) -> tuple[Meeting | None, Meeting | None]:
        """The places where the limit meets the ideal time, and the actual one."""
        limit = {one.number: one.seconds for one in self.limit if self.uses_all}
        return meeting(ideal(problem.line, sorted(limit)), limit), meeting(problem.line, limit)


@dataclass(frozen=True)
class Separation:
    """The distance of the end of strong scaling from where METG and one run on the smallest number put it."""

    scaling: Scaling
    problem: Problem
    ideal: Meeting
    actual: Meeting

    @property
    def factors(self) -> tuple[float, float]:
        """The factors in cores or nodes, and in time."""
        return self.ideal.apart(self.actual)


def shown(share: Interval | None) -> str:
    """Parallel efficiency with its interval: `62 % (58 – 66)`, `62 % (?)` if nothing is known of it."""
    if share is None:
        return quantity.NOTHING
    if share.low is None and share.high is None:
        return f"{quantity.percent(share.value)} (?)"
    if share.low == share.high:
        return quantity.percent(share.value)
    return quantity.about_percent(share)


def scalings(results: Results) -> list[Scaling]:
    """Returns the scalings of a folder by its workloads and systems; none of another experiment."""
    return [one for one in measured(results) if one.problems]


def left_out(results: Results) -> list[str]:
    """A sentence for each system and workload for which nothing can be told."""
    return [
        f"{one.system} on {one.workload}: no size was measured on more than one number of {one.field}"
        for one in measured(results)
        if not one.problems
    ]


def measured(results: Results) -> list[Scaling]:
    """The scaling of a folder, also of problems without a size on several numbers of cores or nodes."""
    kind = str(results.study.table.get("experiment"))
    keeps = KEEPS.get(kind)
    if not keeps:
        return []
    return [
        one
        for sweep in sweeps(results)
        if sweep.field in NUMBERS and (keeps == "step" or _keeps_each(sweep, results))
        for system in results.systems
        if (one := _scaling(kind, keeps, system, sweep, results)).cells
    ]


def separations(results: Results) -> tuple[list[Separation], Counter[str]]:
    """Returns the separations of each problem that meets the limit both ways, the largest last; and how many
    problems of each workload do so only in their ideal times: their actual ones would farther on, or never.
    """
    found, unmet = [], Counter[str]()
    for one in scalings(results):
        for problem in one.problems if one.keeps == "step" else ():
            foretold, actual = one.meetings(problem)
            if foretold is not None and actual is not None:
                found.append(Separation(one, problem, foretold, actual))
            elif foretold is not None:
                unmet[one.workload] += 1
    return found, unmet


def _keeps_each(sweep: Sweep, results: Results) -> bool:
    """Tells whether each core has the same tasks on any number of them."""
    return len({results.cells[n].points_of_a_step / number for n, number in sweep.values.items()}) == 1


def _scaling(kind: str, keeps: Kept, system: str, sweep: Sweep, results: Results) -> Scaling:
    of = {n: int(value) for n, value in sweep.values.items() if results.cells[n].system == system}
    cells = sorted(of, key=of.__getitem__)
    times: dict[int, dict[int, Time]] = {}
    for cell in cells:
        for size, one in _times(keeps, cell, results.cells[cell], of[cell]):
            times.setdefault(size, {}).setdefault(one.number, one)
    problems = [Problem(size, tuple(some.values())) for size, some in sorted(times.items()) if len(some) > 1]
    limit = [_limit(cell, results.cells[cell], of[cell]) for cell in cells]
    threshold = results.cells[cells[0]].threshold if cells else 0.5
    used = [(results.cells[cell].cores, results.cells[cell].cores_there) for cell in cells]
    uses_all = all(not cores or not there or cores == there for cores, there in used)
    known = tuple(one for one in limit if one is not None)
    name = sweep.name + (" over nodes" if sweep.field == "nodes" else "")
    return Scaling(
        *(kind, sweep.field, keeps, system, name, threshold, tuple(problems), known, uses_all), tuple(cells)
    )


def _times(keeps: Kept, place: int, cell: Cell, number: int) -> Iterator[tuple[int, Time]]:
    """The size of the problem and its time, of each point of the curve."""
    points, each = cell.points_of_a_step, _tasks_of_a_core(cell, number)
    for point in cell.points if points else ():
        size = point.iterations
        if keeps == "step":
            whole = point.iterations * points
            size = 2.0 ** round(math.log2(whole))
            if abs(whole / size - 1.0) > _SAME_WORK:
                continue
        bounds = (point.granularity, point.granularity_low, point.granularity_high)
        seconds, low, high = (None if one is None else one * each for one in bounds)
        assert seconds is not None
        yield round(size), Time(place, number, seconds, low, high, point.efficiency)


def _tasks_of_a_core(cell: Cell, number: int) -> float:
    """Tasks in all steps of each core that the system occupies."""
    return STEPS * (cell.tasks_per_step or cell.points_of_a_step) / (cell.cores or cell.cores_there or number)


def _limit(place: int, cell: Cell, number: int) -> Time | None:
    if cell.metg.value is None or not cell.points_of_a_step:
        return None
    each = _tasks_of_a_core(cell, number)
    found = cell.metg.times(each)
    return Time(place, number, cell.metg.value * each, found.low, found.high, cell.threshold)


def tables(results: Results) -> Iterator[Table]:
    """The times of each system on each workload, and where the limit is met; none if neither cores
    nor nodes vary."""
    for (kind, field, workload), some in groupby(
        scalings(results), lambda one: (one.kind, one.field, one.workload)
    ):
        title = f"Time of {STEPS} steps and parallel efficiency, {kind} scaling of {workload}"
        group = list(some)
        every = (each for one in group for each in (one.limit, *(problem.times for problem in one.problems)))
        numbers = sorted({time.number for times in every for time in times})
        rows = []
        for one in group:
            limit = {time.number: quantity.seconds(time.seconds) for time in one.limit}
            rows.append(
                [one.system, f"limit of METG({quantity.percent(one.threshold)})", *_each(limit, numbers)]
            )
            for problem in one.problems:
                reached = {
                    time.number: f"{quantity.seconds(time.seconds)}  {shown(one.efficiency(problem, time))}"
                    for time in problem.times
                }
                rows.append(["", one.named(problem), *_each(reached, numbers)])
        heads = (quantity.counted(n, field.removesuffix("s")) for n in numbers)
        yield Table(title, ["system", "size", *heads], rows, texts=2)
    yield from meeting_tables(results)


def meeting_tables(results: Results) -> Iterator[Table]:
    """Tables of the places where sizes meet the limit, and of how far these lie from where they should."""
    found, unmet = separations(results)
    if not found:
        return
    met = [
        [
            *(one.scaling.system, one.scaling.workload, one.scaling.named(one.problem)),
            *(
                f"{at.number:.2f} {one.scaling.field}, {quantity.seconds(at.seconds)}"
                for at in (one.ideal, one.actual)
            ),
            *(f"{factor:.2f} ×" for factor in one.factors),
        ]
        for one in found
    ]
    factors = (f"apart in {' or '.join(sorted({one.scaling.field for one in found}))}", "apart in time")
    heads = ("system", "workload", "size", "limit and ideal meet", "limit and actual meet", *factors)
    yield Table("Where the limit is met", heads, met, texts=3)
    # As table 6 of the Task Bench paper has them: for each workload, over its systems and sizes.
    of_workloads: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in found:
        of_workloads[one.scaling.workload].append(one.factors)
    apart = [
        [workload, str(len(some)), str(unmet[workload]), *map(_mean, zip(*some, strict=True))]
        for workload, some in of_workloads.items()
    ]
    means_of = ("workload", "meetings", "not met", *factors)
    yield Table("How far the two lie apart, mean and standard deviation", means_of, apart)


def _mean(factors: Sequence[float]) -> str:
    """The mean and the deviation: `1.15 ×, 0.12`; one alone has no deviation."""
    deviation = f"{stdev(factors):.2f}" if len(factors) > 1 else quantity.NOTHING
    return f"{fmean(factors):.2f} ×, {deviation}"


def _each(known: Mapping[int, str], numbers: Iterable[int]) -> list[str]:
    return [known.get(number, quantity.NOTHING) for number in numbers]


def as_json(results: Results) -> list[dict[str, Any]]:
    """The same for programs: times in seconds, null for what is not known."""
    return [
        {
            "kind": one.kind,
            "system": one.system,
            "workload": one.workload,
            "steps": STEPS,
            "threshold": one.threshold,
            "limit": [_fields(one, time) for time in one.limit],
            "sizes": [_size(one, problem) for problem in one.problems],
        }
        for one in measured(results)
    ]


def _efficiency(share: Interval | None) -> dict[str, float | None]:
    found = (share.value, share.low, share.high) if share else (None, None, None)
    names = ("parallel_efficiency", "parallel_efficiency_low", "parallel_efficiency_high")
    return dict(zip(names, found, strict=True))


def _fields(one: Scaling, at: Time | Meeting) -> dict[str, Any]:
    known = {key: value for key, value in asdict(at).items() if key != "cell"}
    return {one.field: known.pop("number"), **known}


def _size(one: Scaling, problem: Problem) -> dict[str, Any]:
    met = one.meetings(problem) if one.keeps == "step" else (None, None)
    times = [_fields(one, time) | _efficiency(one.efficiency(problem, time)) for time in problem.times]
    return {
        "iterations": problem.iterations,
        "of": one.keeps,
        "times": times,
        "limit_ideal": met[0] and _fields(one, met[0]),
        "limit_actual": met[1] and _fields(one, met[1]),
    }
