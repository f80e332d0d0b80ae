"""Weak and strong scaling in a terminal and for programs: times on each number of cores, and METG's limit."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import Any

from taskgrain.cli.printer import Printer
from taskgrain.report.data import Results
from taskgrain.report.scaling import (
    STEPS,
    Problem,
    Scaling,
    Time,
    left_out,
    means,
    measured,
    scalings,
    separations,
    shown,
)
from taskgrain.words import quantity
from taskgrain.words.interval import Interval


def show(out: Printer, results: Results) -> None:
    """The times of each system on each workload, and where the limit is met; nothing if cores do not vary."""
    found = scalings(results)
    for (kind, workload), some in groupby(found, lambda one: (one.kind, one.workload)):
        out.text(f"\nTime of {STEPS} steps and parallel efficiency, {kind} scaling of {workload}", "bold")
        group = list(some)
        cores = sorted({time.cores for one in group for time in _times(one)})
        lines = []
        for one in group:
            lines.append(
                [one.system, f"limit of METG({quantity.percent(one.threshold)})", *_limits(one, cores)]
            )
            lines += [["", one.named(problem), *_shown(one, problem, cores)] for problem in one.problems]
        out.table(["system", "size", *(quantity.counted(n, "core") for n in cores)], lines, texts=2)
    for sentence in left_out(results):
        out.text(sentence)
    apart, unmet = separations(results)
    if not apart:
        return
    out.text("\nWhere the limit is met", "bold")
    head = ["system", "workload", "size", "limit and ideal", "limit and actual", "apart: cores", "time"]
    out.table(
        head,
        [
            [
                *(one.scaling.system, one.scaling.workload, one.scaling.named(one.problem)),
                *(
                    f"{met.cores:.2f} cores, {quantity.seconds(met.seconds)}"
                    for met in (one.ideal, one.actual)
                ),
                *(f"{factor:.2f} ×" for factor in one.factors),
            ]
            for one in apart
        ],
        texts=3,
    )
    out.text("\nHow far the two lie apart, mean and standard deviation", "bold")
    out.table(
        ["workload", "meetings", "not met", "cores", "time"],
        [
            [
                *(one.workload, str(one.count), str(one.unmet)),
                *(one.shown("cores"), one.shown("seconds")),
            ]
            for one in means(apart, unmet)
        ],
        texts=1,
    )


def as_json(results: Results) -> list[dict[str, Any]]:
    """The same for programs: times in seconds, null for what is not known."""
    return [
        {
            "kind": one.kind,
            "system": one.system,
            "workload": one.workload,
            "steps": STEPS,
            "threshold": one.threshold,
            "limit": [_fields(time) for time in one.limit],
            "sizes": [_problem(one, problem) for problem in one.problems],
        }
        for one in measured(results)
    ]


def _times(one: Scaling) -> list[Time]:
    return [time for problem in one.problems for time in problem.times] + list(one.limit)


def _limits(one: Scaling, cores: list[int]) -> list[str]:
    known = {time.cores: time for time in one.limit}
    return [quantity.seconds(known[n].seconds) if n in known else quantity.NOTHING for n in cores]


def _shown(one: Scaling, problem: Problem, cores: list[int]) -> list[str]:
    known = {time.cores: time for time in problem.times}
    return [
        f"{quantity.seconds(time.seconds)}  {shown(one.efficiency(problem, time))}"
        if (time := known.get(n))
        else quantity.NOTHING
        for n in cores
    ]


def _efficiency(share: Interval | None) -> dict[str, float | None]:
    found = (share.value, share.low, share.high) if share else (None, None, None)
    names = ("parallel_efficiency", "parallel_efficiency_low", "parallel_efficiency_high")
    return dict(zip(names, found, strict=True))


def _fields(time: Time) -> dict[str, Any]:
    return {key: value for key, value in asdict(time).items() if key != "cell"}


def _problem(one: Scaling, problem: Problem) -> dict[str, Any]:
    met = one.meetings(problem) if one.kind == "strong" else (None, None)
    times = [_fields(time) | _efficiency(one.efficiency(problem, time)) for time in problem.times]
    return {
        "iterations": problem.iterations,
        "of": "task" if one.kind == "weak" else "step",
        "times": times,
        "limit_ideal": met[0] and asdict(met[0]),
        "limit_actual": met[1] and asdict(met[1]),
    }
