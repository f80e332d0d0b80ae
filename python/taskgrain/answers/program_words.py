"""The answers for the graph of a program, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from taskgrain.answers.advise import Answer
from taskgrain.answers.program import Program
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

_WORTH = 0.9
"""The part of the time that a change leaves, if it is worth a sentence."""
_ROUNDED = 1e-3
"""The part by which the time that was asked for may differ, as it is stored."""
_OTHER_TASKS = "the runs were of tasks of other times"
_OTHER_REFERENCE = (
    "the reference beside the runs, by which tasks have their length, has changed; measure again on a quiet "
    "machine"
)
"""The reasons for a time that is not known."""
LEGEND = "Lost: what the graph does not need on these cores. A task costs: time of a core beside its work."
"""The meaning of `costs`."""


def allowed(program: Program, cores: int) -> Iterator[str]:
    """Describes the graph, and what it allows, whatever the system."""
    ranked, bound, least = program.ranked, program.bound, program.least(cores)
    short, half, long = (quantity.seconds(ranked[k], 2) for k in (0, len(ranked) // 2, -1))
    work, path = quantity.seconds(program.total), quantity.seconds(bound.critical_path)
    most = quantity.mean(program.most_cores)
    spread = f"{short} to {long}, half of them at most {half}," if ranked[0] < ranked[-1] else f"{short},"
    yield f"It has {quantity.counted(len(ranked), 'task')} of {spread} together {work}."
    untimed = program.graph.untimed
    if untimed == len(ranked):
        yield f"Each task counts as {quantity.seconds(ranked[0], 2)}: {program.graph.no_times}."
    elif untimed:
        counts = "which counts" if untimed == 1 else "which count"
        yield f"The file leaves out the time of {quantity.counted(untimed, 'task')}, {counts} as none."
    if left_out := program.graph.left_out:
        yield f"Left out: {left_out}."
    if missing := program.graph.no_order:
        yield f"As to what tasks depend on, {missing}: with that, it may take longer."
    share = quantity.percent(program.total / (cores * least))
    held = f": that is its critical path, which keeps {most} of them busy, {share} of their time."
    beyond = f". More than {most} cores gain nothing: the critical path takes {path}."
    yield (
        f"No runtime is quicker than {quantity.seconds(least)} on {quantity.counted(cores, 'core')}"
        f"{held if least <= bound.critical_path else beyond}"
    )
    if passed := program.steps.passed_on:
        part = quantity.percent(passed / program.steps.points)
        yield (
            f"The measured graph has {quantity.counted(passed, 'point')} more, {part} of all, which pass "
            "outputs on and cost as much as a task; a runtime that needs none may be quicker."
        )


def handed_on(program: Program, measured: int) -> Iterator[str]:
    """Tells what the file says of the tasks' outputs, where tasks are measured that hand on so many bytes."""
    if (said := program.graph.handed_on) is not None:
        more = "; give --output-bytes for more" if measured < said else ""
        known = without_size(program.graph)
        yield (
            f"What a task reads of another is {quantity.size(round(said))} in the median{known}; here each "
            f"task hands on {quantity.size(measured)}{more}."
        )


def without_size(graph: TaskGraph) -> str:
    """Says for how many tasks the median lacks the bytes that they hand on."""
    number = graph.unsized
    return f" (without {quantity.counted(number, 'task')} of which the file has no size)" if number else ""


def reached(program: Program, answers: Sequence[Answer]) -> Iterator[str]:
    """Tells what the best and the worst of the systems that one can choose cost, and what longer tasks would
    gain."""
    known = sorted((one for one in answers if one.known), key=lambda one: -one.speed)
    unknown: dict[str, list[str]] = {}
    for one in answers:
        if one.curve and not one.known:
            times = (point.asked or 0.0 for point in one.curve.cell.curve)
            asked = any(math.isclose(time, program.mean, rel_tol=_ROUNDED) for time in times)
            unknown.setdefault(_OTHER_REFERENCE if asked else _OTHER_TASKS, []).append(one.name)
    for why, names in unknown.items():
        yield f"The time with {quantity.listed(names)} is not known: {why}."
    for one in known[:1] + known[1:][-1:]:
        cost = program.cost(one.efficiency, one.occupied)
        assert cost.overhead is not None and cost.shorter is not None
        said = f"With {one.name} it takes {quantity.interval(cost.time)}"
        if not cost.overhead:
            yield f"{said}, as little as the graph allows."
            continue
        about = "" if one.efficiency.found.known else "about "
        overhead, shorter = about + quantity.seconds(cost.overhead, 2), quantity.part(cost.shorter)
        yield (
            f"{said}: {quantity.about_percent(cost.lost)} of that is lost. A task costs {overhead} beside "
            f"its work, and {shorter} of the tasks take less than that."
        )
    if known:
        yield from _longer(program, known[0])


def _longer(program: Program, best: Answer) -> Iterator[str]:
    """The fewest tasks to join into one that leave little to gain, or those that gain most; nothing if it is
    not known that anything is lost."""
    cost = program.cost(best.efficiency, best.occupied)
    now, overhead = cost.time.number, cost.overhead or 0.0
    least = program.least(best.occupied)
    if least > _WORTH * now or not cost.lost.low:
        return
    sizes = [1 << power for power in range(program.chain.bit_length())]
    times = {one: program.fused(overhead, one, best.occupied) for one in sizes}
    enough = [one for one in sizes if times[one] * _WORTH <= least]
    tasks = enough[0] if enough else min(sizes, key=times.__getitem__)
    then = times[tasks]
    if then <= _WORTH * now:
        yield (
            f"If {tasks} tasks that follow each other were one, it would take about {quantity.seconds(then)} "
            f"with {best.name}, as long as no chain of tasks takes longer for that."
        )


def costs(program: Program, answers: Sequence[Answer]) -> dict[str, list[str]]:
    """The columns of a table of the graph's time with each system."""
    found = [program.cost(one.efficiency, one.occupied) for one in answers]
    return {
        "time": [time(one.time) for one in found],
        "lost": [quantity.about_percent(one.lost) for one in found],
        "a task costs": [quantity.seconds(one.overhead, 2) for one in found],
        "shorter tasks": [quantity.part(one.shorter) for one in found],
    }


def time(one: Interval) -> str:
    """The time with a system, or the bound of it that is known."""
    if one.value is None and one.about is not None:
        return f"{'over' if one.high is None else 'under'} {quantity.seconds(one.about, 2)}"
    return quantity.interval(one)
