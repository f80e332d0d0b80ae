"""Drivers of a study: parked when idle, started again after a crash and now and then, ended together."""

import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from simulated_world import Simulated, World

from taskgrain.drive.answers import DriverError, OutOfTime, Ready
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.measure import crew
from taskgrain.measure.crew import MOST, DriverName
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.plan import Plan
from taskgrain.measure.progress import Reporter
from taskgrain.study.settings import Settings
from taskgrain.study.workload import REFERENCE
from taskgrain.words.errors import TaskgrainError, UsageError
from taskgrain.words.warnings import notice

HOSTILE = Path(__file__).parents[1] / "drivers" / "hostile.py"
CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
FAST, SLOW = DriverName("fast"), DriverName("slow")


class Notes(Reporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def drivers(
    world: World, systems: Mapping[str, System] | None = None, left: Callable[[], float] = lambda: math.inf
) -> tuple[Drivers, list[str]]:
    """The drivers of a plan, and what is said of them; `left` are the seconds of the budget."""
    notes = Notes()
    plan = Plan([], systems or {}, Settings(), world.make, clock=lambda: world.now, reporter=notes)
    return Drivers(plan, left), notes.said


def many_rounds(own: Drivers, world: World, count: int = 20) -> None:
    """Rounds of a tenth of a second after each of which the driver of `fast` may start afresh."""
    for _ in range(count):
        own.get(FAST)
        world.now += 0.1
        own.turn([FAST])


def test_a_driver_starts_once_and_is_parked() -> None:
    world = World()
    own, _ = drivers(world)
    assert own.get(FAST) is own.get(FAST)
    assert world.started == {"fast": 1}
    assert own.ready[FAST].cores == 2
    own.get(FAST).kill()
    own.get(FAST)
    assert world.started == {"fast": 2}


def test_what_a_driver_warns_of_is_said_in_words() -> None:
    world = World()

    class Shared(Simulated):
        def start(self) -> Ready:
            ready = super().start()
            return Ready(
                *[getattr(ready, one) for one in ("system", "version", "nodes", "cores", "binding", "raw")],
                (notice("binding_shared", workers=[0, 1], processor=5),),
            )

    world.make = lambda name: Shared(name, world)  # type: ignore[method-assign]
    own, said = drivers(world)
    own.get(FAST)
    assert said == ["fast: Workers 0, 1 share processor 5. Give each worker a core of its own."]


def test_quick_drivers_start_afresh_as_often_as_an_eighth_of_the_time_allows() -> None:
    world = World()
    world.starting = {"fast": 0.03, "slow": 0.3, "worker": 5.0}
    world.quitting = {"fast": 0.01}
    names = [FAST, SLOW, DriverName("worker")]
    own, _ = drivers(world)
    for name in names:
        own.get(name)
    for _ in range(1000):
        world.now += 0.1  # a round
        own.turn(names)
        for name in names:
            own.get(name)
    assert world.started["worker"] == 1
    assert 50 < world.started["fast"] <= 1 + 1000 * 0.1 / 8.0 / 0.03 and 5 < world.started["slow"] < 26
    restarts = sum((world.started[one.system] - 1) * world.starting[one.system] for one in names)
    at_first = sum(
        (MOST - 1) * (world.starting[name] + world.quitting.get(name, 0.0)) for name in ("fast", "slow")
    )
    assert restarts < world.now / 8.0 + at_first


def test_a_driver_that_ends_slowly_is_not_started_afresh_again() -> None:
    world = World()
    world.starting, world.quitting = {"fast": 0.03}, {"fast": 2.0}
    own, _ = drivers(world)
    many_rounds(own, world, 500)
    assert world.started == {"fast": MOST + 1}, "the first that makes room ends the matter"


@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_a_driver_goes_on_if_a_fresh_one_does_not_start(fault: str) -> None:
    world = World()
    world.starting = {"fast": 0.03}
    own, said = drivers(world)
    first = own.get(FAST)
    if fault == "fails":
        world.faults["fast", "start"] = "system"
    else:
        world.hanging.add("fast")
    begin = world.now
    many_rounds(own, world, 100)
    assert own.get(FAST) is first and first.alive and world.started == {"fast": 2}
    assert world.now - begin < 100 * 0.1 + 0.5
    assert len(said) == 1 and said[0].startswith("fast: could not be started afresh, and goes on as it is: ")


def test_a_driver_that_is_silent_until_the_budget_ends_is_named() -> None:
    world = World()
    world.hanging.add("fast")
    own, said = drivers(world, left=lambda: 5.0 - world.now)
    with pytest.raises(OutOfTime):
        own.get(FAST)
    assert len(said) == 1
    assert said[0].startswith("fast: had not answered 5.00 s after its start; the budget ended")


def test_at_the_end_of_the_budget_a_fresh_start_is_given_up_in_silence() -> None:
    world = World()
    world.starting = {"fast": 0.03}
    left = [100.0]
    own, said = drivers(world, left=lambda: left[0])
    first = own.get(FAST)
    world.hanging.add("fast")
    world.now, left[0] = world.now + 1.0, 0.0
    own.turn([FAST])
    assert own.get(FAST) is first and first.alive and not said


def test_a_driver_is_not_started_afresh_from_other_files(tmp_path: Path) -> None:
    """The session names one build: runs of another do not belong to its cells."""
    world = World()
    world.starting = {"fast": 0.03}
    program = tmp_path / "driver"
    program.write_text("one build")
    system = System("fast", tmp_path, "fast", command=("{dir}/driver",))
    own, said = drivers(world, {"fast": system})
    many_rounds(own, world)
    before = world.started["fast"]
    assert before > 2
    program.write_text("another build")
    many_rounds(own, world)
    assert world.started["fast"] == before and own.get(FAST).alive
    assert said == ["fast: could not be started afresh, and goes on as it is: its files have changed"]


def test_a_runtime_that_compiles_while_it_runs_keeps_its_process(tmp_path: Path) -> None:
    world = World()
    world.starting = {"fast": 0.03}
    own, _ = drivers(world, {"fast": System("fast", tmp_path, "fast", fresh=False)})
    many_rounds(own, world)
    assert world.started == {"fast": 1}


def test_one_that_does_not_start_says_so() -> None:
    world = World()
    world.faults["slow", "start"] = "system"
    own, _ = drivers(world)
    with pytest.raises(DriverError) as caught:
        own.get(SLOW)
    assert caught.value.at_start


def test_a_crash_is_forgiven_twice_for_each_cell() -> None:
    own, said = drivers(World())
    crash = DriverError("crash", "gone")
    assert [own.may_restart("a", crash) for _ in range(3)] == [True, True, False]
    assert own.may_restart("b", crash) and not own.may_restart("c", DriverError("timeout", "late"))
    assert said == ["a: crash: gone; it is tried again"] * 2 + ["b: crash: gone; it is tried again"]


def test_the_reference_is_asked_again_after_a_crash_and_then_given_up() -> None:
    world = World()
    own, _ = drivers(world)
    asked: list[str] = []

    def ask(driver: Session) -> str:
        asked.append("once more")
        if len(asked) < 3:
            raise DriverError("crash", "gone")
        return "answer"

    assert own.ask_reference(ask, DriverName(REFERENCE)) == "answer" and len(asked) == 3

    def crash(driver: Session) -> str:
        raise DriverError("crash", "gone")

    with pytest.raises(TaskgrainError, match="nothing can be measured without it"):
        own.ask_reference(crash, DriverName(REFERENCE))
    with pytest.raises(DriverError, match="other: gone"):
        own.ask_reference(crash, DriverName("other"))

    def invalid(driver: Session) -> str:
        raise DriverError("invalid", "kernel: unknown")

    with pytest.raises(UsageError, match=f"{REFERENCE}: kernel: unknown"):
        own.ask_reference(invalid, DriverName(REFERENCE))
    own.kill()


def test_processes_that_were_killed_while_they_were_parked_cost_one_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real ones: a parked process does not tell that it has died."""
    for limit in ("_QUICK", "_AT_ONCE"):  # of seconds: the machine may be slow
        monkeypatch.setattr(crew, limit, math.inf)
    made: list[Session] = []

    def make(name: DriverName) -> Session:
        command = (sys.executable, str(HOSTILE), "good")
        made.append(Session(name.system, Launch(command, {}, CORES), tmp_path / "log"))
        return made[-1]

    def run() -> int:
        found = own.get(FAST).run(
            [{"pattern": "trivial", "steps": 4, "width": 2}], repeats=2, warmup=0, validate="sample",
            isa="auto", expected_seconds=None, most_seconds=math.inf,
        )  # fmt: skip
        return len(found.seconds)

    own = Drivers(Plan([], {}, Settings(), make), lambda: math.inf)
    try:
        own.get(FAST)
        for _ in range(2):
            own.turn([FAST])
        assert run() == 2 and len(made) == 3 and all(one.alive for one in made)
        for pid in [pid for one in made for pid in one.pids()]:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(DriverError):
            run()
        for _ in range(2 * len(made)):
            own.turn([FAST])
            assert run() == 2
    finally:
        own.kill()
    assert not any(one.alive for one in made)
