"""A simulated machine on which time passes, and systems whose METG is known in each of its states.

The machine is in a state at each time. A state slows the kernel by one factor and the overhead of a task by
another. A system may have states of its own, which slow all of its runs and which the reference does not see.
Runs, their repeats and the reference last their seconds and see what is then, also where a state ends in the
middle. The simulation notes what each run saw, and computes from that what a search should have found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np

from taskgrain.estimate.sample import Sample
from taskgrain.measure.crew import Crew
from taskgrain.measure.experiments.experiment import Experiment, Request

TAU = 1e-8  # seconds of one iteration on quiet cores
WORK = 128.0  # of one iteration
PEAK = WORK / TAU
CORES, WIDTH = 2, 4
_REFERENCE_SECONDS = 0.01
_REFERENCE_EVERY = 0.25
_ASKING_SECONDS = 0.0003  # of a request, besides the run


@dataclass(frozen=True)
class State:
    """The factors on times."""

    kernel: float = 1.0
    overhead: float = 1.0
    run: float = 1.0
    """The factor on all of the system's runs; the reference does not see it."""


QUIET = State()
States = Iterator[tuple[float, State]]
"""States and how many seconds each lasts, without an end."""
StatesOf = Callable[[np.random.Generator], States]


def always(state: State = QUIET) -> StatesOf:
    def states(rng: np.random.Generator) -> States:
        while True:
            yield 3600.0, state

    return states


def markov(*levels: tuple[State, float]) -> StatesOf:
    """Each state with its mean dwell time in seconds; any other follows it, equally often."""

    def states(rng: np.random.Generator) -> States:
        dwell = np.array([seconds for _, seconds in levels])
        now = int(rng.choice(len(levels), p=dwell / dwell.sum()))
        while True:
            yield float(rng.exponential(dwell[now])), levels[now][0]
            now = (now + int(rng.integers(1, len(levels)))) % len(levels)

    return states


def wandering(scatter: float, seconds: float) -> StatesOf:
    """A clock whose logarithm walks at random and comes back: its standard deviation, and after what time."""

    def states(rng: np.random.Generator) -> States:
        step = min(0.01, seconds / 10.0)
        keeps = math.exp(-step / seconds)
        log = scatter * float(rng.standard_normal())
        while True:
            factor = math.exp(log)
            yield step, State(factor, factor)
            log = keeps * log + scatter * math.sqrt(1.0 - keeps**2) * float(rng.standard_normal())

    return states


def recorded(file: Path) -> StatesOf:
    """The states of a machine (`tools/noise`), from anywhere in a recording on, and again from its beginning.

    A task that any core runs lasts as long as cores do in the mean; kernel and overhead are slower alike.
    """
    with np.load(file) as stored:
        factors, seconds = (
            np.exp2((stored["factors"].astype(float) - 64.0) / 32.0).mean(axis=0),
            stored["seconds"],
        )
    every = [(float(seconds), State(one, one)) for one in (factors / np.median(factors)).tolist()]

    def states(rng: np.random.Generator) -> States:
        first = int(rng.integers(len(every)))
        while True:
            yield from every[first:]
            first = 0

    return states


class Timeline:
    """States over time. It is asked in the order of time."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._until, self._state = next(states)

    def at(self, now: float) -> tuple[float, State]:
        """The state now, and until when it lasts."""
        while self._until <= now:
            seconds, self._state = next(self._states)
            self._until += seconds
        return self._until, self._state


@dataclass(frozen=True)
class Scatter:
    """The scatter of runs within a state: standard deviations of logarithms, and shares."""

    run: float = 0.02
    repeat: float = 0.01
    reference: float = 0.01
    outliers: float = 0.0
    """The share of repeats that take 3 to 100 times as long."""
    outlier_runs: float = 0.0
    """The share of runs all of whose repeats do."""
    slow_runs: float = 0.0
    """The share of runs that are slower from their begin to their end."""
    slower: tuple[float, float] = (1.0, 1.0)
    """The two factors between which it lies."""
    interrupts: float = 0.0
    """The share of measurements of the reference that lose 5 to 30 % of their time."""
    unseen: float = 0.0
    """The share of runs beside which the reference sees quiet cores whatever they are."""


class Machine:
    """Its clock, its states, and its reference."""

    def __init__(self, states: StatesOf, scatter: Scatter, rng: np.random.Generator) -> None:
        self.now = 0.0
        self.rng, self.scatter = rng, scatter
        self.states = Timeline(states(rng))
        self.rates: list[list[float]] = []
        self._measured_at = -math.inf

    def _reference(self, seconds: float) -> float:
        """The kernel's rate in the median step of so much time, which passes."""
        end, lasted = self.now + seconds, list[tuple[float, float]]()
        while self.now < end:
            until, state = self.states.at(self.now)
            until = min(until, end)
            lasted.append((1.0 / state.kernel, until - self.now))
            self.now = until
        lasted.sort()
        middle = next(
            k for k in range(len(lasted)) if sum(one for _, one in lasted[: k + 1]) >= seconds / 2.0
        )
        hit = self.scatter.interrupts and self.rng.random() < self.scatter.interrupts
        return (1.0 - hit * self.rng.uniform(0.05, 0.3)) * lasted[middle][0] * self._quiet_reference()

    def _quiet_reference(self) -> float:
        return PEAK * math.exp(self.scatter.reference * float(self.rng.standard_normal()))

    def refer(self, again: bool) -> None:
        """Measures the reference, unless that is neither asked for nor too long ago."""
        if again or self.now - self._measured_at >= _REFERENCE_EVERY:
            self.rates.append([self._reference(_REFERENCE_SECONDS)] * CORES)
            self._measured_at = self.now

    def beside(self, unseen: bool) -> float:
        """The reference before a run; `unseen` where it sees quiet cores whatever they are."""
        return self._quiet_reference() if unseen else self.rates[-1][0]


def additive(overhead: float, work: float) -> float:
    """Seconds of a task: first its overhead, then its work."""
    return overhead + work


@dataclass(frozen=True)
class Curve:
    """The cost of a task: n iterations take `task(overhead(n), n * TAU)` seconds of a core on quiet cores."""

    overhead: Callable[[float], float]
    task: Callable[[float, float], float] = additive
    start_seconds: float = 0.0
    """The seconds of the start and the end of a run."""

    def seconds(self, iterations: float, state: State) -> float:
        """The seconds of one task."""
        work = iterations * TAU * state.kernel
        return state.run * self.task(self.overhead(iterations) * state.overhead, work)

    def scaled(self, times: float) -> Curve:
        """The curve of a system whose METG is so many times as large."""
        return Curve(lambda n: times * self.overhead(n / times), self.task, self.start_seconds)

    def metg(self, state: State = QUIET, threshold: float = 0.5) -> float:
        """METG of a machine that stays in this state, in seconds, by bisection on a rising efficiency."""
        low, high = -8.0, 30.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            n = math.exp(middle)
            reached = n * TAU * state.kernel >= threshold * self.seconds(n, state)
            low, high = (low, middle) if reached else (middle, high)
        return math.exp(high) * TAU * state.kernel / threshold


@dataclass
class Process:
    slower: float
    """The factor on its runs, as long as it lives."""
    alive: bool = True

    def quit(self) -> None:
        pass

    def close(self) -> None:
        self.alive = False

    def kill(self) -> None:
        self.close()


@dataclass(frozen=True)
class Processes:
    """The differences between processes of a system, and the cost of another one."""

    scatter: float = 0.0
    """The standard deviation of the logarithm of their runs' times."""
    start: float = 0.0
    """Seconds; 0 if there is one process only."""


@dataclass
class System:
    """Runs on the machine, and what its runs saw."""

    machine: Machine
    curve: Curve
    states: Timeline
    """The states of the system alone."""
    processes: Processes = Processes()
    crew: Crew[Process] = field(default_factory=lambda: Crew(True))
    seen: list[State] = field(default_factory=list)
    """The states of the repeats of the rounds: factors averaged over the time of the repeat."""

    def turn(self, systems: int) -> None:
        """Before a round: the next process serves, or a fresh one, if it is time for another."""
        if self.crew.due(self.machine.now, math.inf, systems):
            self._start()
        self.crew.turn()

    def _start(self) -> None:
        begin = self.machine.now
        self.machine.now += self.processes.start
        slower = math.exp(self.processes.scatter * float(self.machine.rng.standard_normal()))
        self.crew.join(Process(slower))
        self.crew.took(begin, self.machine.now)

    def run(self, request: Request) -> list[Sample]:
        machine, scatter, rng = self.machine, self.machine.scatter, self.machine.rng
        if self.crew.serving is None:
            self._start()
        process = self.crew.serving
        assert process is not None
        unseen = rng.random() < scatter.unseen
        log_run = scatter.run * rng.standard_normal() + math.log(process.slower)
        if rng.random() < scatter.outlier_runs:
            log_run += math.log(rng.uniform(3.0, 100.0))
        slower = float(rng.uniform(*scatter.slower)) if rng.random() < scatter.slow_runs else 1.0
        peak = machine.beside(unseen)
        machine.now += _ASKING_SECONDS
        tasks, times = request.steps * WIDTH, []
        for k in range(request.warmup + request.repeats):
            log = log_run + scatter.repeat * rng.standard_normal()
            if rng.random() < scatter.outliers:
                log += math.log(rng.uniform(3.0, 100.0))
            seconds, saw = self._repeat(request.iterations, tasks, slower, math.exp(log))
            if k >= request.warmup:
                times.append(seconds)
                if request.phase == "measure":
                    self.seen.append(State(*(saw[:3] / saw[3]).tolist()))
        work = WORK * request.iterations * tasks
        return [
            Sample(request.iterations, request.round, seconds, work, tasks, CORES, peak, self.crew.number)
            for seconds in times
        ]

    def _repeat(self, iterations: int, tasks: int, slower: float, noise: float) -> tuple[float, np.ndarray]:
        """Its seconds, which pass; its states' factors times their seconds, and the seconds."""
        begin, left, saw = self.machine.now, 1.0, np.zeros(4)
        while left > 0.0:
            now = self.machine.now
            until, state = self.machine.states.at(now)
            own_until, own = self.states.at(now)
            until = min(until, own_until)
            state = State(state.kernel, state.overhead, state.run * own.run * slower)
            start = self.curve.start_seconds * state.overhead * state.run
            whole = (tasks * self.curve.seconds(iterations, state) / CORES + start) * noise
            lasts = min(until - now, left * whole)
            left = left - lasts / whole if lasts < left * whole else 0.0
            saw += lasts * np.array([state.kernel, state.overhead, state.run, 1.0])
            self.machine.now = now + lasts
        return self.machine.now - begin, saw

    def typical_metg(self) -> float:
        """METG in the state of the machine that half of the repeats were better off than."""
        return float(np.median([self.curve.metg(state) for state in self.seen]))

    def mean_metg(self) -> float:
        return self.curve.metg(_mean(self.seen))

    def typical_overhead(self) -> float:
        """The overhead of a task without work, likewise; none exists where it depends on the size."""
        return float(np.median([one.run * one.overhead for one in self.seen])) * self.curve.overhead(0.0)


def _mean(states: Sequence[State]) -> State:
    return State(*np.mean([(one.kernel, one.overhead, one.run) for one in states], axis=0).tolist())


def drive_together(
    searches: Sequence[Experiment],
    systems: Sequence[System],
    budget: float,
    pause: float,
    judge: Callable[[], object] = lambda: None,
) -> bool:
    """Run searches in common rounds, run by run in turn, to their ends or for `budget` seconds each.

    After a round it is judged, and `pause` seconds pass, as with other cells. Returns whether the budget
    ended them.
    """
    machine = systems[0].machine
    spent, most = 0.0, budget * len(searches)
    while not all(search.done for search in searches):
        begin = machine.now
        for search, system in zip(searches, systems, strict=True):
            if not search.done and not search.preparing:
                system.turn(len(systems))
        for turn, requests in enumerate(zip_longest(*(search.next_round() for search in searches))):
            machine.refer(again=turn == 0)
            for search, system, request in zip(searches, systems, requests, strict=True):
                if request is None:
                    continue
                if spent + machine.now - begin > most:
                    return True
                search.tell(request, system.run(request), machine.rates)
        spent += machine.now - begin
        machine.now += pause
        judge()
    return False
