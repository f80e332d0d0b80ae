"""A task graph of any shape, and the bound that it sets to every runtime."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import Any

from taskgrain._core import Dependences
from taskgrain.words.errors import InputError

_SHOWN_OF_A_CYCLE = 6
_SAME = 1e-9
"""The share of the critical path by which equal times may differ by rounding."""


@dataclass(frozen=True)
class Bound:
    """The least time that a graph takes, whatever runtime executes it."""

    work: float
    """The durations of all tasks together, each as often as it takes cores."""
    critical_path: float
    """The longest chain of durations."""
    most_at_once: int
    """Tasks that run at the same time if each begins as early as it can."""

    def time(self, cores: int) -> float:
        """The least time on so many cores."""
        return max(self.critical_path, self.work / cores)

    def busy(self, cores: int) -> float:
        """The cores that can be busy at most, on average."""
        return self.work / self.time(cores) if self.work else 0.0


@dataclass(frozen=True)
class TaskGraph:
    """The tasks, by number. `before[t]` has the tasks that task t depends on, each once."""

    names: Sequence[str]
    before: Sequence[Sequence[int]]
    durations: Sequence[float]
    """The time of each task: 1 if the file has no times at all, and 0 for tasks that it leaves out."""
    cores: Sequence[float]
    """The cores that each takes."""
    untimed: int
    """The tasks whose time the file leaves out."""
    unit: str
    """`s`; `task` where no task has a time, and nothing where the file does not say its unit of time."""
    kind: str
    """The format of the file, such as `WfCommons 1.5`."""
    program: str = ""
    """The program or the file that it is of, if the file says one."""
    labels: Sequence[str] = ()
    """The function or the program that each task runs, where the file says it beside its name."""
    no_times: str = "the file has no times"
    """The words for what the file lacks where no task has a time."""
    no_order: str = ""
    """The same where it does not say what tasks come after, or not all of it."""
    left_out: str = ""
    """The events of a run that the file has and the graph leaves out."""
    outputs: Sequence[float | None] = ()
    """The bytes that each task hands on, if the file has some: None for a task without."""

    @property
    def dependences(self) -> int:
        return sum(map(len, self.before))

    @cached_property
    def handed_on(self) -> float | None:
        """The median of the bytes that tasks hand on, each as often as another depends on it; None where the
        file does not say. Those of `unsized` tasks are not among them."""
        if not self.outputs:
            return None
        each = (self.outputs[one] for before in self.before for one in before)
        return median_low(known) if (known := [one for one in each if one is not None]) else None

    @property
    def unsized(self) -> int:
        """The tasks that others depend on, and of whose outputs the file does not say how large they are."""
        read = {one for before in self.before for one in before}
        return sum(self.outputs[one] is None for one in read) if self.outputs else 0

    @cached_property
    def counted(self) -> Dependences:
        """The dependences, in the form that answers for millions of them."""
        return Dependences(self.before)

    @cached_property
    def order(self) -> list[int]:
        """The tasks, each after those that it depends on. Raises `InputError` for a cycle."""
        order = self.counted.order()
        if len(order) < len(self.before):
            done = {*order}
            left = [
                0 if task in done else sum(one not in done for one in of)
                for task, of in enumerate(self.before)
            ]
            raise InputError("graph", self._a_cycle(left), "a graph without cycles")
        return order

    def _a_cycle(self, left: Sequence[int]) -> str:
        """Tasks in a circle, of those before which others are left."""
        task = next(one for one, number in enumerate(left) if number)
        seen: dict[int, int] = {}
        path: list[int] = []
        while task not in seen:
            seen[task] = len(path)
            path.append(task)
            task = next(one for one in self.before[task] if left[one])
        tasks = path[seen[task] :][::-1]
        first = tasks.index(min(tasks))
        circle = [self.names[one] for one in tasks[first:] + tasks[:first]]
        if len(circle) > _SHOWN_OF_A_CYCLE:
            circle[_SHOWN_OF_A_CYCLE:] = ["…"]
        return " → ".join([*circle, circle[0]])

    @cached_property
    def ends(self) -> list[float]:
        """The time at which each task ends, if each begins as early as it can."""
        return self.counted.ends(self.durations)

    @cached_property
    def longest_chain(self) -> list[int]:
        """The tasks of a chain that takes longest, from its first to its last."""
        chain = [max(range(len(self.ends)), key=self.ends.__getitem__)]
        while before := self.before[chain[-1]]:
            chain.append(max(before, key=self.ends.__getitem__))
        return chain[::-1]

    def at_once(self, parts: int) -> list[float]:
        """The mean number of tasks that run in each of so many equal parts of the critical path, if each
        begins as early as it can."""
        import numpy as np

        end = np.sort(self.ends)
        begin = np.sort(np.array(self.ends) - np.array(self.durations))
        edges = np.linspace(0.0, end[-1], parts + 1)

        def passed(since: Any) -> Any:
            """The time since then until each edge, of all tasks together."""
            number = np.searchsorted(since, edges)
            return number * edges - np.concatenate([[0.0], np.cumsum(since)])[number]

        run = np.diff(passed(begin) - passed(end))
        return [*(run / (edges[1] or 1.0))]

    def bound(self) -> Bound:
        """The least that the graph takes, by its durations."""
        import numpy as np

        path = max(self.ends)
        ends, durations = np.array(self.ends), np.array(self.durations)
        run = durations > 0  # a task of no time runs at no time
        begin, end = np.sort(ends[run] - durations[run]), np.sort(ends[run])
        # Those that are gone before one begins, which are not all that begin earlier.
        gone = np.searchsorted(end, begin + _SAME * path, side="right")
        number = np.arange(1, len(begin) + 1)
        most = int((number - np.minimum(gone, number - 1)).max(initial=0))
        work = sum(one * cores for one, cores in zip(self.durations, self.cores, strict=True))
        return Bound(work, path, most)


def amount(value: object, what: str) -> float:
    """A number of a file, for `what`. Raises `InputError` if it is none, or is negative."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise InputError(what, value, "a number from 0 on")
    return found


def check_finite(durations: Sequence[float], cores: Sequence[float], what: str) -> None:
    """Raises `InputError` for times whose sum is none, as they are or with the cores that each takes."""
    work = sum(time * one for time, one in zip(durations, cores, strict=True))
    if not math.isfinite(sum(durations) + work):
        raise InputError(what, "their sum", "times whose sum is finite")


def made(
    kind: str,
    durations: Mapping[str, float | None],
    before: Iterable[tuple[str, str]],
    unit: str = "",
    cores: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
    no_times: str = TaskGraph.no_times,
    outputs: Mapping[str, float | None] | None = None,
) -> TaskGraph:
    """A graph of the tasks that have a duration or none, and pairs of a task and one that comes before it.
    A pair may occur twice. Raises `InputError` for a task that is not there, where there are none, and for
    times without a finite sum."""
    if not durations:
        raise InputError("tasks", 0, f"a {kind} file with a task")
    numbers = {name: number for number, name in enumerate(durations)}
    found: list[dict[int, None]] = [{} for _ in numbers]
    for name, other in before:
        try:
            found[numbers[name]][numbers[other]] = None
        except KeyError as error:
            raise InputError(f"{other} → {name}", error.args[0], "a task that the file has") from None
    untimed = sum(one is None for one in durations.values())
    known = untimed < len(numbers)
    times = [one or 0.0 for one in durations.values()] if known else [1.0] * len(numbers)
    taken = [(cores or {}).get(name, 1.0) for name in numbers]
    check_finite(times, taken, "times")
    return TaskGraph(
        tuple(numbers),
        [tuple(one) for one in found],
        times,
        taken,
        untimed,
        unit if known else "task",
        kind,
        labels=[labels.get(name, name) for name in numbers] if labels else (),
        no_times=no_times,
        outputs=[outputs.get(name) for name in numbers] if outputs else (),
    )
