"""METG of the runtime's systems as times that of others, beside the aims.

    python bench/aims.py FOLDER [--last FOLDER]

FOLDER has the results of bench/runtime.toml. Prints a line for each aim and workload: the ratio, with an
interval such that all of a pair hold at once (95 %), the aim, and whether it is met: *yes* if all of the
interval is within it, *no* if nothing is, else *open*. With --last also the ratio in an earlier folder;
without it the newest earlier one of the same name is taken, as `make bench` keeps them: results/*/runtime.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from taskgrain.answers.compare.cells import compare
from taskgrain.answers.compare.sides import sides
from taskgrain.results import reader
from taskgrain.results.cell import cells
from taskgrain.words import quantity
from taskgrain.words.errors import TaskgrainError
from taskgrain.words.interval import Interval


class Aim(NamedTuple):
    """The most that a system's METG may be, as a multiple of another system's."""

    system: str
    to: str
    most: float
    one: float | None = None
    """The aim with one task a core, if that differs."""

    def of(self, workload: str, cores: int | None) -> float:
        one_a_core = f"width={cores}" in workload.split("/")
        return self.one if self.one is not None and one_a_core else self.most


AIMS = (
    Aim("taskgrain_graph", "limit", 1.15),
    Aim("taskgrain_graph", "mpi", 0.95),
    Aim("taskgrain_stf.traced", "limit", 1.2),
    Aim("taskgrain_graph.ranks", "mpi", 0.85, one=0.6),
    Aim("taskgrain_ptg", "limit", 1.6),
    Aim("taskgrain_ptg", "mpi", 1.0),
    Aim("taskgrain_ptg", "openmp_for", 1.0),
    Aim("taskgrain_ptg.ranks", "taskgrain_ptg", 1.5),
    Aim("taskgrain_stf", "limit", 5.0),
)


def met(found: Interval, most: float) -> str:
    low, high = found.ends
    return "yes" if high <= most else "no" if low > most else "open"


def ratios(folder: Path, aim: Aim) -> dict[str, Interval]:
    """The ratio of each workload. Raises `TaskgrainError`."""
    found = compare(sides([str(folder)], [aim.to, aim.system])).cells
    return {one.workload: one.ratios.get("metg", Interval()) for one in found}


def ratios_before(last: Path | None, aim: Aim) -> dict[str, Interval]:
    """The same of an earlier folder; none if it lacks one of the systems."""
    try:
        return ratios(last, aim) if last else {}
    except TaskgrainError:
        return {}


def newest_beside(folder: Path) -> Path | None:
    """The last folder of the same study that `make bench` kept before this one."""
    here = folder.resolve()
    others = sorted(one for one in here.parent.parent.glob(f"*/{here.name}") if one < here)
    return others[-1] if others else None


def show(folder: Path, last: Path | None) -> None:
    measured = cells(reader.read(folder).shown).values()
    systems = {cell.system for cell in measured}
    cores = {cell.workload: cell.cores for cell in measured if cell.cores and not cell.bound}
    count: Counter[str] = Counter()
    print("METG of the first system as times that of the second (95 %, all of a pair at once), and the aim:")
    for aim in AIMS:
        print(f"{aim.system} to {aim.to}")
        if missing := [one for one in (aim.system, aim.to) if one not in systems]:
            print(f"  not measured: {', '.join(missing)}")
            continue
        now = ratios(folder, aim)
        before = ratios_before(last, aim)
        for workload, found in now.items():
            most = aim.of(workload, cores.get(workload))
            answer, now_is = met(found, most), quantity.ratio_interval(found)
            count[answer] += 1
            then = f"  last time {quantity.ratio_interval(before[workload])}" if workload in before else ""
            print(f"  {workload:34} {now_is:22} aim {most:<4g} {answer:4}{then}".rstrip())
    yes, no, unknown = (count[word] for word in ("yes", "no", "open"))
    print(f"{yes} of {count.total()} ratios meet their aims, {no} miss them, {unknown} are open")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--last", type=Path, help="an earlier folder (default: the newest beside FOLDER)")
    options = parser.parse_args()
    try:
        show(options.folder, options.last or newest_beside(options.folder))
    except TaskgrainError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
