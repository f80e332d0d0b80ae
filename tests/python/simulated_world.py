"""A runner on a simulated machine, in this process: its clock, its drivers, and what is odd about them."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from killable_study import OVERHEADS

from taskgrain._core import Run
from taskgrain.drive.answers import DriverError, OutOfTime, Peak, Ready, RunResult
from taskgrain.drive.system import System
from taskgrain.machine.busy import Busy
from taskgrain.measure import call as command
from taskgrain.measure.crew import DriverName
from taskgrain.measure.plan import Plan
from taskgrain.measure.progress import Progress, Reporter
from taskgrain.measure.record import CellState
from taskgrain.measure.runner import Runner
from taskgrain.results.lines import MetgLine
from taskgrain.results.store import Store
from taskgrain.study.settings import Settings
from taskgrain.study.study import parse
from taskgrain.study.toml import Document

FLOP, ITERATION = 128.0, 64e-9
STUDY = {"patterns": ["stencil_1d", "nearest"], "widths": [4]}


class World:
    """The simulated machine: its clock, its drivers, and what is odd about them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.overheads = dict(OVERHEADS)
        """Seconds a task, by system."""
        self.started: Counter[str] = Counter()
        self.starting: dict[str, float] = {}
        self.quitting: dict[str, float] = {}
        """Seconds that starts and ends take, by system."""
        self.bounds: set[str] = set()
        """Systems that only show what could be reached."""
        self.hanging: set[str] = set()
        """Systems whose starts never end."""
        self.faults: dict[tuple[str, str], str] = {}
        """The faults by system and pattern; pattern `start` for the start."""
        self.busy: list[float] = []
        """The busy share of the next runs; 0 afterwards."""
        self.slowdown: Callable[[float], float] = lambda now: 1.0
        """The slowdown of all cores, by the time."""
        self.runs = 0
        self.rates = (FLOP / ITERATION,) * 2
        """The rates of the reference, core by core."""
        self.rates_of: dict[str, tuple[float, ...]] = {}
        """The rates of other processors' references."""
        self.cores = 2
        """The cores that every system occupies."""
        self.pace = 1.0
        """Seconds that pass in a second of a run."""
        self.wait = 0.0
        """Seconds that every request takes besides the run."""
        self.notes: list[str] = []
        self.standings: list[tuple[float, Progress]] = []
        """The times at which a progress was shown, and the progress."""

    def make(self, name: DriverName) -> Simulated:
        return Simulated(name, self)

    def peak(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        """The answer of a reference that reaches `rates`."""
        return rates

    def seconds(self, system: str, graphs: Run, iterations: int, cores: int) -> float:
        """The seconds of a run on so many quiet cores, without scatter."""
        return graphs.tasks * (self.overheads[system] + iterations * ITERATION) / cores

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class _Notes(Reporter):
    def __init__(self, world: World) -> None:
        self._world = world

    def note(self, text: str) -> None:
        self._world.notes.append(text)

    def show(self, progress: Progress) -> None:
        self._world.standings.append((self._world.now, progress))


class Simulated:
    """A driver whose answers depend on the request alone, so that an interrupted study can be compared."""

    def __init__(self, driver: DriverName, world: World) -> None:
        self.driver, self.name, self.world = driver, driver.system, world
        self.cores = driver.cores or world.cores
        self.busy = Busy()
        self.time_left: Callable[[], float] = lambda: math.inf
        self.alive = False

    def start(self) -> Ready:
        self.world.started[self.name] += 1
        self.world.now += self.world.starting.get(self.name, 0.0)
        if self.name in self.world.hanging:
            self.world.now += max(0.0, self.time_left())
            self.kill()
            raise OutOfTime
        if kind := self.world.faults.get((self.name, "start")):
            self.kill()
            raise DriverError(kind, "no licence", "log")
        self.alive = True
        binding = tuple((core,) for core in range(max(2, self.cores)))
        return Ready(self.name, "1", 1, self.cores, binding, {"event": "ready"})

    def run(self, graphs: Sequence[Mapping[str, Any]], *, repeats: int, **_: Any) -> RunResult:
        self.world.runs += 1
        graph = graphs[0]
        kind = self.world.faults.get((self.name, graph["pattern"]))
        if kind:
            if kind in ("crash", "timeout", "protocol"):
                self.kill()
            raise DriverError(kind, "cannot", "last words")
        iterations = graph["kernel"]["iterations"]
        made = Run(json.dumps({"op": "run", "graphs": list(graphs), "validate": "off"}))
        tasks = made.tasks
        dice = random.Random(f"{self.name} {graph}")
        base = self.world.seconds(self.name, made, iterations, self.driver.cores or 2)
        base *= self.world.slowdown(self.world.now)
        seconds = tuple(base * (1.0 + 0.02 * dice.random()) for _ in range(repeats))
        self.world.now += sum(seconds) * self.world.pace + self.world.wait
        self.busy = Busy(self.world.busy.pop(0) if self.world.busy else 0.0)
        work = tasks * iterations * FLOP
        return RunResult(seconds, (), tasks, tasks, 0, work, "flop", ((0,), (1,)), 1)

    def peak(self, kernel: Mapping[str, Any], seconds: float, isa: str) -> Peak:
        if kernel["name"] == "empty":
            raise DriverError("invalid", "kernel: empty is not allowed")
        slowdown = self.world.slowdown(self.world.now)
        self.world.now += seconds
        rates = self.world.rates_of.get(self.name, self.world.rates)[: self.driver.cores or None]
        return Peak(self.world.peak(tuple(rate / slowdown for rate in rates)), "flop")

    def log_tail(self) -> str:
        return "last words"

    def quit(self) -> None:
        pass

    def close(self) -> None:
        self.world.now += self.world.quitting.get(self.name, 0.0)
        self.kill()

    def kill(self) -> int | None:
        self.alive = False
        return 0


def measure(
    folder: Path,
    world: World,
    settings: Settings | None = None,
    table: Mapping[str, Any] = STUDY,
    **rest: Any,
) -> list[CellState]:
    systems = [System(name, folder, name, command=("x",), bound=name in world.bounds) for name in OVERHEADS]
    study = parse(Document(dict(table)), 2)
    study = dataclasses.replace(study, settings=settings or Settings(cores=2))
    with Store(folder, study.table([one.name for one in systems], 2), {}, command.completed) as store:
        plan = Plan(
            cells=study.cells([one.name for one in systems]),
            systems={one.name: one for one in systems} | rest.pop("systems", {}),
            settings=study.settings,
            make_driver=world.make,
            clock=lambda: world.now,
            reporter=_Notes(world),
            **rest,
        )
        return Runner(plan, store).run()


def comparable(states: Sequence[CellState]) -> list[Any]:
    lines = [s.result.to_json() if s.result else {} for s in states]
    return [{k: v for k, v in line.items() if k not in ("time", "elapsed")} for line in lines]


def result(state: CellState) -> MetgLine:
    assert state.result is not None
    return state.result
