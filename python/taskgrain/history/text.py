"""Series, changes and verdicts in words: in a terminal, in JUnit's XML and on the page alike."""

from __future__ import annotations

from datetime import UTC, datetime

from taskgrain.answers.compare.text import called
from taskgrain.estimate.quantities import AT_A_SIZE, Quantity
from taskgrain.history.series import Entry, Series
from taskgrain.history.trends import Change, History, Trend, verdicts
from taskgrain.results import hosts
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

_MOVED = 0.02
"""The share of a clock's move from which on a note tells it, as in a comparison."""


def day(time: float) -> str:
    """A Unix time as a date (UTC)."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


def session(entry: Entry) -> str:
    """A session: its label and, if that is none, its date."""
    label, date = entry.log.label, day(entry.log.time)
    return label if date in label else f"{label} ({date})"


def title(one: Series) -> str:
    """The workload of a series, with a mark if it is simulated, and why it is not the first of its cell."""
    return one.workload + ", simulated" * one.origin.simulated + (f", {one.apart}" if one.apart else "")


def value(number: float | None, by: Quantity) -> str:
    """A number of a quantity with its unit."""
    return quantity.rate(number, "task") if by in AT_A_SIZE else quantity.seconds(number)


def measured(number: Interval | None, by: Quantity) -> str:
    """The number of a session, with its interval."""
    if number is None:
        return quantity.NOTHING
    if number.value is not None and by not in AT_A_SIZE:
        return quantity.interval(number)
    if number.value is not None:
        return value(number.value, by)
    ends = [(number.low, "above"), (number.high, "below")]
    return " and ".join(f"{word} {value(end, by)}" for end, word in ends if end) or quantity.NOTHING


def since(change: Change, by: Quantity) -> str:
    """A change in words."""
    larger = f"{called(by)} is {quantity.ratio_interval(change.ratio)} times as large"
    said = f"{larger} since {session(change.after)}; the session before was {session(change.before)}"
    boots = [one.measurement.session.boot for one in (change.before, change.after)]
    if change.hosts:
        return f"{said}; measured on another host ({change.hosts})"
    return said + "; booted anew between the two" * (None not in boots and boots[0] != boots[1])


def newest(one: Trend, by: Quantity) -> str:
    """The mean of the newest level, or what its newest session has of a number."""
    mean = one.levels[-1][2] if one.levels else None
    known = [number for number in one.numbers if number is not None]
    return measured(known[-1], by) if mean is None and known else value(mean, by)


def over_all(one: Trend, by: Quantity) -> str:
    """Says what all changes together come to, if there are several."""
    if one.over_all is None:
        return ""
    times = quantity.ratio_interval(one.over_all.ratio)
    before = session(one.over_all.before)
    return f"{one.over_all.decision} over all: {called(by)} is {times} times as large as in {before}"


def _moved(one: Series) -> float:
    """The share by which the clock moved between sessions."""
    return max(one.clocks) / min(one.clocks) - 1.0 if one.clocks else 0.0


def why(one: Trend, history: History) -> str:
    """The grounds of a verdict, and whether the clock moved, which is not among them."""
    moved = _moved(one.series)
    clock = f"; the clock moved by {quantity.percent(moved)}" if moved > _MOVED else ""
    return _grounds(one, history) + clock


def _grounds(one: Trend, history: History) -> str:
    by = history.question.by
    match one.verdict:
        case "failed":
            entry = one.series.entries[-1]
            return f"failed in {session(entry)}: {entry.measurement.cell.error}"
        case "too few sessions":
            known = sum(number is not None for number in one.numbers)
            return f"{quantity.counted(known, 'session')} of the {history.enough} that a change needs"
        case "no change":
            return f"no change of {called(by)} in {quantity.counted(len(one.series.entries), 'session')}"
    left = f"; {said}" if (said := over_all(one, by)) else ""
    return f"{one.verdict}: {since(one.changes[-1], by)}" + ("; known" if one.known else "") + left


def summary(history: History) -> list[str]:
    """The whole history in two sentences."""
    if not history.trends:
        return ["No session has such a cell."]
    counts = ", ".join(f"{count} {one}" for one, count in verdicts(history).items())
    share = quantity.percent(history.question.margin, 0 if history.question.margin * 100 % 1 < 1e-9 else 1)
    hidden = sum(one.slower_over_all and one.verdict != "slower" for one in history.trends)
    counts += f"; {hidden} slower over all" if hidden else ""
    lacks = f"; the newest session lacks {quantity.counted(len(history.missing), 'cell')}"
    counts += lacks if history.missing else ""
    first = f"{len(history.trends)} series by {called(history.question.by)}: {counts}. The margin is {share}."
    said = [first]
    entries = (entry for one in history.trends for entry in one.series.entries)
    found = dict.fromkeys(host for entry in entries for host in entry.measurement.session.hosts)
    said += [f"Measured {hosts.where(list(found))}."] if found else []
    if (moved := max(_moved(one.series) for one in history.trends)) > _MOVED:
        said.append(
            f"The clock moved: the kernel alone did up to {quantity.percent(moved)} more in one session than "
            "in another. Sessions are compared at one clock, that of a typical one."
        )
    if any(one.series.origin.simulated for one in history.trends):
        said.append("Intervals of simulated series do not hold the simulation's own error.")
    if all(one.series.origin.simulated for one in history.trends if one.changes):
        return said
    together, each = quantity.percent(history.question.confidence), quantity.percent(history.confidence, 2)
    if len(history.trends) == 1:
        return [*said, f"The interval of the newest change holds with {together}."]
    return [*said, f"All intervals of the newest changes hold at once with {together} (each with {each})."]
