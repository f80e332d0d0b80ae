"""Measures cells that became slower between two results folders once more before they fail a job.

Others may have disturbed one measurement, and will hardly disturb a second one alike. The later side's cells
are measured again as the study of its folder says. Two systems take turns again, as they did before. If the
sides are two builds of one system, the earlier one is not there any more, and its stored runs count again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from taskgrain.answers.compare.cells import Compared, Comparison, Question, compare
from taskgrain.answers.compare.sides import Side
from taskgrain.drive import catalogue
from taskgrain.drive.system import System
from taskgrain.machine import facts
from taskgrain.machine.topology import choose_cores
from taskgrain.measure import call
from taskgrain.results import reader
from taskgrain.results.measurements import opened
from taskgrain.study import study as studies
from taskgrain.study.variables import suffix
from taskgrain.words.errors import UsageError

Part = tuple[int, Callable[[Path], tuple[Comparison, call.Measured]]]
"""The number of cells that are measured again together, and what measures them into a folder."""


def measured_again(
    found: Comparison, measured: call.Measured, parts: Iterable[Part], say: Callable[[int], None]
) -> tuple[Comparison, call.Measured]:
    """The comparison with the second measurements of some cells, and the cells as they are now. `say` gets
    the number of cells of each part, before it is measured."""
    for cells, measure in parts:
        say(cells)
        with call.folder_for(None) as folder:
            second, new = measure(folder)
        known = {one.name for one in new.cells}
        others = [one for one in measured.cells if one.name not in known]
        measured = replace(new, cells=(*others, *new.cells))
        if new.interrupted:
            break
        found = found.measured_again(second)
    return found, measured


def parts(
    found: Comparison,
    sides: Sequence[Side],
    known: Mapping[str, System],
    budget: float | None,
    *,
    quiet: bool,
) -> list[Part]:
    """Returns the parts to be measured again of each later side, and of each of its folders.

    `budget` are seconds for each part; without them it gets as much of the study's as it has of its cells.
    Raises `UsageError` where cells cannot be measured here as they were.
    """
    by_folder: dict[tuple[str, Path], list[Compared]] = {}
    others = {side.label: side for side in sides}
    for cell in found.cells:
        if cell.suspect:
            folder = others[cell.contender].of(cell.system, cell.workload)[-1].folder
            by_folder.setdefault((cell.contender, folder), []).append(cell)
    return [
        _part(folder, (sides[0], others[label]), cells, known, budget, found.question, quiet)
        for (label, folder), cells in by_folder.items()
    ]


def _part(
    folder: Path,
    sides: tuple[Side, Side],
    cells: Sequence[Compared],
    known: Mapping[str, System],
    budget: float | None,
    question: Question,
    quiet: bool,
) -> Part:
    file = folder / reader.STUDY
    study = studies.read(file, len(choose_cores(0)))
    simulated = all(known[one].simulates_nodes for one in study.systems if one in known)
    cores = choose_cores(study.settings.cores, named=f"{file}: cores", simulated=simulated)
    known = catalogue.started_by(known, study.settings.launcher, f"{file}: launcher")
    every = (one.with_variables(env, suffix(env)) for one in known.values() for env in study.env)
    every = (replace(one, setting="") for one in every)  # a system of its own, for the study has no `env`
    names = {(name, cell.workload): None for cell in cells for name in (cell.system, cell.against)}
    own = list(dict.fromkeys(system for system, _ in names))
    systems = catalogue.select({one.name: one for one in every}, own, f"{folder}: --again")
    by_turns = any(cell.against != cell.system for cell in cells)
    here = call.session(systems, cores, facts.facts())
    for one in (last for side in sides[not by_turns :] for name in names for last in side.of(*name)[-1:]):
        for what, there, now in (
            ("machine", one.session.machine, here.machine),
            ("build", one.build, here.builds[one.system]),
        ):
            if there and now and there != now:
                raise UsageError(
                    f"{folder}: --again: {one.system} is of {what} {there[:8]} there, and of {now[:8]} here; "
                    f"measure again where the {what} is that the results are of"
                )
    share = len(names) / max(1, len(study.cells(study.systems)))
    seconds = study.settings.budget * min(1.0, share) if budget is None else budget
    workloads = tuple(one for one in study.workloads if one.name in {name for _, name in names})
    if missing := {name for _, name in names} - {one.name for one in workloads}:
        raise UsageError(f"{file}: --again: has no workload {', '.join(sorted(missing))}")
    study = replace(
        study,
        systems=tuple(own),
        env=({},),
        workloads=workloads,
        settings=replace(study.settings, budget=seconds, rank_precision=study.settings.precision),
        exclude=(),
        only=names,
    )

    def measure(output: Path) -> tuple[Comparison, call.Measured]:
        measured = call.measure(study, systems, cores, output, quiet=quiet, kept=False)
        fresh = opened(output).measurements

        def renewed(side: Side) -> Side:
            own = (one for one in fresh if side.system in (None, one.system))
            return replace(side, measurements=tuple(own))

        first = renewed(sides[0]) if by_turns else sides[0]
        return compare([first, renewed(sides[1])], question), measured

    return len(cells), measure
