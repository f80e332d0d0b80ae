"""Tests of what is known of a system at a task time, and of the measurements for it."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from advice_answers import QUESTION
from advice_answers import curve as made_up

from taskgrain.answers import advise
from taskgrain.answers.program import of_graph
from taskgrain.graphs.task_graph import made
from taskgrain.results.curves import Curve
from taskgrain.results.lines import RunLine
from taskgrain.study.workload import Workload
from taskgrain.words.interval import Interval


def curve(overhead: float = 5e-6, system: str = "mpi", **cell: Any) -> Curve:
    return made_up(system, overhead, (5e-6, 10e-6, 20e-6, 40e-6), 0.02, **cell)


def test_the_answer_has_every_level_with_its_margin() -> None:
    found = advise.answer(QUESTION, "mpi", curve())
    assert found.known and found.efficiency.how == "measured"
    assert [one.level for one in found.levels] == [0.5, 0.8, 0.9]
    assert [one.verdict for one in found.levels] == ["yes", "unknown", "no"]
    assert found.levels[0].margin.low is not None and found.levels[0].margin.low >= 1.0


def test_a_system_without_a_curve_is_not_known() -> None:
    found = advise.answer(QUESTION, "mpi", None, "why")
    assert not found.known and found.problem == "why"
    assert {one.verdict for one in found.levels} == {"unknown"}


def test_runs_beside_which_others_were_busy_do_not_show_that_tasks_are_too_short() -> None:
    for busy in (curve(disturbed=0.4), curve(others=0.4)):
        found = advise.answer(QUESTION, "mpi", busy)
        assert [one.verdict for one in found.levels] == ["yes", "unknown", "unknown"]
        assert all(one.needed.low is None and one.margin.high is None for one in found.levels)


def test_the_newest_curve_of_the_same_workload_and_cores_counts() -> None:
    other = replace(curve(time=9.0), workload=Workload("nearest", 32, radix=6))
    fewer = replace(curve(time=9.0), cores=1)
    old, new, tbb = curve(time=1.0), curve(time=2.0), curve(system="tbb")
    assert advise.newest([new, old, other, fewer, tbb], QUESTION) == {"mpi": new, "tbb": tbb}
    assert advise.differences(other, QUESTION) == ["width 32"]
    assert advise.differences(fewer, QUESTION) == ["1 core"]


def test_what_was_not_measured_or_in_one_run_only_is_missing() -> None:
    answers = {
        "mpi": advise.answer(QUESTION, "mpi", curve()),
        "tbb": advise.answer(QUESTION, "tbb", None),
        "far": advise.answer(QUESTION, "far", replace(curve(), points={5e-6: curve().points[5e-6]})),
    }
    assert advise.missing(answers) == ["tbb", "far"]
    once = replace(curve(), points={20e-6: Interval(0.8)})
    assert advise.missing({"mpi": advise.answer(QUESTION, "mpi", once)}) == ["mpi"], (
        "one run is an answer to mend"
    )


def test_how_many_systems_a_budget_is_for() -> None:
    whole = advise.Question(30e-6, Workload("dom", 16), 2)
    assert [whole.fit(budget) for budget in (1.0, 10.0, 90.0)] == [1, 7, 71]
    assert advise.Question(30e-6, Workload("stencil_1d", 16), 2).fit(10.0) > 20, "their runs are short"
    assert QUESTION.fit(1e9) > 1000
    assert replace(whole, workload=Workload("dag", 4, dag="/nowhere")).fit(10.0) > 20


def test_a_budget_is_for_fewer_systems_with_a_program_of_long_chains_or_many_tasks() -> None:
    def asked(tasks: int, seconds: float, before: list[tuple[str, str]]) -> advise.Question:
        names = {f"{n}": seconds for n in range(tasks)}
        program = of_graph("test", made("test", names, before, unit="s"), None, 1.0)
        return replace(QUESTION, work=program.mean, program=program)

    wide, chain = asked(100, 1e-3, []), asked(100, 1e-3, [(f"{n}", f"{n - 1}") for n in range(1, 100)])
    assert wide.needs(2) == 2 * wide.needs(1) and wide.fit(wide.needs(7) * 1.01) == 7
    assert chain.fit(60.0) < 0.8 * wide.fit(60.0), "two cores are no quicker than one"
    assert asked(100_000, 1e-6, []).fit(60.0) < 0.8 * wide.fit(60.0), "its tasks cost as long as they take"


def answered(system: str, overhead: float, cell: Mapping[str, Any] = {}, **changes: Any) -> advise.Answer:
    """`cell` are facts of the curve's cell."""
    return advise.answer(QUESTION, system, replace(curve(overhead, system, **cell), **changes))


def test_what_the_best_saves_is_a_share_of_the_time_of_the_others() -> None:
    limit, best, slow = (
        answered("limit", 0.1e-6, {"bound": True}),
        answered("mpi", 1e-6),
        answered("tbb", 20e-6),
    )
    near, unknown = answered("ptg", 1.1e-6), answered("ray", 1e-6, points={1e-6: Interval(0.3, 0.2, 0.4)})
    found = advise.choice([limit, slow, best, near, unknown])
    assert found and found.best is best and set(found.saved) == {"tbb", "ptg"} and found.bounded == (unknown,)
    assert list(found.sure) == ["tbb"]
    assert found.saved["tbb"].value == pytest.approx(1 - 21 / 40) and found.saved["tbb"].known
    assert advise.choice([limit, best]) is None, "a bound is no choice"


def test_one_core_of_two_is_half_of_the_time() -> None:
    half, both = answered("half", 0.0, {"cores": 1}), answered("both", 5e-6, {"cores": 2})
    found = advise.choice([half, both])
    assert found and found.best is both
    assert found.saved["half"].value == pytest.approx(1 - 0.5 / 0.8)


def test_two_of_common_rounds_are_compared_within_them(tmp_path: Path) -> None:
    """The reference moved by a half from round to round, and hit both alike."""
    dice = random.Random(1)
    runs: dict[str, list[RunLine]] = {"mpi": [], "tbb": []}
    rates: list[tuple[int, list[float]]] = []
    for number in range(8):
        peak = 1e9 * math.exp(dice.gauss(0.0, 0.4))
        rates.append((0, [peak, peak]))
        for name, efficiency in (("mpi", 0.8), ("tbb", 0.6)):
            seconds = 2e4 * 100 / (efficiency * 1e9 * 2) * math.exp(dice.gauss(0.0, 0.01))
            line = RunLine(cell=name, phase="measure", round=number, iterations=100, tasks=100, cores=2)
            runs[name].append(replace(line, seconds=(seconds,), work=2e6))
    wide = {20e-6: Interval(0.8, 0.4, 1.0)}
    both = [
        answered(
            name,
            0.0,
            {"runs": runs[name], "beside": rates},
            points=wide,
            sizes={20e-6: 100.0},
            folder=tmp_path,
        )
        for name in runs
    ]
    both[1] = replace(both[1], efficiency=replace(both[1].efficiency, found=Interval(0.6, 0.3, 0.9)))
    found = advise.choice(both)
    assert found and found.best is both[0] and list(found.sure) == ["tbb"]
    assert found.saved["tbb"].value == pytest.approx(0.25, abs=0.02) and found.saved["tbb"].low > 0.2  # type: ignore[operator]
    apart = [
        replace(one, curve=replace(one.curve, folder=tmp_path / one.system)) for one in both if one.curve
    ]
    alone = advise.choice(apart)
    assert alone and not alone.sure


def test_verdicts_of_one_efficiency_are_those_of_the_answer() -> None:
    for disturbed in (0.0, 0.9):
        found = advise.answer(QUESTION, "mpi", curve(disturbed=disturbed))
        assert advise.verdicts(found.efficiency) == tuple(level.verdict for level in found.levels)
