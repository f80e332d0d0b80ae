"""How the answers of `taskgrain advise` read: in a terminal and in the report, in the same words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from taskgrain.estimate.advice import Efficiency, Level, Verdict
from taskgrain.measure.advise import LEVELS, MOSTLY, Answer, Question
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

_NOT_KNOWN = "not known"
VERDICTS: dict[Verdict, str] = {"yes": "yes", "no": "no", "unknown": _NOT_KNOWN}
"""Whether a level of efficiency is reached, in words."""


def sentences(question: Question, answers: Sequence[Answer]) -> Iterator[str]:
    """The answer in words: which systems reach which efficiency, which do not, and what is not known."""
    answers = sorted(answers, key=lambda one: bool(one.curve and one.curve.bound))
    disturbed = max((one.curve.disturbed or 0.0 for one in answers if one.curve), default=0.0)
    if disturbed > MOSTLY:
        yield (
            f"Other programs disturbed up to {quantity.percent(disturbed)} of the runs, so that systems may "
            "be more efficient than shown. Measure again on a quiet machine before you rely on this."
        )
    tasks, least = f"Tasks of {_time(question.work)}", quantity.percent(LEVELS[0])
    above: float | None = None
    for at in sorted(LEVELS, reverse=True):
        reach = [one for one in answers if _highest(one) == at]
        short = [one.name for one in reach if above is None or _verdict(one, above) == "no"]
        unsure = [one.name for one in reach if one.name not in short]
        but = f", but not {quantity.percent(above)}," if above else ""
        if short:
            yield f"{tasks} reach {quantity.percent(at)}{but} with {_listed(short)}."
        if unsure:
            yield (
                f"{tasks} reach {quantity.percent(at)} with {_listed(unsure)}; whether they reach "
                f"{quantity.percent(above)} is not known."
            )
        above = at
    for one in answers:
        if one.levels[0].verdict == "no":
            yield f"{tasks} are too short for {least} with {one.name}: {_shortfall(one)}."
    for one in answers:
        if one.curve and one.levels[0].verdict == "unknown":
            found = efficiency(one.efficiency)
            why = "" if found == _NOT_KNOWN else f": {found}"
            yield f"It is not known whether they reach {least} with {one.name}{why}."
    for one in answers:
        if not one.curve:
            why = one.problem or "there is no result for these tasks; --measure measures them"
            yield f"Nothing is known of {one.name}: {why}."
    if not answers:
        yield "No folder has a result for these tasks. --measure measures them."


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
    """With its interval, or the bound that the measured sizes set, rounded so that it stays one."""
    found = one.found
    if found.value is not None:
        shown = quantity.percent_interval(found)
        return shown if one.how == "measured" else f"≈ {shown}"
    if found.low is not None:
        return f"≥ {quantity.percent(math.floor(100 * found.low) / 100)}, that of {_time(one.at[0])}"
    if found.high is not None:
        return f"≤ {quantity.percent(math.ceil(100 * found.high) / 100)}, that of {_time(one.at[0])}"
    return _NOT_KNOWN


def level(one: Level) -> str:
    """Whether it is reached, and by what margin."""
    word = VERDICTS[one.verdict]
    margin = _margin(one.margin)
    return f"{word}, {margin}" if margin else word


def _margin(one: Interval) -> str:
    if one.value is not None:
        if one.low is None and one.high is None:
            return f"about {quantity.ratio(one.value)}"
        return f"× {quantity.ratio_interval(one)}"
    if one.low is not None:
        return f"over {quantity.ratio(one.low)}"
    return f"under {quantity.ratio(one.high)}" if one.high is not None else ""


def _time(seconds: float) -> str:
    return quantity.seconds(seconds, 2)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
