"""`taskgrain predict`: the time to solution of a program on more cores, from the curves of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Json, Text, split_names
from taskgrain.words import numbers, quantity
from taskgrain.words.endings import Ending
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.interval import Interval

if TYPE_CHECKING:
    from taskgrain.answers.data import Cell, Results
    from taskgrain.cli.printer import Printer
    from taskgrain.drive.system import System
    from taskgrain.estimate.scaling import Program, ProgramByCores, Scaled

    Predicted = tuple[Sequence[Cell], ProgramByCores]
    """The cells of a system, by cores, and the program from their curves."""

_MOST_SECONDS = 1e15
"""Of work; numbers of cores for more would be beyond all counting."""
_MOST_DOUBLINGS = 40


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    work: Annotated[
        str,
        typer.Option("--work", metavar="TIME", help="All the work of the program, on one core: 90, 10m, 2h."),
    ],
    steps: Annotated[
        str, typer.Option("--steps", metavar="N", help="Time steps that it does the work in.")
    ] = "1000",
    cores: Annotated[
        Text,
        typer.Option(
            "--cores", metavar="LIST", help="Numbers of cores (default: doubled until it is no use)."
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAMES", help="Systems of DIR (default: all that have a METG)."),
    ] = None,
    workload: Annotated[
        Text,
        typer.Option("--workload", metavar="NAME", help="Of DIR, if that has several: stencil_1d/width=16."),
    ] = None,
    simulate: Annotated[
        Path | None,
        typer.Option(
            "--simulate",
            metavar="DIR",
            help="Results of the same drivers on simulated nodes: for more than were measured.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predicts how a program with the tasks of a workload scales to more cores."""
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder")
    total = numbers.seconds(work, "--work", high=_MOST_SECONDS)
    number = numbers.integer(steps, "--steps", low=1)
    given = (
        [numbers.integer(one, "--cores", low=1) for one in split_names([cores], "--cores")] if cores else []
    )
    from taskgrain.answers import data
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.results import reader
    from taskgrain.words.warnings import grouped

    results = data.read(folder)
    _warn(results)
    name, here = _workload(results, workload)
    cells = _scaling(_of_one_kind(_chosen(here, names)), reader.study(folder).table.get("cores"))
    cells += _simulated(cells, simulate) if simulate else []
    said = [] if as_json else grouped((cell.name, one) for cell in cells for one in cell.warnings)
    for group in said:
        note(f"{', '.join(group.cells)}: {group.text}")
    systems = dict.fromkeys(cell.system for cell in cells)
    programs = [_predicted([one for one in cells if one.system == name], total, number) for name in systems]
    counts = given or _doubled(programs)
    if as_json:
        print_json(
            {"work": total, "steps": number, "cells": [_fields(name, *one, counts) for one in programs]}
        )
    else:
        _show(printer(), name, programs, counts)


def _workload(results: Results, workload: str | None) -> tuple[str, list[Cell]]:
    """What the cells to predict from have in common, the workload or the tasks of a core; and the cells."""
    from taskgrain.answers.sweeps import NUMBERS, sweeps

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
    if name not in known and workload is not None:
        raise InputError("--workload", name, list(known))
    return name, known.get(name, [])


def _chosen(here: Sequence[Cell], names: list[str] | None) -> list[Cell]:
    """Those of the cells that can be predicted from."""
    systems = list(dict.fromkeys(cell.system for cell in here))
    wished = split_names(names) if names else systems
    for name in wished:
        if name not in systems:
            raise InputError("--system", name, list(systems))
    found = [cell for cell in here if cell.system in wished and cell.ending is not Ending.FAILED]
    usable = [cell for cell in found if cell.points and cell.cores and cell.points_of_a_step]
    if not usable:
        raise UsageError(
            "DIR has no curve to predict from: measure METG first (taskgrain metg, taskgrain study)"
        )
    if names is not None:
        return usable
    # One that leaves cores unused does not scale, and one without METG has no limit.
    most = {cell.workload: cell.cores or 0 for cell in sorted(usable, key=lambda one: one.cores or 0)}
    idle = {cell.system for cell in usable if cell.cores != most[cell.workload]}
    return [cell for cell in usable if cell.system not in idle and cell.metg.value is not None] or usable


def _of_one_kind(cells: list[Cell]) -> list[Cell]:
    """Those that were measured; all of them if all are simulated. Says which are left out."""
    measured = [cell for cell in cells if not cell.simulated]
    if measured and (names := ", ".join(dict.fromkeys(cell.system for cell in cells if cell.simulated))):
        note(f"{names}: left out, as simulated and not measured like the others; ask for it by --system")
    return measured or cells


def _scaling(cells: list[Cell], given: object) -> list[Cell]:
    """Those that use more than one core; says which of them do not, though `given` cores were there."""
    from taskgrain.drive.system import REFERENCE

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
        note(said)
    return [cell for cell in cells if cell.system not in alone]


def _warn(results: Results) -> None:
    for warning in results.warnings:
        note(f"{results.folder}: {warning}")


def _simulated(measured: Sequence[Cell], folder: Path) -> list[Cell]:
    """Those of a folder with the driver and the tasks of one that was measured, on more cores, as if they
    were of its system. Says what is odd about the folder, and which of two simulations of a driver counts.

    Raises `InputError` or `UsageError`, which says what the folder lacks.
    """
    from taskgrain.answers import data
    from taskgrain.drive import catalogue
    from taskgrain.results.builds import plain

    if not folder.is_dir():
        raise InputError("--simulate", str(folder), "a results folder")
    results, known = data.read(folder), catalogue.discover()
    _warn(results)

    def source(system: System) -> object:
        return (system.folder / system.sources[0]).resolve() if system.sources else system.name

    def driver(cell: Cell) -> object:
        system = known.get(plain(cell.system))
        return source(system) if system else cell.system

    ordered = sorted(measured, key=lambda one: one.cores or 0)
    last, most = ordered[-1], {one.system: one.cores or 0 for one in ordered}
    names = ", ".join(most)
    needs: dict[str, Callable[[Cell, Cell], object]] = {
        "has no results": lambda *_: True,
        "has no simulated cells": lambda _, cell: cell.simulated,
        "its simulated cells have no curve": lambda _, cell: cell.points and not cell.error,
        f"{names}: simulated, too, and not measured": lambda one, _: not one.simulated,
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
            there = ", ".join(dict.fromkeys(_tasks(cell) for _, cell in before if cell.simulated))
            said += f"; it simulates {there}" * bool(there)
            same = [
                name for name, one in known.items() if one.simulates_nodes and source(one) == driver(last)
            ]
            said += (
                f". To simulate more: {_to_simulate(min(same), last)}" if same and not last.simulated else ""
            )
            raise UsageError(f"--simulate: {folder}: {said}")
    taken: dict[tuple[str, int | None], Cell] = {}
    for name in dict.fromkeys(one.system for one, _ in found):
        own = [cell for one, cell in found if one.system == name]
        first, *others = sorted({cell.system for cell in own})
        if others:
            note(
                f"{folder}: {name} is predicted from {first}, and not from {', '.join(others)}: "
                "that needs a folder without the other"
            )
        for cell in own:
            if cell.system == first:
                taken[name, cell.cores] = replace(cell, name=f"{name}/{cell.workload}")
    return list(taken.values())


def _tasks(cell: Cell) -> str:
    """The tasks of a cell, whatever its nodes."""
    from taskgrain.answers.sweeps import without

    return f"{without(cell.workload, 'width', 'nodes', 'cores')}/tasks_per_core={_per_core(cell)}"


def _per_core(cell: Cell) -> int:
    return max(1, round(int(str(cell.fields["width"] or 1)) / (cell.cores_there or cell.cores or 1)))


def _to_simulate(system: str, one: Cell) -> str:
    """The command that simulates the tasks of what was measured, on more nodes."""
    from taskgrain.study.workload import Workload

    fields: dict[str, Any] = dict(one.fields) | {"width": 1, "nodes": 1, "cores": 0}
    nodes = one.nodes or 1
    return (
        f"taskgrain metg --system {system} {Workload(**fields).options().replace(' --width 1', '')} "
        f"--tasks-per-core {_per_core(one)} --cores {max(1, (one.cores_there or one.cores or 1) // nodes)} "
        f"--nodes {','.join(str(nodes * 4**power) for power in (1, 2, 3))} --output DIR"
    )


def _alike(one: Cell, other: Cell) -> bool:
    """Whether they have the same tasks, and as many on each core."""
    fields = [dict(cell.fields) | {"width": 0, "cores": 0, "nodes": 0} for cell in (one, other)]
    each = [cell.points_of_a_step / (cell.cores_there or cell.cores or 1) for cell in (one, other)]
    return fields[0] == fields[1] and each[0] == each[1]


def _predicted(cells: list[Cell], work: float, steps: int) -> Predicted:
    from taskgrain.estimate.scaling import ProgramByCores

    cells.sort(key=lambda one: one.cores or 0)
    return cells, ProgramByCores([(cell.cores or 1, _program(cell, work, steps)) for cell in cells])


def _program(cell: Cell, work: float, steps: int) -> Program:
    from taskgrain.estimate.scaling import Program

    sizes = {point.efficiency * point.granularity: point.time for point in cell.points}
    curve = {size: time.within(cell.simulation_error, size) for size, time in sizes.items()}
    floor = cell.number("floor")
    if floor.value is not None:
        curve[0.0] = floor
    tasks = (cell.points_of_a_step or 1) / (cell.cores or 1)
    return Program(work, steps, tasks, dict(sorted(curve.items())))


def _doubled(programs: Iterable[Predicted]) -> list[int]:
    """Powers of two, from tasks that were measured until more cores are no use to any system."""
    counts = [2**power for power in range(_MOST_DOUBLINGS)]
    known = [count for count in counts if any(program.on(count).measured for _, program in programs)]
    first = known[0] if known else 1
    last = max((program.no_gain_beyond() or 0.0) for _, program in programs) or 1024.0 * first
    return [one for one in counts if first <= one < 2 * last] or [first]


def _until(cells: Sequence[Cell], programs: ProgramByCores) -> Interval | None:
    found = [
        None if cell.metg.value is None else program.until(cell.threshold, cell.metg)
        for cell, (_, program) in zip(cells, programs.curves, strict=True)
    ]
    return programs.first(found)


def _show(out: Printer, name: str, programs: Sequence[Predicted], counts: Sequence[int]) -> None:
    from taskgrain.answers.verdict import error_of

    share = quantity.percent(programs[0][0][0].threshold)
    out.text(name, "bold")
    lines = []
    for cells, program in programs:
        until, least, beyond = _until(cells, program), program.at_least(), program.no_gain_beyond()
        lines.append(
            [
                cells[0].called + " (partly simulated)" * _is_simulated(cells, cells[-1].cores or 0),
                _cores(until) if until else quantity.NOTHING,
                quantity.interval(least) if least else quantity.NOTHING,
                quantity.NOTHING if beyond is None else _count(beyond),
            ]
        )
    out.table(["system", f"{share} efficient up to, cores", "shortest time", "no gain beyond, cores"], lines)
    out.text("Time to solution, and efficiency")
    columns = ["cores", "ideal", *(cells[0].called for cells, _ in programs)]
    rows = [
        [
            str(count),
            quantity.seconds(programs[0][1].curves[0][1].work / count),
            *(
                _time(program.on(count)) + " (simulated)" * _is_simulated(cells, count)
                for cells, program in programs
            ),
        ]
        for count in counts
    ]
    if out.fits(columns, rows):
        out.table(columns, rows, texts=0)
    else:
        for k, (cells, _) in enumerate(programs, start=2):
            out.text(cells[0].called, "bold")
            out.table(
                ["cores", "ideal", "time, efficiency"], [[row[0], row[1], row[k]] for row in rows], texts=0
            )
    if any(not program.on(count).measured for _, program in programs for count in counts):
        out.text("≈: no tasks of this size were measured")
    every = [cell for cells, _ in programs for cell in cells]
    simulated = [cell for cell in every if cell.simulated]
    where = {"measured": [cell for cell in every if not cell.simulated], "simulated": simulated}
    said = " and ".join(f"{how} on {_where(here)}" for how, here in where.items() if here)
    if simulated:
        out.text(error_of(simulated))
    out.text(
        f"{said.capitalize()}. For more of them, this supposes that the overhead of a task stays the "
        "same, and that the work divides evenly. A network, or memory that more cores share, may cost more.",
        "yellow",
    )


def _is_simulated(cells: Sequence[Cell], cores: int) -> bool:
    """Whether the curve that tells of so many cores is simulated, and not all of them are."""
    held = [cells[0], *(one for one in cells if (one.cores or 0) <= cores)][-1]
    return held.simulated and not cells[0].simulated


def _where(cells: Sequence[Cell]) -> str:
    """What they were measured on."""
    counts = sorted({(cell.nodes, cell.cores) for cell in cells if cell.cores})
    if all(nodes <= 1 for nodes, _ in counts):
        every = [cores for _, cores in counts]
        return f"{' and '.join(map(str, every))} {'core' if every == [1] else 'cores'}"
    count = quantity.counted
    return " and ".join(
        f"{count(nodes, 'node')} of {count(cores // nodes, 'core')}" for nodes, cores in counts
    )


def _time(scaled: Scaled) -> str:
    shown = f"{quantity.seconds(scaled.seconds.value)} {quantity.percent(scaled.efficiency.value):>5}"
    return shown if scaled.measured else f"≈ {shown}"


def _cores(span: Interval) -> str:
    bounds = " – ".join("?" if one is None else _count(one) for one in (span.low, span.high))
    return f"{_count(span.number)} ({bounds})"


def _count(value: float) -> str:
    """Cores, to three digits: `12.5`, `1 230`, `45 600 000`."""
    return (
        f"{value:.3g}" if value < 100 else f"{round(value, 2 - len(str(int(value)))):,.0f}".replace(",", " ")
    )


def _fields(
    name: str, cells: Sequence[Cell], program: ProgramByCores, counts: Sequence[int]
) -> dict[str, Any]:
    until, least = _until(cells, program), program.at_least()
    most = [one for one in cells if one.simulated == cells[0].simulated][-1]
    rows = [program.on(count) for count in counts]
    return {
        "system": most.system,
        "workload": name,
        "measured_cores": most.cores,
        "warnings": [one.shown() for cell in cells for one in cell.warnings],
        "threshold": most.threshold,
        "efficient_until": until and asdict(until),
        "shortest_seconds": least and asdict(least),
        "no_gain_beyond": program.no_gain_beyond(),
        "scaled": [
            {
                "cores": count,
                "task_seconds": row.task,
                "seconds": asdict(row.seconds),
                "efficiency": asdict(row.efficiency),
                "measured": row.measured,
            }
            | ({"simulated": True} if _is_simulated(cells, count) else {})
            for count, row in zip(counts, rows, strict=True)
        ],
    } | (
        {"simulated": True}
        if most.simulated
        else {"simulated_cores": cells[-1].cores}
        if cells[-1].simulated
        else {}
    )
