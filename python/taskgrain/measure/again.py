"""What became slower between two results folders, measured once more before it fails a job.

Others may have disturbed one measurement, and will hardly disturb a second one alike. The later side's cells
are measured again as the study of its folder says. Two systems take turns again, as they did before. If the
sides are two builds of one system, the earlier one is not there any more, and its stored runs count again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taskgrain.drive import catalogue
from taskgrain.drive.builds import Builds
from taskgrain.drive.system import REFERENCE, System
from taskgrain.machine import facts
from taskgrain.machine.topology import choose_cores
from taskgrain.measure import call
from taskgrain.results import reader
from taskgrain.results.compare.cells import Compared, Comparison, compare
from taskgrain.results.compare.sides import Side
from taskgrain.results.measurements import Measurement, opened
from taskgrain.study import study as studies
from taskgrain.study.study import Study
from taskgrain.study.variables import suffix
from taskgrain.words.errors import UsageError


@dataclass(frozen=True)
class Part:
    """What is to be measured again of one side: cells that one folder has."""

    sides: tuple[Side, Side]
    """The first one, and this one."""
    names: frozenset[tuple[str, str]]
    """System and workload of what is measured."""
    study: Study
    systems: tuple[System, ...]
    cores: tuple[int, ...]
    cells: int
    """That became slower, or failed."""
    by_turns: bool
    """Whether the first side is measured again, too: it is of another system."""

    def measure(self, found: Comparison, output: Path, *, quiet: bool) -> tuple[Comparison, str]:
        """The comparison with what came of it, and what to tell a person who interrupted it.

        Raises what `call.measure` does.
        """
        measured = call.measure(
            self.study, self.systems, self.cores, output, retry=False, quiet=quiet, commands=False, kept=False
        )
        if measured.interrupted:
            return found, measured.interrupted
        every = opened(output).measurements
        fresh = {(one.system, one.workload): one for one in every}

        def renewed(side: Side) -> Side:
            mine = {(one.system, one.workload): one for one in side.measurements}
            return replace(side, measurements=tuple(fresh[one] for one in mine if one in fresh))

        first, other = self.sides
        first = renewed(first) if self.by_turns else first
        return found.measured_again(compare([first, renewed(other)], found.question)), ""


def parts(
    found: Comparison, sides: Sequence[Side], known: Mapping[str, System], budget: float | None = None
) -> list[Part]:
    """What is to be measured again of each later side.

    `budget` are seconds for each part; without them it gets as much of the study's as it has of its cells.
    Raises `UsageError` where cells cannot be measured here as they were.
    """
    planned = []
    for side in sides[1:]:
        by_folder: dict[Path, list[Compared]] = {}
        for cell in found.cells:
            if cell.suspect and cell.contender == side.label:
                by_folder.setdefault(side.of(cell.system, cell.workload)[-1].folder, []).append(cell)
        planned += [
            _part(folder, (sides[0], side), cells, known, budget) for folder, cells in by_folder.items()
        ]
    return planned


def _part(
    folder: Path,
    sides: tuple[Side, Side],
    cells: Sequence[Compared],
    known: Mapping[str, System],
    budget: float | None,
) -> Part:
    file = folder / reader.STUDY
    study = studies.read(file, len(choose_cores(0)), known)
    cores = choose_cores(study.settings.cores, named=f"{file}: cores")
    known = {
        one.name: one
        for each in known.values()
        for env in study.env
        for one in (each.with_variables(env, suffix(env)),)
    }
    first, other = sides
    old: list[Measurement] = []
    for cell in cells:
        old += [other.of(cell.system, cell.workload)[-1]]
        if cell.against != cell.system:
            old += [first.of(cell.against, cell.workload)[-1]]
    systems = catalogue.select(known, list(dict.fromkeys(one.system for one in old)), f"{folder}: --again")
    _refuse_other_builds(folder, systems, cores, old)
    names = frozenset((one.system, one.workload) for one in old)
    workloads = tuple(one for one in study.workloads if one.name in {name for _, name in names})
    if missing := {name for _, name in names} - {one.name for one in workloads}:
        raise UsageError(f"{file}: --again: has no workload {', '.join(sorted(missing))}")
    others = [
        {"system": (one.name,)} | {key: (value,) for key, value in workload.fields().items()}
        for one in systems
        for workload in workloads
        if (one.name, workload.name) not in names
    ]
    share = len(names) / max(1, len(study.cells(study.systems)))
    seconds = study.settings.budget * min(1.0, share) if budget is None else budget
    study = replace(
        study,
        systems=tuple(one.name for one in systems),
        env=({},),
        workloads=workloads,
        settings=replace(study.settings, budget=seconds),
        exclude=(*study.exclude, *others),
    )
    kept = tuple(replace(side, measurements=_of(side, cells)) for side in sides)
    by_turns = any(cell.against != cell.system for cell in cells)
    return Part((kept[0], kept[1]), names, study, tuple(systems), cores, len(cells), by_turns)


def _of(side: Side, cells: Sequence[Compared]) -> tuple[Measurement, ...]:
    names = {(name, cell.workload) for cell in cells for name in (cell.system, cell.against)}
    return tuple(one for one in side.measurements if (one.system, one.workload) in names)


def _refuse_other_builds(
    folder: Path, systems: Sequence[System], cores: Sequence[int], old: Sequence[Measurement]
) -> None:
    """Raises `UsageError` if what is built here is not what the folder's cells are of."""
    references = {one.reference_name: one.reference_launch(cores).command for one in systems if one.reference}
    builds = Builds({REFERENCE: call.reference_launch(cores).command} | references)
    there = {one.conditions.machine for one in old} - {None, facts.fingerprint(facts.facts())}
    if there:
        raise UsageError(f"{folder}: --again: is of another machine; measure again where it was measured")
    for system in systems:
        here = builds.of(system)
        if other := [one.build for one in old if one.system == system.name and one.build not in (None, here)]:
            raise UsageError(
                f"{folder}: --again: {system.name} is of build {str(other[0])[:8]} there, and of {here[:8]} "
                "here; measure again where the build is that the results are of"
            )
