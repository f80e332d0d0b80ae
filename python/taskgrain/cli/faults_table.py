"""The outcome of faults, in a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from taskgrain.cli.printer import Printer
from taskgrain.machine.busy import BUSY_SHARE
from taskgrain.words import quantity
from taskgrain.words.quantity import NOTHING
from taskgrain.words.warnings import notice

_HEADS = ("", "survived", "correct", "run again", "without fault", "time lost", "next run")
_LONGEST = 160
"""Characters of how a run ended; the middle is left out, because runtimes tell the cause at the end."""
_COLOUR = re.compile("\ufffd\\[[0-9;]*m")
"""A colour in a driver's message, whose escape character was replaced."""
_KINDS = {
    "kill": "the process that executes task ({step}, {point}) is killed",
    "fail": "task ({step}, {point}) fails",
    "take_core": "a core is taken as soon as task ({step}, {point}) begins",
    "give_core": "a core is given as soon as task ({step}, {point}) begins",
}


def show(out: Printer, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """A line for each system, and how those ended that did not survive."""
    first = outcomes[0]
    out.text(heading(first["workload"], first["steps"], first["fault"]))
    out.table(_HEADS, [row(one) for one in outcomes], texts=3)
    for one in outcomes:
        for how in _kinds(one["ended"]):
            out.text(f"{one['system']}: {shortened(how)}")
        if "error" in one:
            when = "" if one["error"] == "unsupported" else ", without any fault"
            out.text(f"{one['system']}{when}: {one['error']}: {shortened(one['message'])}", "red")
            if one["log"]:
                out.whole(one["log"])
        if one["busy"] > BUSY_SHARE:
            out.text(f"{one['system']}: {notice('run_disturbed', share=one['busy']).text}", "yellow")
        if missed := one["runs"] - one["struck"]:
            runs = f"{missed} of {quantity.counted(one['runs'], 'run')}"
            out.text(f"{one['system']}: in {runs} {_missed(one['fault']['kind'])}")


def heading(workload: str, steps: int, fault: Mapping[str, Any]) -> str:
    """Says what runs, and what happens to it."""
    what = _KINDS[fault["kind"]].format(**fault)
    told = what if fault["times"] == 1 else f"{what}, {fault['times']} times"
    return f"{workload}, {quantity.counted(steps, 'step')}: {told}"


def _kinds(ended: Sequence[str]) -> list[str]:
    """The first of each kind: what runtimes tell of one failure differs from run to run."""
    return list({how.partition(":")[0]: how for how in reversed(ended)}.values())[::-1]


def _missed(kind: str) -> str:
    if kind in ("take_core", "give_core"):
        moved = "taken" if kind == "take_core" else "given"
        return f"the run was over before the core was {moved}; give it more --iterations or --steps"
    return "the fault does not reach where the tasks are executed"


def row(one: Mapping[str, Any]) -> list[str]:
    """The cells of a system."""
    struck, again, plain = one["struck"], one["again"], quantity.seconds(one["plain_seconds"])
    if not one["runs"]:
        how = "unsupported" if one["error"] == "unsupported" else "failed without a fault"
        return [one["system"], how, NOTHING, NOTHING, plain, NOTHING, NOTHING]
    if not struck:
        return [one["system"], "not struck", NOTHING, NOTHING, plain, NOTHING, _next(one)]
    return [
        one["system"],
        _of(one["survived"], struck),
        _of(one["correct"], one["survived"]),
        NOTHING if again is None else _spread(*(f"{again[k]:g}" for k in ("median", "low", "high"))),
        plain,
        lost(one["lost_seconds"]),
        _next(one),
    ]


def _next(one: Mapping[str, Any]) -> str:
    return "; ".join(shortened(how.removeprefix("works in a ")) for how in one["next_run"])


def _of(number: int, all_: int) -> str:
    if not all_:
        return NOTHING
    return "yes" if number == all_ else f"{number} of {all_}" if number else "no"


def _spread(middle: str, low: str, high: str) -> str:
    return middle if low == high else f"{middle} ({low} to {high})"


def lost(spread: Mapping[str, float] | None) -> str:
    """The median of the time lost, and the least and the most; where noise is larger, they are below zero."""
    if spread is None:
        return NOTHING
    return _spread(*(_signed(spread[key]) for key in ("median", "low", "high")))


def _signed(seconds: float) -> str:
    return f"-{quantity.seconds(-seconds)}" if seconds < 0.0 else quantity.seconds(seconds)


def shortened(text: str) -> str:
    """A text of a runtime, without colours, and without its middle if it is long."""
    text = _COLOUR.sub("", text)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
