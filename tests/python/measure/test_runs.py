"""Single requests: the reference beside them, disturbed attempts, and answers that cannot be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from killable_study import OVERHEADS, assert_nothing_twice, lines
from simulated_world import Simulated, World, measure, result

from taskgrain.drive.answers import RunResult
from taskgrain.drive.system import System
from taskgrain.study.settings import Settings


def test_disturbed_runs_are_repeated_and_counted(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5, 0.0, 0.2, 0.1, 0.3]
    states = measure(tmp_path, world)
    rejected = lines(tmp_path, "rejected")
    assert [line["busy"] for line in rejected] == [0.5, 0.2, 0.1]
    first = lines(tmp_path, "run")[:2]
    assert [(line["busy"], line["attempts"]) for line in first] == [(0.0, 2), (0.1, 3)]
    assert sum(state.stored.rejected for state in states) == 3
    assert sum(result(state).repeated_runs for state in states) == 3
    assert sum(result(state).disturbed_runs for state in states) == 1
    assert_nothing_twice(tmp_path)


ONE = {"patterns": ["stencil_1d"], "widths": [4]}


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_slower_machine_is_seen_through(tmp_path: Path, share: float) -> None:
    """A state of the cores slows system and reference alike, for a while that a run may well lie within."""
    world, quiet = World(), World()
    world.slowdown = lambda now: 1.8 if now > 0.5 and (now / 0.1) % 1.0 < share else 1.0
    expected = measure(tmp_path / "quiet", quiet, table=ONE)
    for state, other in zip(measure(tmp_path / "noisy", world, table=ONE), expected, strict=True):
        found, right = result(state), result(other)
        assert right.metg <= found.metg * 1.05 and found.metg <= 1.9 * right.metg
        assert found.iterations == pytest.approx(right.iterations, rel=0.2)


def test_repeating_stops_where_it_does_not_help(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 100_000
    measure(tmp_path, world, table=ONE)
    assert 16 <= len(lines(tmp_path, "rejected")) <= 40


def test_a_run_of_more_than_a_second_is_not_repeated(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 0.05
    world.busy = [0.5] * 8  # too few for repeating to be given up
    measure(tmp_path, world, Settings(cores=2, budget=8.0), table=ONE)
    assert {line["cell"].split("/")[0] for line in lines(tmp_path, "rejected")} == {"fast"}
    assert any(line["disturbed"] for line in lines(tmp_path, "run") if line["cell"].startswith("slow/"))


@pytest.mark.parametrize(("budget", "repeated"), [(4.0, {"fast"}), (400.0, {"fast", "slow"})])
def test_a_run_that_keeps_others_from_their_first_round_is_not_repeated(
    tmp_path: Path, budget: float, repeated: set[str]
) -> None:
    """A first run takes 0.2 s, a tenth of what a cell has of the smaller budget."""
    world = World()
    world.overheads["slow"] = 0.002
    world.busy = [0.5] * 8
    measure(tmp_path, world, Settings(cores=2, budget=budget, min_rounds=1, max_rounds=1), table=ONE)
    assert {line["cell"].split("/")[0] for line in lines(tmp_path, "rejected")} == repeated


def test_no_honest_system_is_refused_where_the_reference_was_starved(tmp_path: Path) -> None:
    """It gets so little of a busy machine, before and beside all runs, that each of them seems too fast."""
    world = World()
    world.rates = tuple(rate / 1e5 for rate in world.rates)
    states = measure(tmp_path, world)
    assert not lines(tmp_path, "failure")
    for state in states:
        assert "efficiency_above_one" in [one["code"] for one in result(state).warnings]


def test_what_the_reference_said_while_it_was_starved_is_forgotten(tmp_path: Path) -> None:
    class Starved(World):
        def peak(self, rates: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(rate / 77.0 for rate in rates) if self.now < 0.3 else rates

    for state in measure(tmp_path, Starved(), table=ONE):
        assert (result(state).ending, result(state).warnings) == ("precise", ())


@pytest.mark.parametrize("starved", [1.0, 1e5])
def test_no_processor_is_so_fast_however_little_the_reference_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starved: float
) -> None:
    honest, world = Simulated.run, World()
    world.rates = tuple(rate / starved for rate in world.rates)

    def run(self: Simulated, *words: Any, **named: Any) -> RunResult:
        result = honest(self, *words, **named)
        return replace(result, seconds=tuple(1e-9 for _ in result.seconds))

    monkeypatch.setattr(Simulated, "run", run)
    assert {result(state).ending for state in measure(tmp_path, world, table=ONE)} == {"failed"}
    assert all("cannot exceed 5.12 TFLOP/s" in one["message"] for one in lines(tmp_path, "failure"))


@pytest.mark.parametrize("wrong", ["tasks", "unit", "rate"])
def test_an_answer_that_cannot_be_ends_its_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    honest = Simulated.run

    def run(self: Simulated, *words: Any, **named: Any) -> RunResult:
        result = honest(self, *words, **named)
        if self.name != "slow":
            return result
        changes: dict[str, Any] = {
            "tasks": {"tasks": result.tasks + 1}, "unit": {"work_unit": "byte"},
            "rate": {"work": 1e6 * result.work},
        }[wrong]  # fmt: skip
        return replace(result, **changes)

    monkeypatch.setattr(Simulated, "run", run)
    states = measure(tmp_path, World(), table=ONE)
    assert [result(state).ending for state in states] == ["precise", "failed"]
    (failure,) = lines(tmp_path, "failure")
    said = {"tasks": "the graphs hold", "unit": "not some flop", "rate": "the kernel alone reaches"}[wrong]
    assert said in failure["message"]


def test_what_a_simulation_costs_is_planned_in_seconds_that_pass(tmp_path: Path) -> None:
    """A run of a few simulated milliseconds takes a second or two: the last one that fits ends by the end."""
    world = World()
    world.pace = 300.0
    systems = {name: System(name, tmp_path, name, command=("x",), simulated=True) for name in OVERHEADS}
    states = measure(tmp_path, world, Settings(cores=2, budget=21.0), table=ONE, systems=systems)
    assert world.runs and 15.0 < world.now <= 22.0
    assert {one.cut.code for one in states if one.cut} == {"run_beyond_budget"}
