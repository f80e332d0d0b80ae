"""The measurements of two sides of a cell: which belong together, and why they cannot be compared."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from taskgrain.answers.compare.sides import repeats
from taskgrain.estimate.sessions import USUAL, USUAL_OF_ONE, Scatter
from taskgrain.results.lines import SessionLine
from taskgrain.results.measurements import Measurement, Measurements, together
from taskgrain.study.variables import MOST, SECRET
from taskgrain.words import quantity
from taskgrain.words.endings import Ending

_FARTHER = 3.0
"""Two sides may be so many times as far apart in time as the sessions that show the scatter."""
_LEAST_GAP = 3600.0
"""Seconds between two sides that need no such look: whatever it is, it is the same hour."""

_SHOWN = 60
"""Characters of a variable's value that a line shows."""


def differences(first: Measurement, second: Measurement, *, across_hosts: bool = False) -> Iterator[str]:
    """Differences between two sessions that no scatter between sessions explains. The name of the host is one
    of them unless the user says that hosts of one kind can be compared."""
    one, other = first.session, second.session
    if one.machine is None or other.machine is None:
        yield "the machine of one side is not known"
    elif one.machine != other.machine:
        yield f"other machine ({_of_machine(one, other)})"
    elif one.governor != other.governor:
        yield f"other frequency governor ({one.governor or 'none'}, {other.governor or 'none'})"
    elif not across_hosts and (hosts := other_hosts(first, second)):
        yield f"measured on another host ({hosts}); --across-hosts compares hosts of one kind"
    if one.cores != other.cores:
        yield f"other processors ({_listed(one.cores)}; {_listed(other.cores)})"
    if first.reference != second.reference:
        yield f"other reference ({first.reference}, {second.reference})"
    elif first.reference_build is None or second.reference_build is None:
        yield "the build of the reference of one side is not known"
    elif first.reference_build != second.reference_build:
        yield "another build of the reference"
    if first.cores != second.cores:
        yield f"other number of cores ({first.cores}, {second.cores})"
    yield from settings(first, second)


def other_hosts(first: Measurement, second: Measurement) -> str:
    """The two hosts, if both are known and are not the same."""
    one, other = first.session.where, second.session.where
    return f"{one} → {other}" if one and other and one != other else ""


def settings(first: Measurement, second: Measurement) -> Iterator[str]:
    """Settings that differ; two measurements of one folder have the same but for what their cells are."""
    known = sorted(first.settings.keys() | second.settings.keys())
    for name in known:
        if name == "dag" and "dag_hash" in known:  # the content counts, not where it lies
            continue
        values = first.settings.get(name), second.settings.get(name)
        if None not in values and values[0] != values[1]:
            yield f"other settings ({name}: {values[0]}, {values[1]})"


def variables(first: Measurement, second: Measurement) -> Iterator[str]:
    """Environment variables that differ, as they may be what is compared, and those of which nobody knows."""
    one, other = first.variables, second.variables
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            begin = _first_difference(one.get(name), other.get(name))
            here, there = (_value(side.get(name), begin) for side in (one, other))
            yield f"{name} is {here} on one side, and {there} on the other"
        elif one[name] == SECRET:
            yield f"{name} is a secret, which is not stored: its values are not compared"
        elif len(str(one[name])) >= MOST:
            yield f"{name} is stored up to character {MOST}: the rest of its values is not compared"


def _first_difference(one: object, other: object) -> int:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(str(one), str(other), strict=False))
    return sum(1 for _ in same)


def _value(value: object, differs: int) -> str:
    """Cuts a long value so that the character at `differs` is shown."""
    text = str(value)
    begin = 0 if differs < _SHOWN else differs - _SHOWN // 2
    cut = f"{'…' if begin else ''}{text[begin : begin + _SHOWN]}{'…' if text[begin + _SHOWN :] else ''}"
    return "not set" if value is None else cut or "empty"


def _of_machine(one: SessionLine, other: SessionLine) -> str:
    for first, second in ((one.cpu, other.cpu), (one.kernel, other.kernel)):
        if first and second and first != second:
            return f"{first}; {second}"
    return "other caches, cores or memory"


def _listed(processors: Sequence[int]) -> str:
    return ",".join(map(str, processors)) if processors else "not known"


def too_far_apart(first: Measurements, second: Measurements, repeated: Sequence[Measurements]) -> str:
    """Says why the sessions that show the scatter tell nothing of the time between two sides.

    Empty if they do, and if there are none. `repeated` are groups of measurements of one build. Sessions of
    one hour do not show how two days differ.
    """
    gap = min(
        (
            max(one.begin - other.end, other.begin - one.end, 0.0)
            for one in first
            for other in second
            if one.begin is not None and other.begin is not None
            if one.end is not None and other.end is not None
        ),
        default=0.0,
    )
    spans = [_span(group) for group in repeated if len(group) > 1]
    longest = max(spans, default=gap)
    if gap <= max(_LEAST_GAP, _FARTHER * longest):
        return ""
    return (
        f"the sides are {_time(gap)} apart, but the sessions of one build only {_time(longest)}, which does "
        "not show how much the machine changes in between"
    )


def _span(measurements: Measurements) -> float:
    begins = [one.begin for one in measurements if one.begin is not None]
    return max(begins) - min(begins) if begins else 0.0


def _time(seconds: float) -> str:
    for length, noun in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= length:
            return quantity.counted(round(seconds / length), noun)
    return quantity.counted(round(seconds), "second")


def usual(measurements: Measurements) -> Scatter:
    """The scatter of sessions that counts if nobody knows it."""
    several = all(len({sample.process for sample in one.samples}) > 1 for one in measurements)
    return USUAL if several else USUAL_OF_ONE


def failure(measurements: Measurements, label: str) -> str:
    """Says how a side failed. It comes before all else, as it may be why the other side has nothing."""
    return next((f"failed in {label} ({one.cell.error})" for one in measurements if failed(one)), "")


def nothing(measurements: Measurements, label: str) -> str:
    """Says why no run of a side counts."""
    if any(one.samples for one in measurements):
        return ""
    cells = [one.cell for one in measurements]
    problem = next((line.message for cell in cells for line in reversed(cell.problems) if line.message), "")
    ending = next((cell.ending.shown for cell in cells if cell.runs or cell.ending.final), "")
    if not problem and not ending:
        return f"not measured in {label}"
    return f"tried in {label}, but no run counts ({problem or ending})"


def matched(contender: Measurements, baseline: Measurements) -> list[tuple[Measurement, Measurement]]:
    """Pairs that were measured together, one of each side; none if a measurement has no partner."""
    found = [(one, other) for one in contender for other in baseline if together(one, other)]
    whole = len(contender) == len(baseline) == len(found)
    return found if whole and len({id(other) for _, other in found}) == len(found) else []


def incomparable(
    contender: Measurements,
    baseline: Measurements,
    pairs: Sequence[tuple[Measurement, Measurement]],
    across_hosts: bool,
) -> str:
    """Says why the two cannot be compared; empty if they can."""
    first = baseline[0]
    if not pairs and repeats(contender, baseline):
        return "both sides hold the same session; one may be a copy of the other"
    for measurements in (baseline, contender):
        if len({one.build for one in measurements}) > 1:
            return "one side has several builds of the system; name one, as FOLDER@BUILD"
    if pairs:
        for measurements in (baseline, contender):
            for one in measurements[1:]:
                if why := next(differences(measurements[0], one, across_hosts=True), ""):
                    return why
        return next(settings(first, contender[0]), "")
    for one in (*baseline, *contender):
        if why := next(differences(first, one, across_hosts=across_hosts), ""):
            return why
    return ""


def groups(
    contender: Measurements, baseline: Measurements, every: Measurements, across_hosts: bool
) -> list[list[Measurement]]:
    """The measurements by build.

    If both sides are of one build, the two sides are apart: what they differ by is the question, and must not
    count as scatter.
    """
    inside = {id(one) for one in contender}
    seen: list[Measurement] = []
    groups: dict[tuple[str, str, bool], list[Measurement]] = defaultdict(list)
    for one in every:
        apart = any(differences(baseline[0], one, across_hosts=across_hosts))
        if one.build and one.samples and not repeats(seen, [one]) and not apart:
            seen.append(one)
            same = (one.system, one.build) in {(each.system, each.build) for each in baseline}
            groups[one.system, one.build, same and id(one) in inside].append(one)
    return list(groups.values())


def clock(contender: Measurements, baseline: Measurements) -> float | None:
    """The reference beside the contender over that beside the baseline."""
    over, under = peak(contender), peak(baseline)
    return over / under if over and under else None


def peak(measurements: Measurements) -> float | None:
    """The reference beside the runs: their median; None if none has one."""
    known = [sample.peak for one in measurements for sample in one.samples if math.isfinite(sample.peak)]
    return median(known) if known else None


def failed(measurement: Measurement) -> bool:
    """Tells whether it came to nothing."""
    return measurement.cell.ending is Ending.FAILED


def notes(contender: Measurements, baseline: Measurements) -> Iterator[str]:
    """Returns what to know of a ratio of the two."""
    for name in dict.fromkeys(one.system for one in (*contender, *baseline) if one.cell.origin.simulated):
        yield f"{name} is simulated: no machine was measured"
    cores = Counter(one.cores for one in (*contender, *baseline))
    if len(cores) > 1:
        one, other = contender[0], baseline[0]
        yield f"{one.system} uses {one.cores} of the cores, {other.system} {other.cores}"
    if len({one.build for one in (*contender, *baseline)}) == 1 and contender[0].build:
        yield "the build is the same on both sides"
    if len({(one.session.taskgrain, one.session.commit) for one in (*contender, *baseline)}) > 1:
        yield "another version of taskgrain measured the other side"
    if hosts := other_hosts(baseline[0], contender[0]):
        yield f"measured on another host ({hosts})"
    yield from variables(contender[0], baseline[0])
