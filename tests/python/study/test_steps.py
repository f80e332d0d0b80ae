"""All runs of a workload measure one graph, whatever its pattern and however quick its system is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from killable_study import lines
from simulated_system import PEAK, TAU, WORK
from simulated_world import ITERATION, World, measure, result

from taskgrain._core import Run, kernels, patterns
from taskgrain.estimate.sample import Sample
from taskgrain.measure.advise import until_known
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Request
from taskgrain.measure.experiments.table import EXPERIMENTS
from taskgrain.measure.plan import cell_settings
from taskgrain.study.settings import Settings
from taskgrain.study.steps import with_steps
from taskgrain.study.workload import Workload
from taskgrain.words.errors import InputError

CORES = 2
SETTINGS = Settings(min_rounds=3, max_rounds=3, at="20us")
OVERHEADS = (2e-7, 5e-6, 5e-4)
"""Seconds of a core for a task, of a quick system, of one like OpenMP's, and of one like Dask."""


def made(pattern: str, width: int, folder: Path) -> Workload:
    """A workload of any pattern; that of a file is a small graph."""
    if pattern != "dag":
        return Workload(pattern, width)
    later = ({"width": 1 + k % width, "dependences": [[0]] * (1 + k % width)} for k in range(9))
    file = folder / f"{width}.json"
    file.write_text(json.dumps({"steps": [{"width": width}, *later]}))
    return Workload(pattern, width, dag=str(file))


@dataclass(frozen=True)
class Seen:
    """The shape of a run, in shares."""

    narrow: float
    tasks: float
    dependences: float
    later: float
    """The same, as if the first step had those of the step after the last: a start has none."""


def run_of(workload: Workload, steps: int) -> Run:
    return Run(json.dumps({"op": "run", "graphs": workload.request(1, steps), "validate": "off"}))


@cache
def seen(workload: Workload, steps: int) -> Seen:
    run = run_of(workload, steps)
    widths = [last - first + 1 for first, last in (run.points(0, step) for step in range(run.steps()))]
    tasks, dependences = run.stats()["tasks"], run.stats()["dependences"]
    later = run_of(workload, steps + 1).stats()["dependences"]
    half = workload.width / 2
    narrow = sum(one < half for one in widths) / len(widths)
    return Seen(narrow, tasks / len(widths), dependences / tasks, later / tasks)


def assert_one_graph(workload: Workload, requests: list[Request]) -> None:
    """Any two runs agree within 2 %; of one that tells start and end, the start is a larger part."""
    whole = {one.steps for one in requests if one.phase != "start"}
    for steps, shares in (
        (whole, ("tasks", "dependences")),
        ({one.steps for one in requests}, ("tasks", "later")),
    ):
        found = [seen(workload, one) for one in steps]
        for share in shares:
            values = [getattr(one, share) for one in found]
            assert max(values) - min(values) <= 0.02 * max(values), (workload, steps, share)
        narrow = [one.narrow for one in found]
        assert max(narrow) - min(narrow) <= 0.02, (workload, steps)


def asked(search: Experiment, workload: Workload, overhead: float) -> Iterator[Request]:
    """The runs of a search of a system with such an overhead."""
    rates = [[PEAK] * CORES]
    while not search.done:
        for request in search.next_round():
            tasks = workload.exact_tasks(request.steps)
            assert tasks
            seconds = tasks * (overhead + request.iterations * TAU) / CORES + 20e-6
            work = WORK * request.iterations * tasks
            one = Sample(request.iterations, request.round, seconds, work, tasks, CORES, PEAK)
            search.tell(request, [one] * request.repeats, rates)
            yield request


@pytest.mark.parametrize("pattern", patterns())
def test_all_runs_of_all_systems_measure_one_graph(pattern: str, tmp_path: Path) -> None:
    for width in (1, 3, 8, 20):
        workload = made(pattern, width, tmp_path)
        requests = []
        for overhead in OVERHEADS:
            settings = cell_settings(SETTINGS, workload, False)
            settings = replace(settings, resamples=20, search_resamples=20)
            requests += list(asked(EXPERIMENTS["metg"](settings), workload, overhead))
        assert_one_graph(workload, requests)
        told = {one.phase for one in requests} >= {"start"}
        assert told is (pattern not in ("dom", "dag"))


EVERY = {**EXPERIMENTS, "advice": until_known(20e-6)}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("pattern", ["dom", "tree", "v_cycle", "fft", "spread"])
def test_so_do_all_experiments(name: str, pattern: str) -> None:
    workload = Workload(pattern, 16, graphs=2)
    settings = replace(cell_settings(SETTINGS, workload, False), resamples=20, search_resamples=20)
    settings = replace(settings, task_seconds=(2e-6, 2e-5))
    searches = [(EVERY[name](settings), overhead) for overhead in (1e-6, 1e-4)]
    requests = [one for search, overhead in searches for one in asked(search, workload, overhead)]
    assert_one_graph(workload, requests)


@pytest.mark.parametrize("kernel", kernels())
@pytest.mark.parametrize("pattern", ["dom", "tree", "random"])
def test_kernels_do_not_change_the_steps(kernel: str, pattern: str) -> None:
    settings = [
        with_steps(CellSettings(), Workload(pattern, 8, kernel=one)) for one in (kernel, "compute_bound")
    ]
    assert settings[0] == settings[1]


def test_steps_that_a_user_gives_are_those_of_every_run(tmp_path: Path) -> None:
    for pattern in ("stencil_1d", "dom", "v_cycle"):
        workload = Workload(pattern, 8)
        settings = cell_settings(Settings(steps=37, min_rounds=2, max_rounds=2), workload, False)
        assert {one.steps for one in asked(EXPERIMENTS["metg"](settings), workload, 1e-6)} == {37}


@pytest.mark.parametrize(
    ("workload", "steps"),
    [
        (Workload("dom", 64), 1000),  # as in Task Bench
        (Workload("dom", 1000), 8000),
        (Workload("dom", 4000), 16_777),  # 2^26 tasks at most
        (Workload("stencil_1d", 2**24), 4),
        (Workload("spread", 20_000, radix=1, period=6000), 3355),  # less than a period
        (Workload("fork_tree", 2**24, radix=2), 48),  # one period
    ],
)
def test_fixed_steps_are_decided_before_anything_runs(workload: Workload, steps: int) -> None:
    settings = with_steps(CellSettings(), workload)
    assert settings.steps == steps
    (said,) = settings.notices
    assert said.code == ("steps_fixed" if workload.width <= 1000 else "steps_cut")
    assert said.values["steps"] == steps


def test_a_short_graph_is_run_more_often() -> None:
    """It becomes longer only by that."""
    repeats = {}
    for width in (1, 64):
        workload = Workload("dom", width)
        settings = replace(cell_settings(SETTINGS, workload, False), resamples=20, search_resamples=20)
        requests = list(asked(EXPERIMENTS["metg"](settings), workload, 2e-7))
        repeats[width] = requests[-1].repeats
    assert repeats[1] > 2 * repeats[64] == 6


class Wavefront(World):
    """Two quick systems: one takes less for a task, the other less for a step. On narrow graphs, as
    those of few steps are, their order is the other one."""

    def seconds(self, system: str, graphs: Run, iterations: int, cores: int) -> float:
        task, step = {"fast": (1.0e-6, 16e-6), "slow": (1.7e-6, 0.0)}[system]
        task += iterations * ITERATION
        ends = (graphs.points(0, one) for one in range(graphs.steps()))
        return sum(-((first - last - 1) // cores) * task + step for first, last in ends)


def test_the_order_of_systems_is_that_of_the_graph_that_task_bench_measures(tmp_path: Path) -> None:
    table = {"patterns": ["dom"], "widths": [64]}
    metg = {}
    for steps in (0, 1000):
        settings = Settings(cores=2, steps=steps, min_rounds=5, max_rounds=5)
        states = measure(tmp_path / str(steps), Wavefront(), settings, table)
        metg[steps] = {state.cell.system: result(state).metg for state in states}
        runs = lines(tmp_path / str(steps), "run")
        assert {run["steps"] for run in runs} == {1000} and {run["tasks"] for run in runs} == {59968}
    assert metg[0] == metg[1000]
    assert metg[0]["fast"] < metg[0]["slow"]


def test_what_the_graph_cannot_reach_ends_before_it_is_measured(tmp_path: Path) -> None:
    table = {"patterns": ["fork_join"], "widths": [1, 2]}
    settings = Settings(cores=2, min_rounds=3, max_rounds=3)
    states = measure(tmp_path, World(), settings, table)
    for narrow in [state for state in states if state.cell.workload.width == 1]:
        assert result(narrow).ending == "never_reached" and narrow.runs == 0
        (said,) = result(narrow).warnings
        assert said == {"code": "parallelism_short", "most": 0.5, "cores": 2, "chain": 50, "tasks": 50}
    assert all(result(state).metg for state in states if state.cell.workload.width == 2)
    again = World()
    measure(tmp_path, again, settings, table)
    assert again.runs == 0


@pytest.mark.parametrize("pattern", ["dom", "tree"])
def test_a_width_of_which_no_run_holds_the_shape_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="width: 100000000 is not allowed; allowed: one whose runs"):
        with_steps(CellSettings(), Workload(pattern, 10**8))
    assert with_steps(CellSettings(steps=5), Workload(pattern, 10**8)).steps == 5
