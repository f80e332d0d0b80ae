"""The answers of `taskgrain advise` in words, the same in a terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from taskgrain.answers import program_words
from taskgrain.answers.advise import LEAST_SAVED, LEVELS, Answer, Choice, Question, choice
from taskgrain.answers.verdict import how_busy
from taskgrain.estimate.advice import Efficiency, Level, Verdict
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

NOT_KNOWN = "not known"
_NAMED = 3
"""The most systems that a sentence names with their saving."""
VERDICTS: dict[Verdict, str] = {"yes": "yes", "no": "no", "unknown": NOT_KNOWN, "never": "never"}
"""The words for whether a level of efficiency is reached."""


def sentences(question: Question, answers: Sequence[Answer]) -> Iterator[str]:
    """The answer in words: what another system would save, which systems reach which efficiency, which do
    not, and which are not known."""
    if doubt := _doubt(answers):
        yield f"{doubt} Measure again on a quiet machine before you rely on this."
    # A system's efficiency is that of the cores that it occupies.
    used = max((one.occupied for one in answers if one.curve), default=question.cores)
    question = replace(question, cores=min(used, question.cores))
    if question.program:
        yield from program_words.allowed(question.program, question.cores)
        yield from program_words.handed_on(question.program, question.workload["output_bytes"])
    elif (most := question.most) < LEVELS[-1]:
        cores = quantity.counted(question.workload.cores_of_all(question.cores), "core")
        yield (
            f"On {cores} this graph allows an efficiency of at most {quantity.percent(most)}, whatever the "
            "system and the size of its tasks: `taskgrain graph --summary` shows why."
        )
    if chosen := choice(answers):
        yield _choice(chosen)
    bounds = [one for one in answers if one.curve and one.curve.cell.bound]
    answers = [one for one in answers if one not in bounds]
    if question.program:
        yield from program_words.reached(question.program, answers)
    else:
        yield from _levels(question, answers)
    nothing: dict[str, list[str]] = {}
    for one in answers:
        if not one.curve:
            why = one.problem or "there is no result for these tasks; --measure measures them"
            nothing.setdefault(why, []).append(one.name)
    for why, names in nothing.items():
        yield f"Nothing is known of {quantity.listed(names)}: {why}."
    if bounds:
        each = [f"{one.name} {efficiency(one.efficiency)}" for one in bounds]
        yield f"Nobody can choose a bound, which shows what could be reached: {'; '.join(each)}."
    cut = (Ending.BUDGET, Ending.UNFINISHED)
    now = [one for one in answers if one.curve and one.curve.cell.ending in cut and one.measured_now]
    if now and question.program:
        yield "A larger --budget makes these times surer."
    elif any(map(_open, now)):
        yield "The time was used up before all was known. A larger --budget makes this surer."
    if not answers and not bounds:
        of_program = "No system has a time yet. --measure measures it."
        of_tasks = "No folder has a result for these tasks. --measure measures them."
        yield of_program if question.program else of_tasks


def _levels(question: Question, answers: Sequence[Answer]) -> Iterator[str]:
    """Tells which systems reach which efficiency, which do not, and which are not known."""
    tasks, least = f"Tasks of {_time(question.work)}", quantity.percent(LEVELS[0])
    rough = sorted(
        (one for one in answers if one.rough), key=lambda one: -(one.efficiency.found.value or 0.0)
    )
    if rough:
        each = [f"{efficiency(one.efficiency)} with {one.name}" for one in rough]
        yield f"{tasks} reach {quantity.listed(each)}, by one round, which does not tell how sure that is."
    above: float | None = None
    for at in sorted(LEVELS, reverse=True):
        reach = [one for one in answers if _highest(one) == at]
        short = [one.name for one in reach if above is None or _verdict(one, above) in ("no", "never")]
        unsure = [one.name for one in reach if one.name not in short]
        but = f", but not {quantity.percent(above)}," if above else ""
        if short:
            yield f"{tasks} reach {quantity.percent(at)}{but} with {quantity.listed(short)}."
        if unsure:
            yield (
                f"{tasks} reach {quantity.percent(at)} with {quantity.listed(unsure)}; whether they reach "
                f"{quantity.percent(above)} is not known."
            )
        above = at
    for one in answers:
        if one.levels[0].verdict == "no":
            yield f"{tasks} are too short for {least} with {one.name}: {_shortfall(one)}."
    open_ones = [
        one for one in answers if one.curve and one.levels[0].verdict == "unknown" and one not in rough
    ]
    if open_ones:
        each = [
            f"{one.name}: {efficiency(one.efficiency)}".removesuffix(f": {NOT_KNOWN}") for one in open_ones
        ]
        yield f"It is not known whether they reach {least} with {'; '.join(each)}."


def _doubt(answers: Sequence[Answer]) -> str:
    """Says how busy the machine was, and which systems may therefore be more efficient than they seem."""
    curves = [one.curve.cell for one in answers if one.curve]
    disturbed = [one for one in answers if one.disturbed]
    busy = how_busy(curves)
    if not disturbed:
        return busy
    they = "The systems" if len(disturbed) == len(curves) else _few([one.name for one in disturbed])
    busy = busy or f"Others were busy beside the runs of {they}."
    return f"{busy} {they} may be more efficient than shown."


def _choice(found: Choice) -> str:
    """Tells whether another system would be better, and by how much of one's time."""
    best, sure, number = found.best.name, found.sure, len(found.saved) + 1
    told = [f"{name} {_share(one)}" for name, one in sure.items()]
    if len(told) > _NAMED:
        told = [told[0], f"{len(told) - 2} others less", f"{told[-1]} at least"]
    saves = f"If you use another now, it saves this share of your time: {', '.join(told)}"
    if not found.best.known:
        more = f" It takes less time than {quantity.listed([*sure])}. {saves}." if sure else ""
        names = [best, *(one.name for one in found.bounded)]
        far = _few(names) + (" were" if len(names) > 1 else " was")
        return (
            f"Which system takes the least time is not known, as {far} not measured near this time. "
            f"{best} has the highest lower bound.{more}"
        )
    others = [name for name in found.saved if name not in sure]
    maybe = [name for name in others if _difference(found.saved[name])]
    of = f" of {number} systems" + " measured near this time" * bool(found.bounded)
    if not sure and maybe:
        return f"{best} seems to take the least time{of}, but that is not sure."
    if not sure:
        return f"No difference in time between {quantity.listed([best, *others])} is shown."
    alike = [name for name in others if name not in maybe]
    rest = f"; no difference to {quantity.listed(alike)} is shown" if alike else ""
    return f"{best} takes the least time{of}. {saves}{rest}."


def saved(one: Answer, found: Choice) -> str:
    """Says how much of a system's time the best one saves."""
    if one is found.best and one.known:
        return "best"
    if one.system not in found.saved:
        return quantity.NOTHING
    share = found.saved[one.system]
    if one.system in found.sure:
        return _share(share)
    if not found.best.known:
        return quantity.NOTHING
    if not _difference(share):
        return "no difference"
    return NOT_KNOWN if share.value is None else f"about {quantity.percent(share.value)}"


def _share(saved: Interval) -> str:
    """A share of the time that is surely saved."""
    if saved.value is None:
        return f"over {math.floor(100.0 * (saved.low or 0.0))} %"
    return quantity.percent_interval(saved)


def _difference(saved: Interval) -> bool:
    """Tells whether there may be one, though nothing tells how sure that is."""
    return saved.low is None and (saved.value is None or saved.value > LEAST_SAVED)


def _open(one: Answer) -> bool:
    return any(level.verdict == "unknown" for level in one.levels)


def _highest(one: Answer) -> float | None:
    """The highest level that is surely reached."""
    return max((found.level for found in one.levels if found.verdict == "yes"), default=None)


def _verdict(one: Answer, level: float) -> Verdict:
    return next(found.verdict for found in one.levels if found.level == level)


def _shortfall(one: Answer) -> str:
    needs = one.levels[0].needed
    said = f"they reach {efficiency(one.efficiency)}"
    if needs.value is not None:
        shown = quantity.interval(needs)
        return f"{said}, and {shown} of work would be needed"
    if needs.low is None:
        return said
    return f"{said}, and more than {_time(needs.low)} of work would be needed"


def efficiency(one: Efficiency) -> str:
    """Shows it with its interval, or a bound that the measured sizes set, rounded so that it stays one."""
    found = one.found
    if found.value is not None and one.how == "measured":
        return quantity.about_percent(found)
    if found.value is not None:
        return f"≈ {quantity.percent_interval(found)}"
    if found.low is not None and (least := math.floor(100 * found.low)) > 0:
        return f"≥ {least} %, that of {_time(one.at[0])}"
    if found.high is not None and (most := math.ceil(100 * found.high)) < 100:
        return f"≤ {most} %, that of {_time(one.at[0])}"
    return NOT_KNOWN


def level(one: Level) -> str:
    """Tells whether it is reached, and by what margin."""
    word = VERDICTS[one.verdict]
    margin = _margin(one.margin)
    if one.verdict == "unknown" and one.margin.value is not None and margin.startswith("about"):
        return margin
    return f"{word}, {margin}" if margin else word


def _margin(one: Interval) -> str:
    if one.value is not None:
        if one.low is None and one.high is None:
            return f"about {quantity.ratio(one.value)}"
        return f"× {quantity.ratio_interval(one)}"
    if one.low is not None and one.high is not None:
        return f"× {quantity.ratio_interval(one)}"
    if one.low is not None:
        return f"over {quantity.ratio(one.low)}"
    return f"under {quantity.ratio(one.high)}" if one.high is not None else ""


def _time(seconds: float) -> str:
    return quantity.seconds(seconds, 2)


def _few(names: Sequence[str]) -> str:
    """The names, or the first one and how many others there are."""
    return f"{names[0]} and {len(names) - 1} others" if len(names) > _NAMED else quantity.listed(names)
