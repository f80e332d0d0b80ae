"""Two drivers on the same graphs in one run: their METGs and the ratio, with its interval.

Both sides run the same graphs on the same cores, in turn, the leader changing every round. Both wait for
quiet cores, and what was disturbed is repeated. The reference just before and just after each pair of runs
serves both. `taskgrain.estimate.ratio` gives the ratio and its interval.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from quiet_cores import PROBE_SECONDS, Watch

from taskgrain._core import InvalidSpec
from taskgrain.drive.answers import RunResult
from taskgrain.drive.catalogue import discover
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.estimate.metg import estimate
from taskgrain.estimate.ratio import ratio
from taskgrain.estimate.reference import peak_beside
from taskgrain.estimate.sample import Sample
from taskgrain.machine.topology import choose_cores
from taskgrain.measure.call import reference_launch
from taskgrain.measure.experiments.sizes import crossing_of
from taskgrain.study.workload import Workload

FLOP_PER_ITERATION = 128
CORES = choose_cores(0)


def systems(names: str = "") -> list[System]:
    """The systems of a list with commas, or all that use all cores. Raises `ArgumentTypeError`."""
    known = {name: one for name, one in discover([]).items() if one.probe().available}
    known = {name: one for name, one in known.items() if one.cores_of(CORES) == tuple(CORES)}
    wanted = names.split(",") if names else list(known)
    for name in wanted:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is no system here; allowed: {', '.join(known)}")
    return [known[name] for name in wanted]


class Case(NamedTuple):
    """A workload, and how many steps its graph has."""

    workload: Workload
    steps: int

    @property
    def tasks(self) -> int:
        """Of one run. Raises `InvalidSpec` for a graph that there cannot be."""
        found = self.workload.exact_tasks(self.steps)
        assert found is not None, "a graph too large to be counted"
        return found

    @property
    def per_core(self) -> int:
        return self.workload.width // len(CORES)


def case(pattern: str, per_core: int, steps: int = 1000) -> Case:
    """So many tasks a core, with five dependences where the pattern leaves a choice."""
    return Case(Workload(pattern, per_core * len(CORES), radix=5), steps)


def cases(text: str) -> list[Case]:
    """The cases of a list of pattern:tasks per core. Raises `ArgumentTypeError`."""
    found = []
    for one in text.split(","):
        pattern, _, per_core = one.partition(":")
        if not per_core.isdecimal() or int(per_core) == 0:
            raise argparse.ArgumentTypeError(f"'{one}' is not pattern:tasks per core, such as stencil_1d:8")
        found.append(case(pattern, int(per_core)))
        try:
            _ = found[-1].tasks
        except InvalidSpec as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return found


def at_least_one(text: str) -> int:
    """A whole number from 1. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1")
    return int(text)


class Side(Protocol):
    def seconds(self, case: Case, iterations: int) -> float: ...


class Own:
    """A driver of this project, kept alive and stopped while it does not run."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self.repeats = 3
        self.session = Session("own", launch, log)
        self.session.start()
        self.session.park()

    def seconds(self, case: Case, iterations: int) -> float:
        return statistics.median(self.all_seconds(case, iterations, repeats=self.repeats))

    def all_seconds(self, case: Case, iterations: int, *, repeats: int) -> tuple[float, ...]:
        self.session.resume()
        result: RunResult = self.session.run(
            case.workload.request(iterations, case.steps), repeats=repeats, warmup=1
        )
        self.session.park()
        return result.seconds

    def close(self) -> None:
        self.session.close()


class Quietly:
    """A side whose runs wait for quiet cores; of several disturbed attempts the least disturbed counts."""

    def __init__(self, side: Side, watch: Watch, attempts: int = 3) -> None:
        self.side, self.watch, self.attempts = side, watch, attempts
        self.disturbed = 0

    def seconds(self, case: Case, iterations: int) -> float:
        attempts: list[tuple[float, float]] = []
        for _ in range(self.attempts):
            before = self.watch.wait(0.3)
            seconds = self.side.seconds(case, iterations)
            slowdown, disturbed = self.watch.judge(before, self.watch.look())
            if not disturbed:
                return seconds
            attempts.append((slowdown, seconds))
        self.disturbed += 1
        return min(attempts)[1]


def affordable(sides: Sequence[Side], case: Case, seconds: float) -> Case:
    """The case, with fewer steps if its smallest tasks would take a side longer than so many seconds."""
    few = case._replace(steps=min(20, case.steps))
    slowest = max(side.seconds(few, 1) for side in sides)
    return case._replace(steps=max(few.steps, min(case.steps, int(few.steps * seconds / slowest))))


def half_efficient(side: Side, case: Case, peak: float) -> float:
    """About how many iterations take as long as what is not the kernel."""
    size = 1.0
    for _ in range(2):  # by the smallest tasks, which may start slowly, and by those that they suggest
        work = FLOP_PER_ITERATION * round(size) * case.tasks
        efficiency = work / side.seconds(case, round(size)) / (peak * len(CORES))
        size = max(1.0, crossing_of(round(size), efficiency, 0.5))
    return size


def alone(reference: Session) -> float:
    """Work per second and core of the kernel alone at this moment."""
    reference.resume()
    found = reference.peak({"name": "compute_bound"}, 0.001)
    reference.park()
    return peak_beside([found.rates])


def rounds_of(
    sides: Sequence[Side], case: Case, reference: Session, count: int
) -> tuple[list[Sample], list[Sample]]:
    """The samples of both sides."""
    usual = statistics.median(alone(reference) for _ in range(5))
    centres = [half_efficient(side, case, usual) for side in sides]
    sizes = [sorted({max(1, round(c * 2.0**k)) for k in (-2, -1, -0.5, 0, 0.5, 1, 2)}) for c in centres]
    samples: list[list[Sample]] = [[] for _ in sides]
    for number in range(count):
        for pair in zip(*sizes, strict=False):
            before = alone(reference)
            order = sorted(range(len(sides)), reverse=number % 2 == 1)
            taken = {which: sides[which].seconds(case, pair[which]) for which in order}
            peak = math.sqrt(before * alone(reference))
            for which, seconds in taken.items():
                work = float(FLOP_PER_ITERATION * pair[which] * case.tasks)
                samples[which].append(
                    Sample(pair[which], number, seconds, work, case.tasks, len(CORES), peak)
                )
    return samples[0], samples[1]


def compare(sides: Sequence[Side], case: Case, reference: Session, count: int) -> str:
    first, second = rounds_of(sides, case, reference, count)
    own, other, found = estimate(first), estimate(second), ratio(first, second)
    if found.value is None or own.metg is None or other.metg is None:
        return f"{own.ending} / {other.ending}"
    both = f"{1e9 * own.metg:9.0f} {1e9 * other.metg:10.0f}"
    low, high = ("?" if bound is None else f"{bound:.2f}" for bound in (found.low, found.high))
    return f"{both}   {found.value:6.2f} ({low} to {high})"


@contextmanager
def quiet_reference() -> Iterator[tuple[Session, Watch]]:
    """The reference program, and a watch on the cores that asks it."""
    reference = Session("reference", reference_launch(CORES), Path(os.devnull))
    reference.start()
    reference.park()
    try:
        yield reference, Watch(lambda: reference.probe(PROBE_SECONDS), time.monotonic, time.sleep)
    finally:
        reference.close()
