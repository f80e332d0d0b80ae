"""The measurements of two sides of a cell: which belong together, and why they cannot be compared."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from taskgrain.answers.compare.conditions import differences, other_hosts, settings, variables
from taskgrain.answers.compare.sides import repeats
from taskgrain.estimate.sessions import USUAL, USUAL_OF_ONE, Scatter
from taskgrain.results.measurements import Measurement, Measurements, together
from taskgrain.words.endings import Ending


def usual(measurements: Measurements) -> Scatter:
    """The scatter of sessions that counts where nobody knows it."""
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
