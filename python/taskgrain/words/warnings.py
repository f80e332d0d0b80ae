"""Warnings: a code and its values where they arise and in the results, words only here.

`SENTENCES` says each of them in English. To add one, give it a code, a sentence that says what was found and
what to do about it, and a place in a row of docs/reference/failures.md. A test holds that page to this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from string import Formatter
from typing import Any

from taskgrain.words import quantity

SENTENCES = {
    # the estimate
    "one_round": "The interval is missing, because there was only one round. Allow at least {needed} rounds, "
    "or a larger budget.",
    "start_taken_off": "Start and end of a run take {start:seconds}, which is {share:percent} of a run here. "
    "METG is without them; a program that runs short graphs pays them each time.",
    "start_dominates": "Start and end of a run take {start:seconds}, which is {share:percent} of a run here. "
    "What is left beside them is too little to tell METG. Measure with more --steps.",
    "cost_grows": "A task costs {share:percent} more where a run has twice as many tasks. METG holds for "
    "runs of {tasks:,} tasks, and is larger in longer ones. Give the --steps of your program.",
    "few_rounds": "The interval is rough, because there were only {rounds:count round}. Allow at least "
    "{needed} rounds, or a larger budget.",
    "few_outliers": "{outliers} of {repeats} repeats ({share:percent}) took far longer than the median of "
    "their size. The worst took {worst:.1f} times as long (round {round}, {iterations} iterations). All were "
    "kept. They are too few to change a median.",
    "many_outliers": "{outliers} of {repeats} repeats ({share:percent}) took far longer than the median of "
    "their size. The worst took {worst:.1f} times as long (round {round}, {iterations} iterations). All were "
    "kept. Stop other programs and measure again.",
    "efficiency_above_one": "The efficiency reaches {efficiency:.0%} at {iterations:count iteration}. "
    "The reference was disturbed, or ran on other cores or with another instruction set, or the system's "
    "times are wrong. Measure again on a quiet machine.",
    "no_bound": "The interval has no bound on one side. There were too few rounds, or the sizes end too near "
    "the crossing. Give this cell more rounds.",
    "gap_at_crossing": "The crossing lies between {low:.0f} and {high:.0f} iterations, and no size between "
    "them was measured. Where exactly it lies assumes a constant overhead per task there. Add sizes between "
    "the two.",
    # the experiment
    "budget_before_first_run": "The budget ended before the first run. Give the study more time.",
    "run_beyond_budget": "A run of {tasks:,} tasks was not started, because it would take about "
    "{needed:seconds} or more, beyond the end of the budget of {budget:seconds}. Raise the budget, or choose "
    "a smaller graph.",
    "run_stopped": "A run of {tasks:,} tasks was stopped after {seconds:seconds}, as it took too much of the "
    "budget of {budget:seconds}. Raise the budget, or choose a smaller graph.",
    "budget_before_rounds": "The budget ended before the crossing was measured. METG is that of the search, "
    "which looks at each size once. Raise the budget.",
    "no_crossing_measured": "In {rounds:count round} the measured sizes stayed on one side of the threshold: "
    "tasks of {granularity:seconds} reached {efficiency:percent}. Measure on a quieter machine, or raise the "
    "budget.",
    "floor_above_metg": "The floor, {floor:seconds}, is above METG. Runs of empty tasks and others met "
    "different disturbances; trust neither, and measure again.",
    "budget_before_crossing": "The search ended before the crossing was found: tasks of "
    "{granularity:seconds} reached {efficiency:percent}. Raise the budget.",
    "budget_before_precise": "The budget ended this cell before the interval was within {precision:.0%} of "
    "METG. Raise the budget, or measure on a quieter machine.",
    "rounds_before_precise": "After {rounds:count round} the interval was not within {precision:.0%} of "
    "METG, and more rounds would hardly narrow it. Measure on a quieter machine.",
    "task_time_off": "The work of a task of {iterations:count iteration} took {took:seconds} alone, where "
    "{asked:seconds} were asked for: a task has whole iterations, and the clock may have changed. The "
    "efficiency is that of what was measured.",
    "budget_before_efficiency": "The budget ended this cell before the efficiency was known to "
    "{precision:.0%} of itself. Raise the budget, or measure on a quieter machine.",
    "rounds_before_efficiency": "After {rounds:count round} the efficiency was not known to {precision:.0%} "
    "of itself. Allow more rounds, or measure on a quieter machine.",
    # the graph
    "steps_fixed": "Every run is the whole graph of {steps:count step}, as other steps would make another "
    "graph. Start and end of a run are a part of what is measured, as they are of the graph.",
    "steps_cut": "Every run has {steps:count step} instead of {wished}, so that it fits into memory and "
    "time. Start and end of a run are a part of what is measured. All systems measure this graph. Give "
    "--steps to choose others.",
    "parallelism_short": "Nothing was measured: the graph allows an efficiency of at most {most:percent} on "
    "{cores:count core}, whatever the size of its tasks, as its longest chain has {chain:,} of its {tasks:,} "
    "tasks. Choose a larger width, more graphs, or fewer --cores.",
    # the runs
    "driver_crashed": "The driver crashed and was started again ({crashes:count time}). See its log.",
    "runs_disturbed": "{disturbed} of {runs} runs stayed disturbed by others on the cores, after "
    "{repeated:count repeat}. They count only where too few others do. Measure on a quiet machine.",
    "crossing_disturbed": "Most runs near the crossing that count are ones that others disturbed, because "
    "they left hardly any alone. METG contains what that cost, and its interval does not say how much it "
    "was. Measure on a quiet machine.",
    "run_throttled": "The control group's quota was used up: it stopped threads for {seconds:seconds} in all "
    "during the run. Measure with fewer --cores, or with a larger quota.",
    "runs_throttled": "The control group's quota stopped {throttled} of {runs} runs on their way. Measure "
    "with fewer --cores, or with a larger quota.",
    "host_slower": "The kernel alone was {factor:.2f} times as fast on host {fastest} as on {host}, for "
    "which the others wait. Find out what slows it, or measure without it.",
    "host_busier": "Others took {share:percent} of the cores of host {host}, and at most {others:percent} of "
    "those of another. Stop them there, or measure without it.",
    "run_disturbed": "Others took {share:.0%} of the cores during the run. Measure on a quiet machine.",
    # the driver
    "binding_outside": "Worker {worker} may run on processors {processors:list}, outside of {asked:list}. "
    "Bind the system's workers to the cores that it is given.",
    "binding_shared": "Workers {workers:list} share processor {processor}. Give each worker a core of its "
    "own.",
    "other_cores": "The system has {cores:count core} where {asked:count core} were asked for, as its "
    "system.toml lets it. Its numbers are those of {cores:count core}.",
    # the environment
    "variables_withheld": "Drivers do not get {names:list} of your environment, as runtimes read such "
    "variables. Pass one on purpose with --env NAME=VALUE.",
    # the machine
    "machine_busy": "Other processes take {share:.0%} of the cores. Stop them, or choose fewer --cores.",
    "short": "Some runtimes may fail here, as these are short: {what:list}.",
    "core_interrupted": "Core {core} loses {lost:percent} of its time to interruptions; the largest takes "
    "{gap:seconds}. Measure on other cores, or find out what interrupts this one.",
    "clock_governor": "The frequency governor is {governor}. `cpupower frequency-set -g performance` "
    "steadies the clock.",
    "cpu_limit": "The control group allows {limit:g} of the {cores:count core} measured on, and the kernel "
    "stops threads whenever that is used up. Measure with fewer --cores, or with a larger quota.",
    "cores_differ": "The cores are of different kinds ({kinds:list}), and one reference stands for all of "
    "them. Measure with at most {fastest} --cores, which are the fastest.",
    "processors_unlisted": "The container does not list processors {missing:list} as online, but this "
    "process may run on them, and so they count. Runtimes that read the list themselves may take fewer.",
    "clock_source": "The kernel counts time by {source}, and a look at the clock takes {look:seconds}. Short "
    "tasks, and runtimes that look often, pay for it. Quicker ones here: {quicker:list}. Boot with "
    "clocksource=NAME.",
    "virtual_machine": "This is a virtual machine. Compare only results of one run with each other.",
}
"""The sentence of each code; values stand in braces, as in `str.format`, or as `seconds`, `percent`, `list`,
or `count` with the noun of one."""


class Weight(IntEnum):
    """The weight of a warning; the least comes first."""

    DECIDES = 0
    """The warning that the cell has no number, no bound, or one that nobody should rely on."""
    USUAL = 1
    HARMLESS = 2
    """The warning tells how a number came about, and casts no doubt on it."""


WEIGHTS = dict.fromkeys(
    (
        "one_round", "start_dominates", "efficiency_above_one", "no_bound", "budget_before_first_run",
        "run_beyond_budget", "run_stopped", "budget_before_rounds", "no_crossing_measured",
        "floor_above_metg", "budget_before_crossing", "parallelism_short", "driver_crashed",
        "crossing_disturbed",
    ),
    Weight.DECIDES,
) | dict.fromkeys(("few_outliers", "start_taken_off", "steps_fixed"), Weight.HARMLESS)  # fmt: skip
"""The weights of codes that do not have the usual one."""


class _Words(Formatter):
    """Formats values as they are in a result, and quantities as everywhere else."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "seconds":
            return quantity.seconds(float(value), 2)
        if format_spec == "percent":
            return quantity.percent(float(value), 1)
        if format_spec.endswith("%"):  # with the space that quantities have
            return f"{float(value):{format_spec}}".replace("%", " %")
        if format_spec.startswith("count "):
            return quantity.counted(value, format_spec.removeprefix("count "))
        if format_spec == "list":
            shown = ", ".join(map(str, value[:8]))
            return shown if len(value) <= 8 else f"{shown}, …"
        return str(super().format_field(value, format_spec))


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: its code, and the values that were found, in SI units."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def weight(self) -> Weight:
        return WEIGHTS.get(self.code, Weight.USUAL)

    @property
    def text(self) -> str:
        """The warning in words; a code that this version does not know is shown with its values."""
        try:
            return _Words().vformat(SENTENCES[self.code], (), self.values)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            told = ", ".join(f"{name} {value}" for name, value in self.values.items())
            return f"{self.code} ({told})" if told else self.code

    def fields(self) -> dict[str, Any]:
        """The warning in a line of `runs.jsonl`."""
        return {"code": self.code, **self.values}

    def shown(self) -> dict[str, Any]:
        """The warning, with its words, for programs that read a command's output."""
        return {"code": self.code, **self.values, "text": self.text}


def notice(code: str, **values: Any) -> Notice:
    """A warning of `SENTENCES`."""
    assert code in SENTENCES, code
    return Notice(code, values)


def read_notice(value: object) -> Notice | None:
    """A warning from a line of `runs.jsonl`."""
    match value:
        case {"code": str(code), **values}:
            return Notice(code, {str(name): one for name, one in values.items()})
    return None


@dataclass(frozen=True)
class Group:
    """Warnings of one code, told once, in the words of the first of them."""

    text: str
    cells: tuple[str, ...]
    """The cells that they are about."""
    alike: bool
    """All have these words, with the same numbers."""
    weight: Weight


def grouped(found: Iterable[tuple[str, Notice]]) -> list[Group]:
    """Groups pairs of a cell and a warning by code: by weight, then in order of appearance."""
    kinds: dict[str, list[tuple[str, Notice]]] = {}
    for cell, one in found:
        kinds.setdefault(one.code, []).append((cell, one))
    groups = [
        Group(
            text=of[0][1].text,
            cells=tuple(dict.fromkeys(cell for cell, _ in of)),
            alike=len({one.text for _, one in of}) == 1,
            weight=of[0][1].weight,
        )
        for of in kinds.values()
    ]
    return sorted(groups, key=lambda one: one.weight)
