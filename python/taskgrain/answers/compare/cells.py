"""The cells that sides share, compared: ratios with their intervals, and a verdict for each cell.

docs/explanation/how-runs-are-compared.md says why it is done so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from taskgrain.answers.compare import pairing
from taskgrain.answers.compare.sides import Side
from taskgrain.estimate.quantities import AT_A_SIZE, Quantity, log_estimate, shared_size
from taskgrain.estimate.ratio import Decision, Ratio, decision, ratio
from taskgrain.estimate.sessions import (
    USUAL,
    Scatter,
    as_one,
    filled_up,
    of_one_cell,
    over_longer_times,
    ratio_of_pairs,
    ratio_of_sessions,
    scatter,
)
from taskgrain.results.cell import Cell
from taskgrain.results.lines import Host
from taskgrain.results.measurements import Measurement, Measurements
from taskgrain.study.settings import Settings
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.origin import MEASURED, Origin

Verdict = Decision | Literal["not comparable"]
QUANTITIES: tuple[Quantity, ...] = ("metg", "overhead", "floor", "rate", "efficiency")
CONFIDENCE = 0.95
"""The confidence that all intervals by which verdicts are given hold at once."""
MARGIN = 0.05
APART = 0.25
"""The margin for sides that were measured apart, because one session of each can show no less: 80 to 125 %,
as in tests of bioequivalence."""
_EXACT = Scatter(variance=0.0, within=0.0, freedom=USUAL.freedom)
"""The scatter of sessions that simulate the same: a number is uncertain only by what its search left open."""
_RESAMPLES = 1000


@dataclass(frozen=True)
class Question:
    """The question that `compare` asks of each cell."""

    by: Quantity = "metg"
    """The quantity that decides the verdicts."""
    margin: float = MARGIN
    """The share by which two sides may differ and still be the same."""
    apart: float = APART
    """The same of sides that were measured in different sessions. What differs by more than `margin` is
    slower or faster there, too, if the intervals show it."""
    confidence: float = CONFIDENCE
    across_hosts: bool = False
    """True if `compare` compares measurements of different hosts of one kind, too."""
    looks: int = 1
    """The number of looks at the cells that may have ended the measurement."""


@dataclass(frozen=True)
class Compared:
    """A cell of a contender, which is a later side, and the same cell of the baseline, the first side."""

    contender: str
    baseline: str
    system: str
    """The contender's."""
    against: str
    """The system of the baseline."""
    workload: str
    verdict: Verdict
    why: str = ""
    """The reason why it is not comparable, or has no interval."""
    together: bool = False
    """True if both were measured side by side, round by round."""
    sessions: tuple[int, int] = (1, 1)
    """The sessions of the contender, and the sessions of the baseline."""
    ratios: Mapping[Quantity, Ratio] = field(default_factory=dict)
    """The ratios, contender over baseline, as far as known."""
    between: Scatter | None = None
    """The scatter of sessions, where that was needed: in the quantity that the verdict is given by."""
    clock: float | None = None
    """The factor by which the reference did more beside the contender, if the sides were measured apart: all
    ratios are at one clock then."""
    iterations: int | None = None
    """Iterations of the tasks that rates and efficiencies are of."""
    failed: bool = False
    """True if the baseline has the cell and the contender failed."""
    origin: Origin = MEASURED
    """Simulated if a side is; no ratio holds the error of a simulation."""
    notes: tuple[str, ...] = ()
    again: Compared | None = None
    """The second measurement, if one was asked for."""

    @property
    def suspect(self) -> bool:
        """True if it is slower by more than the margin, or failed."""
        return self.verdict == "slower" or self.failed

    @property
    def regression(self) -> bool:
        """True if it is so, and no second measurement that tells anything shows the contrary."""
        again = self.again
        return self.suspect and (again is None or again.suspect or again.verdict not in ("same", "faster"))


@dataclass(frozen=True)
class Comparison:
    """All cells that sides share."""

    question: Question
    confidence: float
    """The level of each interval by which a verdict is given, so that all of them hold at once."""
    cells: tuple[Compared, ...]
    unmatched: tuple[tuple[str, int], ...]
    """Sides with the number of their cells that the other one does not have."""
    hosts: tuple[tuple[str, tuple[Host, ...]], ...] = ()
    """The sides that were measured on several hosts, with these."""
    missing: int = 0
    """Cells of the first side that a later one lacks."""

    @property
    def undecided(self) -> int:
        """The cells of which nobody can say whether they became slower."""
        return sum(cell.verdict in ("undecided", "not comparable") and not cell.failed for cell in self.cells)

    def measured_again(self, second: Comparison) -> Comparison:
        """The same with the second measurements of some cells."""
        found = {(one.contender, one.system, one.workload): one for one in second.cells}
        known = ((one, found.get((one.contender, one.system, one.workload))) for one in self.cells)
        return replace(self, cells=tuple(replace(one, again=again or one.again) for one, again in known))


def compare(sides: Sequence[Side], question: Question | None = None) -> Comparison:
    """Every later side against the first one."""
    question = question or Question()
    pairs = [pair for other in sides[1:] for pair in _pairs(sides, other, question.across_hosts)]
    count = sum(not pair.blank.why for pair in pairs)
    # Bonferroni: the errors of all intervals together are no more than one interval's.
    each = 1.0 - (1.0 - question.confidence) / max(1, count * question.looks)
    alone = [_lonely(sides[0], other) for other in sides[1:]]
    lonely = tuple((label, number) for pair in alone for label, number in pair if number)
    compared = tuple(pair.compared(question, each) for pair in pairs)
    hosts = tuple((side.label, found) for side in sides if (found := _hosts(side)))
    return Comparison(question, each, compared, lonely, hosts, sum(first[1] for first, _ in alone))


def _hosts(side: Side) -> tuple[Host, ...]:
    every = (one for cell in side.cells for one in side.of(*cell))
    return tuple(dict.fromkeys(host for one in every for host in one.session.hosts))


def _keys(first: Side, other: Side) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """The cells of the two sides that belong together, those of the other side first."""
    known = set(first.cells)
    for system, workload in other.cells:
        against = first.system if first.system and other.system else system
        if (against, workload) in known:
            yield (system, workload), (against, workload)


def _lonely(first: Side, other: Side) -> tuple[tuple[str, int], tuple[str, int]]:
    """Counts the cells that each of the two has alone."""
    keys = list(_keys(first, other))
    return (
        (first.label, len(first.cells) - len({one for _, one in keys})),
        (other.label, len(other.cells) - len({one for one, _ in keys})),
    )


def _pairs(sides: Sequence[Side], other: Side, across_hosts: bool) -> Iterator[_Pair]:
    for (system, workload), (against, _) in _keys(sides[0], other):
        contender, baseline = other.of(system, workload), sides[0].of(against, workload)
        every = [one for side in sides for name in {system, against} for one in side.of(name, workload)]
        yield _Pair.of((other.label, sides[0].label), contender, baseline, every, across_hosts)


@dataclass
class _Pair:
    """A cell of the contender and that of the baseline."""

    blank: Compared
    """The cell as far as it is known without any number, and why the two cannot be compared."""
    contender: list[Measurement]
    baseline: list[Measurement]
    groups: list[list[Measurement]]
    """Takes of one build each, in sessions like those of the two sides."""
    matched: list[tuple[Measurement, Measurement]]
    """Pairs of both sides that were measured together, if each of them was."""
    far: bool
    """True if the sides lie too far apart in time for what the sessions of one build show."""
    simulated: bool
    """True if both sides are, so that their sessions do not scatter."""

    @classmethod
    def of(
        cls,
        labels: tuple[str, str],
        contender: list[Measurement],
        baseline: list[Measurement],
        every: list[Measurement],
        across_hosts: bool,
    ) -> _Pair:
        matched = pairing.matched(contender, baseline)
        groups = [] if matched else pairing.groups(contender, baseline, every, across_hosts)
        failed = any(map(pairing.failed, contender)) and not any(map(pairing.failed, baseline))
        simulated = all(one.cell.origin.simulated for one in (*contender, *baseline))
        sides = (contender, labels[0]), (baseline, labels[1])
        far = "" if simulated else pairing.too_far_apart(contender, baseline, groups)
        numberless = filter(None, (of(*one) for of in (pairing.failure, pairing.nothing) for one in sides))
        why = next(numberless, "") or pairing.incomparable(contender, baseline, matched, across_hosts)
        blank = Compared(
            *labels,
            contender[0].system,
            baseline[0].system,
            contender[0].workload,
            "not comparable",
            why,
            bool(matched),
            (len(contender), len(baseline)),
            failed=failed,
            origin=Origin.of(one.cell.origin for one in (*contender, *baseline)),
            clock=None if matched else pairing.clock(contender, baseline),
            notes=(*pairing.notes(contender, baseline), *([far] if far and not why else [])),
        )
        return cls(blank, contender, baseline, groups, matched, bool(far), simulated)

    def compared(self, question: Question, confidence: float) -> Compared:
        """The cell with its ratios and its verdict."""
        if self.blank.why:
            return self.blank
        stored = self.contender[0].settings.get("threshold")
        threshold = stored if isinstance(stored, float) else Settings.threshold
        size = shared_size([one.samples for one in (*self.contender, *self.baseline)], threshold)
        found: dict[Quantity, Ratio] = {}
        between: Scatter | None = None
        for quantity in QUANTITIES:
            level = confidence if quantity == question.by else CONFIDENCE
            iterations = size if quantity in AT_A_SIZE else None
            if iterations is None and quantity in AT_A_SIZE:
                continue
            ratio_of, scattered = self._ratio(quantity, threshold, level, iterations)
            if quantity == question.by:
                between = scattered
            if ratio_of is not None:
                found[quantity] = ratio_of
        blank = replace(self.blank, ratios=found, iterations=size, between=between)
        deciding = found.get(question.by)
        if deciding is None:
            return replace(blank, why=self._missing(question.by))
        verdict = decision(deciding, question.by, question.margin)
        if verdict == "undecided" and between is not None and not self.matched:
            alone = of_one_cell(deciding, between, confidence)
            verdict = "same" if decision(alone, question.by, question.apart) == "same" else verdict
        why = "" if deciding.value else "METG of one side lies beyond all sizes"
        return replace(blank, verdict=verdict, why=why)

    def _ratio(
        self, quantity: Quantity, threshold: float, confidence: float, iterations: int | None
    ) -> tuple[Ratio | None, Scatter | None]:
        """The ratio if there is one, and the scatter between sessions if it was needed."""
        if self.matched:
            level = confidence if len(self.matched) == 1 else 0.95
            each = [
                ratio(
                    contender.samples,
                    baseline.samples,
                    quantity=quantity,
                    threshold=threshold,
                    confidence=level,
                    iterations=iterations,
                    resamples=_RESAMPLES,
                )
                for contender, baseline in self.matched
            ]
            return self._of_matched(each, quantity, confidence)

        def known(measurements: Measurements) -> list[Interval]:
            each = [
                log_estimate(
                    one.samples,
                    quantity,
                    threshold=threshold,
                    iterations=iterations,
                    resamples=_RESAMPLES,
                    at_one_clock=True,
                )
                for one in measurements
            ]
            return [one for one in each if one is not None]

        shown = scatter([known(group) for group in self.groups if len(group) > 1])
        usual = pairing.usual([*self.contender, *self.baseline])
        between = over_longer_times(shown, usual) if self.far else filled_up(shown, usual)
        sides = known(self.contender), known(self.baseline)
        if self.simulated:
            between = _EXACT
        if not all(sides):
            if quantity != "metg" or self.blank.clock is None:
                return None, between
            one = [Interval(0.0, 0.0, 0.0)]
            wider = ratio_of_sessions(one, one, between, confidence)
            return _bounds(self.contender[0].cell, self.baseline[0].cell, self.blank.clock, wider), between
        if self.far:
            sides = as_one(sides[0]), as_one(sides[1])
        return ratio_of_sessions(*sides, between, confidence), None if self.simulated else between

    def _of_matched(
        self, each: Sequence[Ratio], quantity: Quantity, confidence: float
    ) -> tuple[Ratio | None, Scatter | None]:
        """The ratio from the sessions in which both sides were measured together."""
        if len(each) == 1:
            if each[0].value is None and quantity == "metg":
                return _bounds(self.contender[0].cell, self.baseline[0].cell), None
            return (None if each[0].value is None else each[0]), None
        logs = [one.log() for one in each if one.value is not None]
        between = scatter([logs])
        return (None if between is None else ratio_of_pairs(logs, between, confidence)), between

    def _missing(self, quantity: Quantity) -> str:
        if quantity in AT_A_SIZE:
            return "the sides have no size of task in common"
        for measurements, label in (
            (self.contender, self.blank.contender),
            (self.baseline, self.blank.baseline),
        ):
            if not self.matched and pairing.peak(measurements) is None:
                return f"no rate of the kernel alone beside the runs of {label}"
            for one in measurements:
                ending = one.cell.ending
                if ending.final and one.cell.metg.value is None:
                    why = "no crossing was found" if ending is Ending.BUDGET else ending
                    return f"no METG in {label} ({why})"
        return f"too few rounds for a ratio of {'METG' if quantity == 'metg' else quantity}"


def _bounds(
    contender: Cell, baseline: Cell, clock: float = 1.0, wider: Interval | None = None
) -> Ratio | None:
    """The ratio where METG of one side, or of both, lies beyond all sizes of task: it has one bound at most.

    The ends of METG's own interval are taken twice as far away as they are. `clock` is that of the contender
    over that of the baseline, `wider` the interval around 1 that two sessions have by themselves.
    """
    if contender.result is None or baseline.result is None or (contender.metg.value and baseline.metg.value):
        return None
    over, under = _farther(contender), _farther(baseline)
    least = over.low / under.high if over.low and under.high else None
    most = over.high / under.low if over.high and under.low else None
    low, high = (wider.low, wider.high) if wider else (1.0, 1.0)
    least = least and low and least * low * clock
    most = most and high and most * high * clock
    rounds = min(contender.result.rounds or 0, baseline.result.rounds or 0)
    return Ratio(None, least, most, rounds) if least or most else None


def _farther(cell: Cell) -> Interval:
    """METG with bounds twice as far away; nothing if it was not searched for to an end."""
    found = (Ending.PRECISE, Ending.RANKED, Ending.BUDGET, Ending.NEVER_REACHED, Ending.ALWAYS_REACHED)
    if cell.ending not in found:
        return Interval()
    value, low, high = cell.metg.value, cell.metg.low, cell.metg.high
    return Interval(None, low and low**2 / value, high and high**2 / value) if value else cell.metg
