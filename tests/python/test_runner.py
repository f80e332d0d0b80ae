"""The runner: order, budget, failures, and going on after any kill; all with simulated drivers."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from taskgrain.answers import DriverError, Peak, Probe, Ready, RunResult
from taskgrain.errors import UsageError
from taskgrain.plan import REFERENCE, Plan
from taskgrain.record import CellState
from taskgrain.runner import Runner
from taskgrain.store import Store, read_lines
from taskgrain.study import Settings, parse
from taskgrain.system import System
from taskgrain.toml_document import Document

FAKE = Path(__file__).parent / "drivers" / "fake.py"
pytestmark = pytest.mark.usefixtures("no_own_systems")
FLOP, ITERATION = 128.0, 64e-9
OVERHEADS = {"fast": 1e-6, "slow": 5e-6}
STUDY = {"patterns": ["stencil_1d", "nearest"], "widths": [4]}


class World:
    """The simulated machine: its clock, its drivers, and what is odd about them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.awake: set[str] = set()
        self.started: Counter[str] = Counter()
        self.faults: dict[tuple[str, str], str] = {}
        """By system and pattern; pattern `start` for the start."""
        self.busy: list[float] = []
        """Of the next runs; 0 afterwards."""
        self.slowdown: Callable[[float], float] = lambda now: 1.0
        """Of all cores, by the time."""
        self.runs = 0

    def make(self, name: str) -> Simulated:
        return Simulated(name, self)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Simulated:
    """A driver whose answers depend on the request alone, so that an interrupted study can be compared."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self.world = name, world
        self.busy = 0.0
        self.alive = False

    def _wake(self) -> None:
        assert not self.world.awake - {self.name}, "another driver is not parked"
        self.world.awake.add(self.name)

    def start(self) -> Ready:
        self._wake()
        self.world.started[self.name] += 1
        if kind := self.world.faults.get((self.name, "start")):
            self.kill()
            raise DriverError(kind, "no licence", "log")
        self.alive = True
        return Ready(self.name, "1", 1, 2, ((0,), (1,)), {"event": "ready"})

    def run(self, graphs: Sequence[Mapping[str, Any]], *, repeats: int, **_: Any) -> RunResult:
        self._wake()
        self.world.runs += 1
        graph = graphs[0]
        kind = self.world.faults.get((self.name, graph["pattern"]))
        if kind:
            if kind in ("crash", "timeout", "protocol"):
                self.kill()
            raise DriverError(kind, "cannot", "last words")
        iterations = graph["kernel"]["iterations"]
        tasks = graph["steps"] * graph["width"]
        dice = random.Random(f"{self.name} {graph}")
        base = tasks * (OVERHEADS[self.name] + iterations * ITERATION) / 2
        base *= self.world.slowdown(self.world.now)
        seconds = tuple(base * (1.0 + 0.02 * dice.random()) for _ in range(repeats))
        self.world.now += sum(seconds)
        self.busy = self.world.busy.pop(0) if self.world.busy else 0.0
        work = tasks * iterations * FLOP
        return RunResult(seconds, (), tasks, tasks, 0, work, 0.0, work, "flop", ((0,), (1,)), 1)

    def peak(self, kernel: Mapping[str, Any], seconds: float, isa: str) -> Peak:
        self._wake()
        if kernel["name"] == "empty":
            raise DriverError("invalid", "kernel: empty is not allowed")
        self.world.now += seconds
        return Peak((FLOP / ITERATION,) * 2, "flop")

    def probe(self, seconds: float) -> Probe:
        self._wake()
        self.world.now += seconds
        slowdown = self.world.slowdown(self.world.now)
        return Probe((1e9 / slowdown,) * 2, 5e-8)

    def park(self) -> None:
        self.world.awake.discard(self.name)

    def close(self) -> None:
        self.kill()

    def kill(self) -> int | None:
        self.alive = False
        self.world.awake.discard(self.name)
        return 0


def measure(
    folder: Path,
    world: World,
    settings: Settings | None = None,
    table: Mapping[str, Any] = STUDY,
    **rest: Any,
) -> list[CellState]:
    systems = [System(name, folder, name, command=("x",)) for name in OVERHEADS]
    study = parse(Document(dict(table)), 2)
    study = dataclasses.replace(study, settings=settings or Settings(cores=2))
    with Store(folder, study.table(systems, 2), {}) as store:
        plan = Plan(
            cells=study.cells(systems),
            systems={one.name: one for one in systems} | rest.pop("systems", {}),
            settings=study.settings,
            make_driver=world.make,
            clock=lambda: world.now,
            sleep=world.sleep,
            **rest,
        )
        return Runner(plan, store).run()


def lines(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    return [line for line in read_lines(folder / "runs.jsonl").lines if line["kind"] in kinds]


def key(line: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(line[name] for name in ("cell", "phase", "round", "iterations", "steps"))


def assert_nothing_twice(folder: Path) -> None:
    repeated = [one for one, count in Counter(map(key, lines(folder, "run"))).items() if count > 1]
    assert not repeated


def test_finds_metg_of_every_cell(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world)
    assert [state.cell.name for state in states] == [
        "fast/stencil_1d/width=4",
        "slow/stencil_1d/width=4",
        "fast/nearest/width=4",
        "slow/nearest/width=4",
    ]
    for state in states:
        assert state.metg is not None
        assert state.metg["ending"] == "precise"
        assert state.metg["metg"] == pytest.approx(2 * OVERHEADS[state.cell.system], rel=0.05)
        assert state.metg["floor"] == pytest.approx(OVERHEADS[state.cell.system], rel=0.05)
    assert_nothing_twice(tmp_path)
    assert world.started == {REFERENCE: 1, "fast": 1, "slow": 1}
    assert not world.awake


def test_systems_and_sizes_are_interleaved_and_the_leader_changes(tmp_path: Path) -> None:
    measure(tmp_path, World())
    found = [line for line in lines(tmp_path, "run") if line["phase"] in ("measure", "floor")]
    for pattern in STUDY["patterns"]:
        leaders = []
        for number in range(8):
            here = [one for one in found if one["round"] == number and f"/{pattern}/" in one["cell"]]
            order = [line["cell"].split("/")[0] for line in here]
            both = order[: 2 * min(order.count("fast"), order.count("slow"))]
            assert len(both) >= 2 * 6
            assert all(len(set(both[k : k + 2])) == 2 for k in range(0, len(both), 2))
            leaders.append(order[0])
        assert set(leaders[::2]) | set(leaders[1::2]) == {"fast", "slow"}
        assert leaders[0] != leaders[1]


def test_the_reference_is_measured_throughout(tmp_path: Path) -> None:
    measure(tmp_path, World())
    kinds = [line["kind"] for line in lines(tmp_path, "run", "reference")]
    gaps = "".join("R" if kind == "reference" else "." for kind in kinds).split("R")
    assert not gaps[0]
    assert max(map(len, gaps)) <= 2 * 16
    assert len(gaps) > 8 * 2


def test_the_budget_ends_it_and_more_budget_goes_on(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world, Settings(cores=2, budget=0.6))
    assert 0.5 < world.now < 0.8
    assert {state.metg["ending"] for state in states if state.metg} <= {"budget", "precise"}
    assert any(state.metg["ending"] == "budget" for state in states if state.metg)
    again = World()
    measure(tmp_path, again, Settings(cores=2, budget=0.6))
    assert again.runs == 0
    states = measure(tmp_path, World(), Settings(cores=2, budget=1000.0))
    assert all(state.metg and state.metg["ending"] == "precise" for state in states)
    assert_nothing_twice(tmp_path)


def test_a_budget_that_ends_before_the_first_run(tmp_path: Path) -> None:
    states = measure(tmp_path, World(), Settings(cores=2, budget=1e-3))
    endings = [(state.metg or {}).get("ending") for state in states]
    assert set(endings) == {"budget"}


def test_disturbed_runs_are_repeated_and_counted(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5, 0.0, 0.2, 0.1, 0.3]
    states = measure(tmp_path, world)
    rejected = lines(tmp_path, "rejected")
    assert [line["busy"] for line in rejected] == [0.5, 0.2, 0.1]
    first = lines(tmp_path, "run")[:2]
    assert [(line["busy"], line["attempts"]) for line in first] == [(0.0, 2), (0.1, 3)]
    assert sum(state.rejected for state in states) == 3
    assert sum((state.metg or {})["repeated_runs"] for state in states) == 3
    assert sum((state.metg or {})["disturbed_runs"] for state in states) == 1
    assert_nothing_twice(tmp_path)


ONE = {"patterns": ["stencil_1d"], "widths": [4]}


def test_a_neighbour_that_comes_and_goes_changes_nothing(tmp_path: Path) -> None:
    world, quiet = World(), World()
    world.slowdown = lambda now: 2.0 if now > 0.2 and now % 0.25 < 0.1 else 1.0
    expected = measure(tmp_path / "quiet", quiet, table=ONE)
    for state, other in zip(measure(tmp_path / "noisy", world, table=ONE), expected, strict=True):
        found, right = state.metg or {}, other.metg or {}
        assert found["ending"] == "precise"
        assert found["metg"] == pytest.approx(right["metg"], rel=0.03)
    assert all(not line["disturbed"] for line in lines(tmp_path / "noisy", "run"))


def test_a_neighbour_that_stays_widens_the_interval_and_is_named(tmp_path: Path) -> None:
    world, quiet = World(), World()
    world.slowdown = lambda now: 1.0 if now < 0.5 else 1.8
    expected = measure(tmp_path / "quiet", quiet, table=ONE)
    for state, other in zip(measure(tmp_path / "noisy", world, table=ONE), expected, strict=True):
        found, right = state.metg or {}, other.metg or {}
        assert found["ending"] == "budget"
        assert found["low"] <= right["metg"] <= (found["high"] or math.inf)
        assert found["disturbed_runs"] > 100
        assert any("Measure on a quiet machine" in warning for warning in found["warnings"])


def test_repeating_stops_where_it_does_not_help(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 100_000
    measure(tmp_path, world)
    assert 16 <= len(lines(tmp_path, "rejected")) <= 40


def test_a_failing_cell_is_marked_and_the_rest_goes_on(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "nearest"): "validation", ("fast", "stencil_1d"): "crash"}
    states = measure(tmp_path, world)
    endings = {state.cell.name: (state.metg or {})["ending"] for state in states}
    assert endings == {
        "fast/stencil_1d/width=4": "failed",
        "slow/stencil_1d/width=4": "precise",
        "fast/nearest/width=4": "precise",
        "slow/nearest/width=4": "failed",
    }
    failures = {line["cell"]: line for line in lines(tmp_path, "failure")}
    assert failures["slow/nearest/width=4"]["error"] == "validation"
    assert failures["fast/stencil_1d/width=4"]["log"] == "last words"
    again = World()
    measure(tmp_path, again)
    assert again.runs == 0  # a failure is not tried again by itself
    states = measure(tmp_path, World(), retry=True)
    assert all((state.metg or {})["ending"] == "precise" for state in states)
    assert_nothing_twice(tmp_path)


def test_a_system_that_does_not_start_fails_once(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "start"): "timeout"}
    measure(tmp_path, world)
    assert world.started["slow"] == 1
    assert len(lines(tmp_path, "failure")) == 2


def test_an_invalid_request_stops_everything(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "nearest"): "invalid"}
    with pytest.raises(UsageError, match="slow/nearest/width=4: cannot"):
        measure(tmp_path, world)
    assert not world.awake


def test_the_empty_kernel_has_no_peak(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kernel: empty is not allowed"):
        measure(tmp_path, World(), table={"patterns": ["trivial"], "kernel": "empty"})


def test_a_pattern_that_a_system_does_not_run(tmp_path: Path) -> None:
    limited = System("slow", tmp_path, "slow", command=("x",), patterns=("nearest",))
    measure(tmp_path, World(), systems={"slow": limited})
    failure = lines(tmp_path, "failure")
    assert [(line["cell"], line["error"]) for line in failure] == [("slow/stencil_1d/width=4", "unsupported")]


def comparable(states: Sequence[CellState]) -> list[Any]:
    return [{k: v for k, v in (s.metg or {}).items() if k not in ("time", "elapsed")} for s in states]


def test_a_study_cut_anywhere_ends_as_if_never_cut(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    expected = comparable(measure(whole, World()))
    content = (whole / "runs.jsonl").read_bytes()
    total = len(lines(whole, "run"))
    dice = random.Random(1)
    cuts = [0, 1, len(content) - 1, len(content), *(dice.randrange(len(content)) for _ in range(5))]
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "study.toml").write_bytes((whole / "study.toml").read_bytes())
        (folder / "runs.jsonl").write_bytes(content[:cut])
        stored = len(lines(folder, "run"))
        world = World()
        found = comparable(measure(folder, world))
        assert world.runs == total - stored
        assert_nothing_twice(folder)
        for one, other in zip(found, expected, strict=True):
            # The reference is measured once more after a cut, and the order within a round may differ.
            assert one["metg"] == pytest.approx(other["metg"], rel=0.02)
            assert one["ending"] == other["ending"]


def test_lines_that_do_not_fit_are_ignored(tmp_path: Path) -> None:
    measure(tmp_path, World())
    runs = tmp_path / "runs.jsonl"
    odd = [
        {"kind": "run", "cell": "fast/nearest/width=4"},
        {"kind": "run", "cell": "unknown/nearest/width=4"},
        {"kind": "reference", "rates": "x", "kernel": []},
        {"kind": "metg"},
        {"kind": "from the future"},
        {"kind": "run", "cell": {}},
    ]
    runs.write_text("".join(json.dumps(line) + "\n" for line in odd) + runs.read_text())
    world = World()
    states = measure(tmp_path, world)
    assert world.runs == 0
    assert all((state.metg or {})["ending"] == "precise" for state in states)


# -- real processes ---------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A study of two real, simulated systems, as a command."""
    for name, overhead in OVERHEADS.items():
        folder = tmp_path / "systems" / name
        folder.mkdir(parents=True)
        words = ["{python}", str(FAKE), str(overhead), "0.02", "=", "{dir}"]
        (folder / "system.toml").write_text(
            f"default = true\nsimulated = true\n[launch]\ncommand = {words}\n"
        )
    (tmp_path / "s.toml").write_text('patterns = ["stencil_1d", "nearest"]\nwidths = [4]\n')
    words = [
        "study",
        str(tmp_path / "s.toml"),
        "-o",
        str(tmp_path / "out"),
        "--systems",
        str(tmp_path / "systems"),
    ]
    return [sys.executable, "-m", "taskgrain.cli", *words]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))


def drivers_of(folder: Path) -> list[int]:
    """Processes that were started for the systems in `folder`, and their supervisors."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                any(str(folder / "systems") in word for word in process.cmdline())
                and process.pid != os.getpid()
            ):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_for_none(folder: Path, seconds: float = 3.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and drivers_of(folder):
        time.sleep(0.02)
    assert not drivers_of(folder)


@pytest.mark.usefixtures("environment")
def test_killed_at_random_moments_it_loses_nothing(tmp_path: Path, command: list[str]) -> None:
    dice = random.Random(2)
    runs = tmp_path / "out" / "runs.jsonl"
    stored: list[tuple[object, ...]] = []
    for _ in range(5):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as harness:
            size = runs.stat().st_size if runs.exists() else 0
            end = time.monotonic() + 10.0
            while time.monotonic() < end and (runs.stat().st_size if runs.exists() else 0) <= size:
                time.sleep(0.005)  # until it has measured something
            time.sleep(dice.uniform(0.0, 0.3))
            harness.send_signal(signal.SIGKILL)
        wait_for_none(tmp_path)
        assert_nothing_twice(tmp_path / "out")
        now = [key(line) for line in lines(tmp_path / "out", "run")]
        assert now[: len(stored)] == stored
        stored = now
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_nothing_twice(tmp_path / "out")
    cells = json.loads(done.stdout)["cells"]
    assert len(cells) == 4
    for cell in cells:
        assert cell["metg"] == pytest.approx(2 * OVERHEADS[cell["system"]], rel=0.15)
    wait_for_none(tmp_path)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_in_good_order(tmp_path: Path, command: list[str], number: signal.Signals) -> None:
    runs = tmp_path / "out" / "runs.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as harness:
        end = time.monotonic() + 10.0
        while time.monotonic() < end and (runs.stat().st_size if runs.exists() else 0) < 3000:
            time.sleep(0.005)
        harness.send_signal(number)
        _, said = harness.communicate(timeout=20)
    assert harness.returncode == 130
    assert "taskgrain: interrupted; the same command goes on from here" in said
    assert "Traceback" not in said
    wait_for_none(tmp_path)
    assert not read_lines(runs).torn
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert_nothing_twice(tmp_path / "out")
