"""The reasons why two measurements of different sessions cannot be compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from taskgrain.results.lines import SessionLine
from taskgrain.results.measurements import Measurement, Measurements
from taskgrain.study.variables import MOST, SECRET
from taskgrain.words import quantity

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
