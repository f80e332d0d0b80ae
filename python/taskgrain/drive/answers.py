"""Checks the answers of a driver: a wrong, impossible or incomplete answer never becomes a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.launch.registry import here
from taskgrain.words.quantity import counted
from taskgrain.words.warnings import Notice, notice

PROTOCOL = 1
_LEAST_SECONDS = 1e-9
"""The tick of the clocks that there are: less is no measurement."""


class DriverError(Exception):
    """A driver did not do what it was asked.

    `kind` is that of a `failure` line of a results folder, or `invalid`: the request was wrong, which is the
    user's to mend.
    """

    def __init__(self, kind: str, message: str, log_tail: str = "") -> None:
        message = printable(message)
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log_tail = log_tail
        self.at_start = False
        """True if the driver did not even start."""
        self.strikes = 0
        """The number of times that the fault of the run had struck."""


class OutOfTime(Exception):
    """The time for a request was up, by no fault of the driver, which has been killed."""


def printable(text: str) -> str:
    """A driver's text made fit for any terminal and encoding: it may hold escape sequences, or no Unicode."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


@dataclass(frozen=True)
class Ready:
    """The driver's answer to `hello`."""

    system: str
    version: str
    nodes: int
    cores: int
    """Cores that the system occupies over all nodes, those it reserves for itself included."""
    binding: tuple[tuple[int, ...], ...]
    raw: Mapping[str, object]
    warnings: tuple[Notice, ...] = ()
    library: str = ""
    """The library that connects its processes; empty if none does."""


@dataclass(frozen=True)
class RunResult:
    """The driver's answer to `run`; all figures except the lists are of one repeat."""

    seconds: tuple[float, ...]
    prepare_seconds: tuple[float, ...]
    tasks: int
    executed: int
    dependencies: int
    work: float
    work_unit: str
    binding: tuple[tuple[int, ...], ...]
    peak_rss_bytes: int
    warnings: tuple[Notice, ...] = ()
    waited: tuple[float, ...] = ()
    """Seconds for which its threads, all together, waited in each repeat for processors that others had;
    empty where the driver does not know."""


@dataclass(frozen=True)
class Disturbed:
    """The driver's answer to a `run` that was asked for a fault."""

    result: RunResult
    """Its `executed` counts the executions that were begun, and may be more than its `tasks`."""
    strikes: int
    """The number of times that the fault has struck."""


@dataclass(frozen=True)
class Peak:
    """The reference's answer: work per second of the kernel alone, one rate per core, all running at once."""

    rates: tuple[float, ...]
    work_unit: str


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse(line: bytes) -> dict[str, object]:
    """The JSON object behind the prefix. Raises DriverError(protocol)."""
    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DriverError("protocol", f"an answer is not JSON ({error}): {_shown(line)}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("event"), str):
        raise DriverError("protocol", f"an answer is not an object with an event: {_shown(line)}")
    return answer


def _shown(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 120 else text[:117] + "…"


def _wrong(field: str, value: object, allowed: str) -> DriverError:
    return DriverError("protocol", f"the answer's {field} is {_shown(value)}; it must be {allowed}")


def _integer(answer: Mapping[str, object], field: str, *, low: int = 0, default: int | None = None) -> int:
    value = answer.get(field, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < 2**63:
        raise _wrong(field, value, f"an integer of at least {low}")
    return value


def _number(value: object, field: str, *, above: bool = False) -> float:
    allowed = "a finite number " + ("above 0" if above else "of at least 0")
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(field, value, allowed)
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(field, value, allowed) from None
    if not math.isfinite(number) or number < 0 or (above and number == 0):
        raise _wrong(field, value, allowed)
    return number


def _positive(answer: Mapping[str, object], field: str, count: int) -> tuple[float, ...]:
    value = answer.get(field)
    if not isinstance(value, list) or len(value) != count:
        raise _wrong(field, value, f"a list of {count} numbers")
    return tuple(_number(item, field, above=True) for item in value)


def _text(answer: Mapping[str, object], field: str, default: str | None = None) -> str:
    value = answer.get(field, default)
    if not isinstance(value, str):
        raise _wrong(field, value, "text")
    return printable(value)


def _binding(answer: Mapping[str, object]) -> tuple[tuple[int, ...], ...]:
    value = answer.get("binding", [])
    allowed = "a list of lists of processors"
    if not isinstance(value, list):
        raise _wrong("binding", value, allowed)
    for worker in value:
        if not isinstance(worker, list) or any(type(one) is not int or one < 0 for one in worker):
            raise _wrong("binding", value, allowed)
    return tuple(tuple(worker) for worker in value)


def _bound(binding: Sequence[Sequence[int]], launch: Launch) -> tuple[Notice, ...]:
    """Returns warnings about the places of the workers, node by node."""
    each = len(binding) // launch.nodes
    of = [one.cores for one in launch.on] or [launch.cores]
    parts = (binding_warnings(binding[k * each :][:each], cores) for k, cores in enumerate(of))
    return next(filter(None, parts), ())


def binding_warnings(binding: Sequence[Sequence[int]], cores: Sequence[int]) -> tuple[Notice, ...]:
    """Returns warnings about the places of the workers; none if each has cores of its own among those asked
    for. Workers of a runtime that moves them share its cores: no more of them than cores."""
    asked = set(cores)
    taken: dict[int, int] = {}
    if all(one == binding[0] for one in binding) and len(binding) == len(set(*binding[:1])):
        binding = binding[:1]
    for worker, processors in enumerate(binding):
        outside = sorted(set(processors) - asked)
        if outside:
            return (notice("binding_outside", worker=worker, processors=outside, asked=sorted(asked)),)
        for processor in processors:
            if processor in taken:
                return (notice("binding_shared", workers=[taken[processor], worker], processor=processor),)
            taken[processor] = worker
    return ()


def _came(cores: int, binding: Sequence[Sequence[int]]) -> int:
    """The cores that a driver says it has; no more than workers that said where they run, if some did not."""
    told = sum(map(bool, binding))
    return cores if told == len(binding) else min(cores, told)


def _not_asked_for(launch: Launch, asked: str, came: str, has: Ready) -> DriverError:
    """The error that the driver has not what was asked for: `has` tells which runtime or library that is."""
    words = f"it was asked for {asked} and has {came}. {launch.launcher} started it; "
    words += f"it has {has.library or has.version}"
    if has.library and ("rank" in asked or "ranks" not in has.raw):  # else all have joined
        words += ". Processes that the launcher of another library starts do not find each other: choose"
        words += (
            f" the --launcher of this one (auto does; here are {here()}), or let PATH begin with its folder"
        )
    return DriverError("system", words)


def ready(answer: Mapping[str, object], launch: Launch) -> Ready:
    """Checks a `ready` event against what the launch asked for.

    Other cores or nodes are an error, or `launch` says that the system may have them.
    """
    if answer.get("protocol") != PROTOCOL:
        raise DriverError(
            "protocol",
            f"the driver speaks protocol {_shown(answer.get('protocol'))}; this harness speaks {PROTOCOL}",
        )
    binding = _binding(answer)
    has = Ready(
        system=_text(answer, "system"),
        version=_text(answer, "version", ""),
        nodes=_integer(answer, "nodes", low=1, default=1),
        cores=_came(_integer(answer, "cores", low=1), binding),
        binding=binding,
        raw=dict(answer),
        warnings=_bound(binding, launch),
        library=_text(answer, "library", ""),
    )
    if launch.ranks and "ranks" in answer and (joined := _integer(answer, "ranks")) != launch.ranks:
        raise _not_asked_for(launch, counted(launch.ranks, "rank"), counted(joined, "rank"), has)
    if has.nodes != launch.nodes:
        raise _not_asked_for(launch, counted(launch.nodes, "node"), counted(has.nodes, "node"), has)
    asked = launch.asked
    if has.cores < 1 or (has.cores != asked and not launch.other_cores):
        raise _not_asked_for(launch, counted(asked, "core"), counted(has.cores, "core"), has)
    return has


def result(
    answer: Mapping[str, object],
    number: int,
    repeats: int,
    launch: Launch,
    has: Ready,
    elapsed: float,
    *,
    again: bool = False,
) -> RunResult:
    """Checks a `result` event of run `number`, which took `elapsed` seconds as the harness saw it.

    The run must have had the cores that the driver had when it started, which `has` tells. `again` says that
    tasks may have been executed more than once, and workers lost.
    """
    if answer.get("id") != number:
        raise DriverError("protocol", f"an answer to run {_shown(answer.get('id'))} came for run {number}")
    tasks, executed = _integer(answer, "tasks"), _integer(answer, "executed")
    if executed < tasks or (executed > tasks and not again):
        raise DriverError("validation", f"{executed} tasks were executed; the graphs hold {tasks}")
    seconds = _positive(answer, "seconds", repeats)
    if sum(seconds) > elapsed * 1.02 + 1e-3:
        raise DriverError(
            "protocol", f"the answer's seconds add up to {sum(seconds):g}, but it came after {elapsed:g}"
        )
    if min(seconds) < _LEAST_SECONDS:
        raise DriverError("protocol", f"a repeat took {min(seconds):g} seconds, less than any clock can tell")
    prepare = answer.get("prepare_seconds", [])
    if not isinstance(prepare, list):
        raise _wrong("prepare_seconds", prepare, "a list of numbers")
    binding, work = _binding(answer), _number(answer.get("work"), "work")
    if not math.isfinite(work / min(seconds)):
        raise _wrong("work", work, "what can be done in the time")
    waited = answer.get("waited", [])
    if not isinstance(waited, list) or len(waited) not in (0, repeats):
        raise _wrong("waited", waited, f"a list of {repeats} numbers")
    most = 1.001 * max(launch.asked, has.cores)
    for one, lost in zip(seconds, waited, strict=False):
        if _number(lost, "waited") > most * one:
            raise _wrong("waited", lost, f"at most cores × seconds, here {most * one:.3g}")
    came = _came(_integer(answer, "cores", low=1, default=has.cores), binding)
    if came != has.cores and not again:
        raise _not_asked_for(launch, counted(has.cores, "core"), f"{came} in this run", has)
    warnings = _bound(binding, launch)
    if has.cores != launch.asked:
        warnings = (notice("other_cores", cores=has.cores, asked=launch.asked), *warnings)
    return RunResult(
        seconds=seconds,
        waited=tuple(map(float, waited)),
        # One entry where all repeats share the preparation.
        prepare_seconds=tuple(_number(one, "prepare_seconds") for one in prepare),
        tasks=tasks,
        executed=executed,
        dependencies=_integer(answer, "dependencies", default=0),
        work=work,
        work_unit=_text(answer, "work_unit"),
        binding=binding,
        peak_rss_bytes=_integer(answer, "peak_rss_bytes", default=0),
        warnings=warnings,
    )


def disturbed(
    answer: Mapping[str, object], number: int, launch: Launch, has: Ready, elapsed: float, strikes: int
) -> Disturbed:
    """Checks the `result` of a run with a fault, whose books say that it struck `strikes` times."""
    found = result(answer, number, 1, launch, has, elapsed, again=True)
    told = _integer(answer, "strikes")
    if told != strikes:
        raise DriverError("protocol", f"says that the fault struck {told} times; its books say {strikes}")
    return Disturbed(found, told)


def peak(answer: Mapping[str, object], number: int, cores: int) -> Peak:
    if answer.get("id") != number:
        raise DriverError("protocol", f"an answer to request {_shown(answer.get('id'))} came for {number}")
    return Peak(_positive(answer, "rates", cores), _text(answer, "work_unit"))


def error(answer: Mapping[str, object], number: int | None) -> DriverError:
    """The exception for an `error` event; `number` is the request's, None for `hello`."""
    kind, message = answer.get("kind"), answer.get("message")
    if kind not in ("invalid", "unsupported", "validation", "system") or not isinstance(message, str):
        return DriverError("protocol", f"an error event is incomplete: {_shown(dict(answer))}")
    if number is not None and answer.get("id", number) not in (number, None):
        return DriverError(
            "protocol", f"an error of run {_shown(answer.get('id'))} came for run {number}: {message}"
        )
    violation = answer.get("violation")
    if isinstance(violation, dict) and violation and not message.startswith(f"{violation.get('kind')}:"):
        message += " (" + ", ".join(f"{key} {_shown(value)}" for key, value in violation.items()) + ")"
    return DriverError(str(kind), " ".join(message.split()))
