"""The measurements that a prediction of more cores may rest on, and the time to solution from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from taskgrain.answers.data import Cell, Results
from taskgrain.answers.sweeps import NUMBERS, sweeps, without
from taskgrain.estimate.scaling import Program, ProgramByCores
from taskgrain.results.builds import plain
from taskgrain.study.workload import REFERENCE
from taskgrain.words import numbers
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval
from taskgrain.words.origin import together

Say = Callable[[str], None]
"""A function that takes a sentence about cells that are left out."""
_MOST_DOUBLINGS = 40


@dataclass(frozen=True)
class Prediction:
    """A system on more and more cores."""

    cells: Sequence[Cell]
    """Its cells, by cores."""
    program: ProgramByCores
    """The program from their curves."""

    @property
    def until(self) -> Interval | None:
        """The cores up to which it is as efficient as METG is for."""
        found = [
            None if cell.metg.value is None else program.until(cell.threshold, cell.metg)
            for cell, (_, program) in zip(self.cells, self.program.curves, strict=True)
        ]
        return self.program.first(found)

    def simulated_on(self, cores: int) -> bool:
        """Tells whether the curve that tells of so many cores is simulated, and not all of them are."""
        held = [self.cells[0], *(one for one in self.cells if (one.cores or 0) <= cores)][-1]
        return held.origin.simulated and not self.cells[0].origin.simulated


def chosen(
    results: Results, workload: str | None, wished: Collection[str] | None, say: Say
) -> tuple[str, list[Cell]]:
    """Returns what the cells to predict from have in common, the workload or the tasks of a core; and the
    cells.

    `wished` are the systems, if the user names some. Raises `InputError` or `UsageError`.
    """
    name, here = _workload(results, workload)
    kept, left_out = together(_usable(here, wished))
    for one in left_out:
        say(one)
    return name, _scaling(kept, results.study.table.get("cores"), say)


def predictions(cells: Sequence[Cell], work: float, steps: int) -> list[Prediction]:
    """The time of each system for so much work, in seconds of one core, in so many steps."""
    found = []
    for system in dict.fromkeys(cell.system for cell in cells):
        own = sorted((one for one in cells if one.system == system), key=lambda one: one.cores or 0)
        programs = [(cell.cores or 1, _program(cell, work, steps)) for cell in own]
        found.append(Prediction(own, ProgramByCores(programs)))
    return found


def doubled(found: Iterable[Prediction]) -> list[int]:
    """Powers of two, from tasks that were measured until more cores are no use to any system."""
    programs = [one.program for one in found]
    counts = [2**power for power in range(_MOST_DOUBLINGS)]
    known = [count for count in counts if any(one.on(count).measured for one in programs)]
    first = known[0] if known else 1
    last = max((one.no_gain_beyond() or 0.0) for one in programs) or 1024.0 * first
    return [one for one in counts if first <= one < 2 * last] or [first]


def simulated(
    measured: Sequence[Cell],
    results: Results,
    sources: Mapping[str, object],
    say: Say,
) -> list[Cell]:
    """The simulated cells with the driver and the tasks of one that was measured, on more cores, as cells of
    its system. Says which of two simulations of a driver counts.

    `sources` are those of the drivers of systems; `simulators` are the systems that simulate nodes. Raises
    `UsageError`, which says what the results lack.
    """

    def driver(cell: Cell) -> object:
        return sources.get(plain(cell.system), cell.system)

    ordered = sorted(measured, key=lambda one: one.cores or 0)
    most = {one.system: one.cores or 0 for one in ordered}
    names = ", ".join(most)
    needs: dict[str, Callable[[Cell, Cell], object]] = {
        "has no results": lambda *_: True,
        "has no simulated cells": lambda _, cell: cell.origin.simulated,
        "its simulated cells have no curve": lambda _, cell: cell.points and not cell.error,
        f"{names}: simulated, too, and not measured": lambda one, _: not one.origin.simulated,
        f"does not simulate the driver of {names}": lambda one, cell: driver(cell) == driver(one),
        f"has no workload with the tasks of {measured[0].workload}, and as many on each core": _alike,
        f"simulates no more cores than were measured of {names}": lambda one, cell: (
            (cell.cores or 0) > most[one.system]
        ),
    }
    found = [(one, cell) for one in measured for cell in results.cells]
    for said, fits in needs.items():
        before, found = found, [pair for pair in found if fits(*pair)]
        if not found:
            there = ", ".join(dict.fromkeys(_tasks(cell) for _, cell in before if cell.origin.simulated))
            said += f"; it simulates {there}" * bool(there)
            raise UsageError(f"--simulate: {results.folder}: {said}")
    taken: dict[tuple[str, int | None], Cell] = {}
    for name in dict.fromkeys(one.system for one, _ in found):
        own = [cell for one, cell in found if one.system == name]
        first, *others = sorted({cell.system for cell in own})
        if others:
            say(
                f"{results.folder}: {name} is predicted from {first}, and not from {', '.join(others)}: "
                "that needs a folder without the other"
            )
        for cell in own:
            if cell.system == first:
                taken[name, cell.cores] = replace(cell, name=f"{name}/{cell.workload}")
    return list(taken.values())


def _workload(results: Results, workload: str | None) -> tuple[str, list[Cell]]:
    """Returns what the cells to predict from have in common, the workload or the tasks of a core; and the
    cells."""
    known = {name: [one for one in results.cells if one.workload == name] for name in results.workloads}
    every = []
    for one in sweeps(results):
        cells = [results.cells[number] for number in one.values]
        each = {cell.points_of_a_step / (cell.cores_there or 1) for cell in cells}
        if one.field in NUMBERS and len(each) == 1:
            known.setdefault(one.name, cells)
            every += [one.name] if len(cells) == len(results.cells) else []
    if workload is None and len(results.workloads) > 1 and not every:
        raise UsageError(f"--workload: DIR has several; give one of {', '.join(known)}")
    name = workload or "".join(every[:1] or results.workloads)
    if workload is not None:
        numbers.text(name, "--workload", list(known))
    return name, known.get(name, [])


def _usable(here: Sequence[Cell], wished: Collection[str] | None) -> list[Cell]:
    """Returns the cells that can be predicted from."""
    systems = list(dict.fromkeys(cell.system for cell in here))
    for name in wished or ():
        numbers.text(name, "--system", systems)
    found = [cell for cell in here if cell.system in (wished or systems)]
    usable = [cell for cell in found if cell.points and cell.cores and cell.points_of_a_step]
    if not usable:
        raise UsageError(
            "DIR has no curve to predict from: measure METG first (taskgrain metg, taskgrain study)"
        )
    if wished is not None:
        return usable
    # One that leaves cores unused does not scale, and one without METG has no limit.
    most = {cell.workload: cell.cores or 0 for cell in sorted(usable, key=lambda one: one.cores or 0)}
    idle = {cell.system for cell in usable if cell.cores != most[cell.workload]}
    return [cell for cell in usable if cell.system not in idle and cell.metg.value is not None] or usable


def _scaling(cells: list[Cell], given: object, say: Say) -> list[Cell]:
    """Returns the cells on more than one core; says which do not use the `given` cores."""

    def several(cell: Cell) -> bool:
        there = cell.cores_there or given
        return isinstance(there, int) and there > 1

    # Beside another reference, these are no cores but GPUs, say.
    alone = dict.fromkeys(
        cell.system for cell in cells if several(cell) and cell.cores == 1 and cell.reference == REFERENCE
    )
    names = ", ".join(alone)
    said = f"{names}: left out, because it used one core where there were several: more are no use to it"
    if alone and all(cell.system in alone for cell in cells):
        raise UsageError(said)
    if alone:
        say(said)
    return [cell for cell in cells if cell.system not in alone]


def _tasks(cell: Cell) -> str:
    """The tasks of a cell, whatever its nodes."""
    each = max(1, round((cell.fields["width"] or 1) / (cell.cores_there or cell.cores or 1)))
    return f"{without(cell.workload, 'width', 'nodes', 'cores')}/tasks_per_core={each}"


def _alike(one: Cell, other: Cell) -> bool:
    """Tells whether they have the same tasks, and as many on each core."""
    fields = [dict(cell.fields) | {"width": 0, "cores": 0, "nodes": 0} for cell in (one, other)]
    each = [cell.points_of_a_step / (cell.cores_there or cell.cores or 1) for cell in (one, other)]
    return fields[0] == fields[1] and each[0] == each[1]


def _program(cell: Cell, work: float, steps: int) -> Program:
    sizes = {point.efficiency * point.granularity: point.time for point in cell.points}
    curve = {size: time.within(cell.origin.error, size) for size, time in sizes.items()}
    floor = cell.number("floor")
    if floor.value is not None:
        curve[0.0] = floor
    tasks = (cell.points_of_a_step or 1) / (cell.cores or 1)
    return Program(work, steps, tasks, dict(sorted(curve.items())))
