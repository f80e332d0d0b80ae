"""Two builds of a system, measured as the two sides of one study until it is decided which is faster.

The runs of both take turns in every round, so that their ratio needs no second session. Whoever looks at a
ratio again and again, and stops once it shows something, will sooner or later see what is not there. The
cells are therefore looked at after a few numbers of rounds only, and the intervals hold at all of these at
once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taskgrain.answers.compare.cells import Comparison, Question, compare
from taskgrain.answers.compare.sides import Side
from taskgrain.drive import system_file
from taskgrain.drive.answers import DriverError
from taskgrain.drive.catalogue import started_by, systems_in, unknown
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.estimate.metg import Metg
from taskgrain.estimate.quantities import AT_A_SIZE, shared_size
from taskgrain.estimate.ratio import decision, ratio
from taskgrain.estimate.sample import Sample
from taskgrain.measure import call
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import CellState
from taskgrain.results.builds import OtherBuilds
from taskgrain.results.measurements import opened
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study
from taskgrain.study.workload import Workload
from taskgrain.words.errors import InputError, UsageError

LOOKS = (10, 14, 20, 28, 40, 57, 80, 113, 160)
"""Rounds after which both sides are looked at, a factor of the square root of two apart."""
OLD, NEW = "old", "new"
_RESAMPLES = 1000


@dataclass(frozen=True)
class Pair:
    """Two builds of one system, each a system of its own."""

    name: str
    old: System
    new: System


def pairs(
    places: tuple[Path, Path], names: Sequence[str], known: Mapping[str, System], launcher: str = "auto"
) -> list[Pair]:
    """The systems of two builds.

    A place is a driver's program, the folder of a system, or a folder of systems. `names` are those to take;
    of one program it is the system whose driver it is, and of two folders with different names what the
    system in both is called. `launcher` starts the ranks of both. Raises `InputError` or `UsageError`.
    """
    for place in places:
        if not place.exists():
            raise InputError("--build", str(place), _PLACES)
    alone = all((place / "system.toml").is_file() for place in places)
    renamed = alone and places[0].absolute().name != places[1].absolute().name
    if renamed and len(names) == 1:
        sides = [{names[0]: system_file.read(place.absolute())} for place in places]
    else:
        sides = [_systems(place, names, known) for place in places]
    sides = [started_by(side, launcher) for side in sides]
    shared = [name for name in sides[0] if name in sides[1]]
    if not shared:
        there = "; ".join(f"{place}: {', '.join(side)}" for place, side in zip(places, sides, strict=True))
        hint = "; if both are builds of one system, say with --system what to call it" if renamed else ""
        raise UsageError(f"--build: the two places have no system in common ({there}){hint}")
    found = []
    for name in shared:
        old, new = (
            replace(side[name], name=f"{name}.{suffix}", title=f"{side[name].title}, {suffix}", variants=())
            for side, suffix in zip(sides, (OLD, NEW), strict=True)
        )
        for one, place in ((old, places[0]), (new, places[1])):
            if missing := one.probe().missing:
                raise UsageError(f"--build: {name} of {place} cannot run here: no {', no '.join(missing)}")
        found.append(Pair(name, old, new))
    return found


_PLACES = "a driver's program, a system's folder, or a folder of systems"


def _systems(place: Path, names: Sequence[str], known: Mapping[str, System]) -> dict[str, System]:
    place = place.absolute()
    if place.is_file():
        if len(names) != 1:
            raise UsageError(f"--build: {place} is a program; say with --system whose driver it is")
        if names[0] not in known:
            raise unknown("--system", names[0], known)
        return {names[0]: _with_driver(known[names[0]], place)}
    found = systems_in(place)
    if not found:
        raise InputError("--build", str(place), _PLACES)
    for name in names:
        if name not in found:
            raise InputError("--system", name, f"{', '.join(found)} (of {place})")
    if names:
        return {name: found[name] for name in names}
    return {name: one for name, one in found.items() if "." not in name}


def _with_driver(system: System, program: Path) -> System:
    """The system with another program in the place of its driver, the first word of its folder."""
    own = [word for word in system.command if word.startswith("{dir}/")]
    if not own:
        raise UsageError(
            f"--build: the command of {system.name} names no driver in its folder; give two systems' folders"
        )

    interpreted = system.command[system.command.index(own[0]) - 1] == "{python}"
    if not interpreted and not os.access(program, os.X_OK):
        raise UsageError(f"--build: {program} is not executable")

    def placed(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(str(program) if word == own[0] else word for word in words)

    return replace(system, command=placed(system.command), files=placed(system.files))


def check_programs(places: tuple[Path, Path], found: Sequence[Pair], cores: Sequence[int]) -> None:
    """Starts each place that is a program once, before anything is measured. Raises `UsageError` if its
    answer says that it is no driver, or the driver of another system."""
    named: dict[Path, str] = {}
    for pair in found:
        for place, system in zip(places, (pair.old, pair.new), strict=True):
            if not place.is_file():
                continue
            try:
                with Session(system.name, system.launch(cores)) as session:
                    named[place] = session.start().system
            except DriverError as error:
                raise UsageError(f"--build: {place} is no driver of {pair.name}: {error.message}") from None
            # Drivers of other folders may have any name.
            if system.group and named[place] != pair.name.partition(".")[0]:
                raise UsageError(f"--build: {place} is the driver of {named[place]}, not of {pair.name}")
    if len(set(named.values())) > 1:
        each = ", ".join(f"{place} of {name}" for place, name in named.items())
        raise UsageError(f"--build: the programs are drivers of two systems: {each}")


class UntilDecided(MetgSearch):
    """The search of one build for METG. It goes on however well METG is known, until the judge ends it."""

    def _decided(self, verdict: Metg) -> bool:
        return self._without_crossing(verdict)

    def end(self) -> None:
        """Ends the measurement: its result decides, or nothing will."""
        self._done, self._pending = True, []

    def everything(self) -> list[Sample]:
        """Returns the samples that all quantities rest on, with those of the empty kernel."""
        return [*self.samples(), *self._floor_samples()]


class Judge:
    """Ends the cells of both builds once a look decides between them."""

    def __init__(self, found: Sequence[Pair], question: Question, threshold: float) -> None:
        self._pairs, self._question, self._threshold = found, question, threshold

    def __call__(self, states: Sequence[CellState], over: bool = False) -> None:
        """Looks at the cells of a workload, unless the study is `over`."""
        if over:
            return
        by_system = {state.cell.system: state for state in states}
        for pair in self._pairs:
            old, new = by_system.get(pair.old.name), by_system.get(pair.new.name)
            if old is None or new is None or (old.done and new.done):
                continue
            # A side alone tells nothing, so one that has ended ends the other.
            if old.done or new.done or self._decided(old.experiment, new.experiment):
                for state in (old, new):
                    if isinstance(state.experiment, UntilDecided):
                        state.experiment.end()

    def _decided(self, old: object, new: object) -> bool:
        if (
            not isinstance(old, UntilDecided)
            or not isinstance(new, UntilDecided)
            or old.preparing
            or new.preparing
        ):
            return False
        if old.rounds != new.rounds or old.rounds not in LOOKS:
            return False
        over, under = new.everything(), old.everything()
        by = self._question.by
        found = ratio(
            over,
            under,
            quantity=by,
            threshold=self._threshold,
            confidence=confidence(self._question, len(self._pairs)),
            iterations=shared_size([over, under], self._threshold) if by in AT_A_SIZE else None,
            resamples=_RESAMPLES,
        )
        return found.value is not None and decision(found, by, self._question.margin) != "undecided"


def confidence(question: Question, cells: int) -> float:
    """Returns the confidence of each interval at each look with which all of them hold at once."""
    return 1.0 - (1.0 - question.confidence) / (cells * question.looks)


def measure(
    found: Sequence[Pair],
    workload: Workload,
    settings: Settings,
    cores: Sequence[int],
    output: Path,
    question: Question,
    *,
    quiet: bool,
    kept: bool = True,
) -> call.Measured:
    """Measures both builds into `output` until it is decided or the budget is spent. Without `kept`, the
    caller throws `output` away.

    Raises `TaskgrainError` like `call.measure`.
    """
    asked = replace(question, looks=len(LOOKS))
    systems = [one for pair in found for one in (pair.old, pair.new)]
    settings = replace(
        settings, min_rounds=LOOKS[0], max_rounds=LOOKS[-1], precision=max(question.margin, 0.01)
    )
    try:
        return call.measure(
            Study(tuple(one.name for one in systems), (workload,), settings),
            systems,
            cores,
            output,
            quiet=quiet,
            experiment=UntilDecided,
            judge=Judge(found, asked, settings.threshold),
            kept=kept,
        )
    except OtherBuilds:  # --restart makes no sense of one side alone
        raise UsageError(f"{output}: holds results of other builds; choose another --output") from None


def compared(
    found: Sequence[Pair], output: Path, places: tuple[Path, Path], question: Question
) -> Comparison:
    """Compares the two builds by the runs in the folder."""
    every = opened(output).measurements
    sides = []
    for place, suffix in zip(places, (OLD, NEW), strict=True):
        names = {f"{pair.name}.{suffix}": pair.name for pair in found}
        own = [replace(one, system=names[one.system]) for one in every if one.system in names]
        sides.append(Side(str(place), tuple(own)))
    return compare(sides, replace(question, looks=len(LOOKS)))
