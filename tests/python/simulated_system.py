"""A system whose METG is known: its efficiency curve is a formula, its noise is seeded, it has no clock.

One task of n iterations costs n * TAU + overhead(n) seconds of one core. Every run, and every measurement of
the reference, moves the session on by one position, on which drift depends.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import Experiment, Request

TAU = 1e-9  # seconds of one iteration
WORK = 128.0  # of one iteration
PEAK = WORK / TAU
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Multiplies times. `run` and `repeat` are standard deviations of logarithms."""

    run: float = 0.02  # one draw a run, shared by its repeats
    repeat: float = 0.01
    reference: float = 0.01
    slow_state: float = 0.0  # how much slower a run in the slow placement is
    slow_share: float = 0.0
    outliers: float = 0.0  # the share of repeats that take 3 to 100 times as long
    outlier_runs: float = 0.0  # the share of runs all of whose repeats do

    def draw(self, rng: np.random.Generator, runs: int, repeats: int) -> Floats:
        """Factors [runs x repeats]."""
        log = self.run * rng.standard_normal((runs, 1)) + self.repeat * rng.standard_normal((runs, repeats))
        log += np.log1p(self.slow_state) * (rng.random((runs, 1)) < self.slow_share)
        hit = (rng.random((runs, repeats)) < self.outliers) | (rng.random((runs, 1)) < self.outlier_runs)
        log += hit * np.log(rng.uniform(3.0, 100.0, (runs, repeats)))
        return np.asarray(np.exp(log))


QUIET = Noise(0.0, 0.0, 0.0)


@cache
def population_location(noise: Noise) -> float:
    """The location of a run's median, by which the curve of endless rounds is multiplied."""
    draws = noise.draw(np.random.default_rng(12345), 100_000, 3)
    logs = np.log(np.median(draws, axis=1))[:, None]
    logs = logs[logs[:, 0] < np.median(logs) + math.log(3.0)]  # what an estimate leaves out
    return math.exp(float(np.median(logs)))


@dataclass
class SimulatedSystem:
    """Answers requests and measures the reference. `overhead` maps iterations to seconds per task."""

    overhead: Callable[[float], float]
    noise: Noise = QUIET
    drift: Callable[[int], float] = lambda position: 1.0
    width: int = 4
    cores: int = 2
    start_seconds: float = 0.0
    growth: float = 0.0  # seconds that each task takes more for each task of its run
    seed: int = 0
    position: int = 0
    rates: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._factors: dict[int, list[list[float]]] = {}  # drawn many runs at a time, for speed
        self.measure_reference()

    def granularity(self, iterations: float) -> float:
        """The granularity of a run without noise, in seconds."""
        return iterations * TAU + self.overhead(iterations)

    def measure_reference(self) -> None:
        clock = self.drift(self.position)
        scatter = np.exp(self.noise.reference * self._rng.standard_normal(self.cores))
        self.rates.append((PEAK / clock * scatter).tolist())

    def run(self, request: Request) -> list[Sample]:
        clock = self.drift(self.position)
        self.position += 1
        drawn = self._factors.setdefault(request.repeats, [])
        if not drawn:
            drawn += self.noise.draw(self._rng, 200, request.repeats).tolist()
        factors = drawn.pop()
        tasks = request.steps * self.width
        granularity = self.granularity(request.iterations) + self.growth * tasks
        seconds = (tasks * granularity / self.cores + self.start_seconds) * clock
        work = WORK * request.iterations * tasks
        beside = PEAK / clock * math.exp(self.noise.reference * self._rng.standard_normal())
        return [
            Sample(request.iterations, request.round, seconds * f, work, tasks, self.cores, beside)
            for f in factors
        ]

    def true_metg(self, threshold: float = 0.5) -> float:
        """METG in seconds, where the curve crosses the threshold at the clock 1, by bisection."""
        factor = population_location(self.noise)

        def efficiency(log_n: float) -> float:
            n = math.exp(log_n)
            return WORK * n / (self.granularity(n) * factor * PEAK)

        low, high = -10.0, 40.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if efficiency(middle) < threshold else (low, middle)
        return WORK * math.exp(low) / (threshold * PEAK)


def constant(seconds: float) -> Callable[[float], float]:
    """An overhead that does not depend on the task."""
    return lambda n: seconds


def growing(seconds: float, exponent: float) -> Callable[[float], float]:
    """An overhead that grows with the task, as from cache misses; `seconds` at 100 iterations."""
    return lambda n: seconds * (max(n, 1.0) / 100.0) ** exponent


def bump(seconds: float, at: float, height: float) -> Callable[[float], float]:
    """An overhead that is `height` times as large from `at` to eight times `at`: a double crossing."""
    return lambda n: seconds * (height if at <= n < 8 * at else 1.0)


def samples_of(
    system: SimulatedSystem, sizes: tuple[int, ...], rounds: int, repeats: int = 3
) -> list[Sample]:
    """The samples as the measure phase would take them, the reference once a round."""
    found = []
    for r in range(rounds):
        turn = r % len(sizes)
        for n in sizes[turn:] + sizes[:turn]:
            found += system.run(Request("measure", r, n, 1000, repeats, 0))
        system.measure_reference()
    return found


def runs_of_both_lengths(system: SimulatedSystem, sizes: tuple[int, ...], rounds: int) -> list[Sample]:
    """The same, with runs of a tenth of the steps at the middle size."""
    found = samples_of(system, sizes, rounds)
    for r in range(rounds):
        few = system.run(Request("start", r, sizes[len(sizes) // 2], 100, 3, 0))
        found += [replace(one, short=True) for one in few]
    return found


Answer = tuple[Request, list[Sample], list[list[float]]]


def drive(search: Experiment, system: SimulatedSystem, most_runs: int = 5000) -> list[Answer]:
    """Run a search to its end, or for so many runs; returns what was told, in order."""
    answers: list[Answer] = []
    while not search.done and len(answers) < most_runs:
        for request in search.next_round():
            if len(answers) == most_runs:
                break
            answer = (request, system.run(request), [list(row) for row in system.rates])
            answers.append(answer)
            search.tell(*answer)
        system.measure_reference()
    return answers


def prepare(search: Experiment, system: SimulatedSystem) -> None:
    """Runs a search until it has chosen its sizes."""
    while search.preparing:
        (request,) = search.next_round()
        search.tell(request, system.run(request), system.rates)


def finish(search: Experiment, system: SimulatedSystem) -> Metg:
    """Run a search to its end and take its result."""
    drive(search, system)
    return search.result(system.rates)
