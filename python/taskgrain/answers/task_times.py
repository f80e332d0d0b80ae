"""Tells whether tasks of a given time are long enough, for every cell at once, as `taskgrain advise` does.

The reader types a time, so that the answers at many times go with the page; it computes none itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from taskgrain.answers import advise
from taskgrain.answers.advice_words import VERDICTS, efficiency, sentences
from taskgrain.answers.advise import LEVELS, Answer, Question
from taskgrain.answers.data import Cell, Results
from taskgrain.answers.program import Program
from taskgrain.estimate.advice import Efficiency, Verdict
from taskgrain.results.curves import workload_of
from taskgrain.words import quantity

_STEPS = (
    *(1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5, 2.8),
    *(3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0),
)
"""The times in each decade: every time is within 8 % of one of them."""
_CODES: dict[Verdict, str] = {"yes": "y", "no": "n", "unknown": "u", "never": "x"}


@dataclass(frozen=True)
class AtTime:
    """The answers about a cell's tasks of one time."""

    efficiency: Efficiency
    verdicts: tuple[Verdict, ...]
    """The verdicts on whether they reach each of `LEVELS`."""

    @property
    def text(self) -> str:
        """The efficiency in the words of `advise`."""
        return efficiency(self.efficiency)

    @property
    def share(self) -> float | None:
        """The efficiency or the bound of it, to sort by."""
        found = self.efficiency.found
        return next((one for one in (found.value, found.low, found.high) if one is not None), None)

    @property
    def words(self) -> list[str]:
        """The verdicts in the words of `advise`."""
        return [VERDICTS[one] for one in self.verdicts]


def at(cell: Cell, work: float) -> AtTime | None:
    """The answer for tasks whose work takes so many seconds alone; None if the cell has no curve."""
    if cell.known is None:
        return None
    found = advise.at(cell.known, work)
    return AtTime(found, advise.verdicts(found))


def times(results: Results, wished: Iterable[float] = ()) -> tuple[float, ...]:
    """The task times, in seconds, that the page has answers for.

    They are round ones as far as curves reach, those that were measured on purpose, and those `wished` for.
    """
    works = [work for cell in results.cells if cell.known for work in cell.known.points]
    if not works:
        return ()
    decades = range(math.floor(math.log10(min(works))), math.floor(math.log10(max(works))) + 1)
    round_ones = [float(f"{step:g}e{decade}") for decade in decades for step in _STEPS]
    return tuple(sorted({*round_ones, *asked(results), *wished}))


def asked(results: Results) -> tuple[float, ...]:
    """The task times that the study was about."""
    return tuple(sorted({point.asked for cell in results.cells for point in cell.at if point.asked}))


@dataclass(frozen=True)
class Asked:
    """A task time that the study was about, on one workload."""

    workload: str
    question: Question
    answers: Sequence[Answer]
    """The answer of each cell that was measured for it."""


def of_the_study(results: Results) -> Iterator[Asked]:
    """The questions in the study's order. Where the graph of a program was measured, they are about that, or
    about its shape alone as long as no system has a time."""
    of_program = False
    for workload in results.workloads:
        cells = [cell for cell in results.cells if cell.workload == workload and cell.at]
        known = next((cell.known for cell in cells if cell.known), None)
        if known is None:
            continue
        program = results.program if known.workload.pattern == "dag" else None
        for work in sorted({point.asked for cell in cells for point in cell.at if point.asked}):
            its = program and program.lasting(work)
            of_program |= its is not None
            question = Question(work, known.workload, known.cores or 0, program=its)
            answers = [advise.answer(question, cell.system, cell.known) for cell in cells]
            yield Asked(workload, question, answers)
    if results.program and not of_program:
        yield _of_shape(results, results.program)


def said(results: Results) -> list[tuple[str, list[str]]]:
    """The words of `advise` on each question of the study, with its workload or program."""
    found = []
    for one in of_the_study(results):
        program, cores = one.question.program, quantity.counted(one.question.cores, "core")
        name = f"{program.name}, {cores}" if program else one.workload
        found.append((name, [*sentences(one.question, one.answers)]))
    return found


def _of_shape(results: Results, program: Program) -> Asked:
    """The question about a program that no system has a time of."""
    cell = next(iter(results.cells), None)
    fields = cell.fields if cell else {"pattern": "dag", "width": program.steps.widest}
    cores = cell.cores_there if cell else results.study.table.get("cores")
    known = cores if isinstance(cores, int) and cores > 0 else 1
    question = Question(program.mean, workload_of(fields), known, program=program)
    return Asked(question.workload.name, question, ())


def changes(cell: Cell, all_times: Sequence[float]) -> list[list[object]]:
    """The answers at all times, as the page carries them: where one differs from that at the time before, the
    number of the time, the efficiency as a text and as a number, and a letter for each verdict."""
    rows: list[list[object]] = []
    for number, work in enumerate(all_times if cell.known else ()):
        if (found := at(cell, work)) is None:
            continue
        share = None if found.share is None else float(f"{found.share:.3g}")
        row = [found.text, share, "".join(_CODES[one] for one in found.verdicts)]
        if not rows or rows[-1][1:] != row:
            rows.append([number, *row])
    return rows


def least(cell: Cell) -> list[tuple[str, str]]:
    """The shortest tasks that reach each level of efficiency, in words."""
    if cell.known is None or not cell.known.points:
        return []
    found = []
    for level in LEVELS:
        one = advise.least(cell.known, level)
        allowed = cell.known.most
        if level >= allowed:
            said = f"no task is long enough: this graph allows {quantity.percent(allowed)} at most"
            found.append((quantity.percent(level), said))
            continue
        if one.value is not None:
            text = quantity.interval(one)
        elif one.low is not None:
            text = f"more than {quantity.seconds(one.low, 2)}"
        else:
            text = f"{quantity.seconds(one.high, 2)} or less" if one.high is not None else "not known"
        found.append((quantity.percent(level), f"a task's work must take {text}"))
    return found
