"""Two drivers on the same graphs in one run: their METGs and the ratio, with its interval.

Both sides run the same graphs on the same cores, in turn, the leader changing every round. Both wait for
quiet cores, and what was disturbed is repeated. One reference serves both. The interval of the ratio is a
bootstrap over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from taskgrain._core import InvalidSpec, Run
from taskgrain.drive.answers import Peak, RunResult
from taskgrain.drive.catalogue import Launch, System, discover
from taskgrain.drive.session import Session
from taskgrain.estimate.metg import Sample, estimate, peak_rate
from taskgrain.machine.topology import choose_cores
from taskgrain.measure.call import reference_launch
from taskgrain.measure.experiments.sizes import crossing_of
from taskgrain.measure.quiet import PROBE_SECONDS, Watch

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


def graphs(cases: str, steps: int = 1000) -> list[Graph]:
    """Graphs of a list of pattern:tasks per core. Raises `ArgumentTypeError`."""
    found = []
    for case in cases.split(","):
        pattern, _, per_core = case.partition(":")
        if not per_core.isdecimal() or int(per_core) == 0:
            raise argparse.ArgumentTypeError(f"'{case}' is not pattern:tasks per core, such as stencil_1d:8")
        found.append(Graph(pattern, int(per_core) * len(CORES), steps))
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


@dataclass(frozen=True)
class Graph:
    pattern: str
    width: int
    steps: int
    radix: int = 5

    def request(self, iterations: int) -> list[dict[str, object]]:
        kernel = {"name": "compute_bound", "iterations": iterations}
        return [
            {
                "pattern": self.pattern,
                "steps": self.steps,
                "width": self.width,
                "radix": self.radix,
                "kernel": kernel,
            }
        ]

    @property
    def tasks(self) -> int:
        return Run(json.dumps({"op": "run", "graphs": self.request(1), "validate": "off"})).tasks


class Side(Protocol):
    def seconds(self, graph: Graph, iterations: int) -> float: ...


class Own:
    """A driver of this project, kept alive and stopped while it does not run."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self.repeats = 3
        self.session = Session("own", launch, log)
        self.session.start()
        self.session.park()

    def seconds(self, graph: Graph, iterations: int) -> float:
        return statistics.median(self.all_seconds(graph, iterations, repeats=self.repeats))

    def all_seconds(self, graph: Graph, iterations: int, *, repeats: int) -> tuple[float, ...]:
        self.session.resume()
        result: RunResult = self.session.run(graph.request(iterations), repeats=repeats, warmup=1)
        self.session.park()
        return result.seconds

    def close(self) -> None:
        self.session.close()


class Quietly:
    """A side whose runs wait for quiet cores; of several disturbed attempts the least disturbed counts."""

    def __init__(self, side: Side, watch: Watch, attempts: int = 3) -> None:
        self.side, self.watch, self.attempts = side, watch, attempts
        self.disturbed = 0

    def seconds(self, graph: Graph, iterations: int) -> float:
        attempts: list[tuple[float, float]] = []
        for _ in range(self.attempts):
            before = self.watch.wait(0.3)
            seconds = self.side.seconds(graph, iterations)
            slowdown, disturbed = self.watch.judge(before, self.watch.look())
            if not disturbed:
                return seconds
            attempts.append((slowdown, seconds))
        self.disturbed += 1
        return min(attempts)[1]


def affordable(sides: Sequence[Side], graph: Graph, seconds: float) -> Graph:
    """The graph, with fewer steps if its smallest tasks would take a side longer than so many seconds."""
    few = replace(graph, steps=min(20, graph.steps))
    slowest = max(side.seconds(few, 1) for side in sides)
    return replace(graph, steps=max(few.steps, min(graph.steps, int(few.steps * seconds / slowest))))


def half_efficient(side: Side, graph: Graph, peak: float) -> float:
    """About how many iterations take as long as what is not the kernel."""
    size = 1.0
    for _ in range(2):  # by the smallest tasks, which may start slowly, and by those that they suggest
        work = FLOP_PER_ITERATION * round(size) * graph.tasks
        efficiency = work / side.seconds(graph, round(size)) / (peak * len(CORES))
        size = max(1.0, crossing_of(round(size), efficiency, 0.5))
    return size


def rounds_of(
    sides: Sequence[Side], graph: Graph, reference: Session, count: int
) -> tuple[list[list[Sample]], list]:
    """The samples of each side, and the reference's rates."""

    def measure_reference() -> list[float]:
        reference.resume()
        peak: Peak = reference.peak({"name": "compute_bound"}, 0.02)
        reference.park()
        return list(peak.rates)

    rates = [measure_reference() for _ in range(5)]
    centres = [half_efficient(side, graph, peak_rate(rates)) for side in sides]
    sizes = [sorted({max(1, round(c * 2.0**k)) for k in (-2, -1, -0.5, 0, 0.5, 1, 2)}) for c in centres]
    samples: list[list[Sample]] = [[] for _ in sides]
    for number in range(count):
        rates.append(measure_reference())
        for pair in zip(*sizes, strict=False):
            for which in sorted(range(len(sides)), reverse=number % 2 == 1):
                size = pair[which]
                seconds = sides[which].seconds(graph, size)
                work = float(FLOP_PER_ITERATION * size * graph.tasks)
                samples[which].append(Sample(size, number, seconds, work, graph.tasks, len(CORES)))
    return samples, rates


def ratio_interval(samples: Sequence[list[Sample]], rates: list, count: int) -> tuple[float, float]:
    """95 % of the ratio of the two METGs, over resampled rounds."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(300):
        picks = rng.integers(0, count, count)
        again = [
            [replace(s, round=k) for k, pick in enumerate(picks) for s in one if s.round == pick]
            for one in samples
        ]
        own, other = (estimate(one, rates, resamples=2).metg for one in again)
        if own is not None and other is not None:
            ratios.append(own / other)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def compare(sides: Sequence[Side], graph: Graph, reference: Session, count: int) -> str:
    samples, rates = rounds_of(sides, graph, reference, count)
    own, other = (estimate(one, rates) for one in samples)
    if own.metg is None or other.metg is None:
        return f"{own.ending} / {other.ending}"
    low, high = ratio_interval(samples, rates, count)
    both = f"{1e9 * own.metg:9.0f} {1e9 * other.metg:10.0f}"
    return f"{both}   {own.metg / other.metg:6.2f} ({low:.2f} to {high:.2f})"


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
