"""The cells that sides share, compared: ratios with their intervals, and a verdict for each cell.

docs/explanation/how-runs-are-compared.md says why it is done so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from taskgrain.estimate.decision import Decision, decision
from taskgrain.estimate.drawn import AT_A_SIZE, Alone, Quantity, alone, shared_size
from taskgrain.estimate.ratio import Ratio, ratio
from taskgrain.estimate.sessions import Scatter, ratio_of_pairs, ratio_of_sessions, scatter
from taskgrain.results.cell import Cell
from taskgrain.results.compare.conditions import differences, settings, too_far_apart
from taskgrain.results.compare.sides import Side, repeats
from taskgrain.results.takes import Take, together
from taskgrain.words.endings import Ending

Verdict = Decision | Literal["not comparable"]
QUANTITIES: tuple[Quantity, ...] = ("metg", "overhead", "floor", "rate", "efficiency")
CONFIDENCE = 0.95
"""That all intervals by which verdicts are given hold at once."""
MARGIN = 0.05
_RESAMPLES = 1000
_THRESHOLD = 0.5
"""Where an older folder does not say it."""


@dataclass(frozen=True)
class Question:
    """What is asked of each cell."""

    by: Quantity = "metg"
    """The quantity that verdicts are given by."""
    margin: float = MARGIN
    """As a share: what differs by less is the same."""
    confidence: float = CONFIDENCE
    looks: int = 1
    """How often the cells may have been looked at before the measurement was ended."""


@dataclass(frozen=True)
class Compared:
    """One cell of one side against the same cell of the first side."""

    side: str
    baseline: str
    system: str
    """Of the side."""
    against: str
    """The system of the baseline."""
    workload: str
    verdict: Verdict
    why: str = ""
    """Why it is not comparable, or has no interval."""
    together: bool = False
    """Whether both were measured side by side, round by round."""
    sessions: tuple[int, int] = (1, 1)
    """Of the side, and of the baseline."""
    ratios: Mapping[Quantity, Ratio] = field(default_factory=dict)
    """Side over baseline; those that there are."""
    between: Scatter | None = None
    """How sessions scatter, where that was needed: in the quantity that the verdict is given by."""
    iterations: int | None = None
    """Of the tasks that rates and efficiencies are of."""
    failed: bool = False
    """Whether the baseline has the cell and the side failed."""
    notes: tuple[str, ...] = ()

    @property
    def regression(self) -> bool:
        """Whether it is slower by more than the margin, or failed."""
        return self.verdict == "slower" or self.failed


@dataclass(frozen=True)
class Comparison:
    """All cells that sides share."""

    question: Question
    confidence: float
    """Of each interval by which a verdict is given, so that all of them hold at once."""
    cells: tuple[Compared, ...]
    alone: tuple[tuple[str, int], ...]
    """Sides with the number of their cells that the other one does not have."""


def compare(sides: Sequence[Side], question: Question | None = None) -> Comparison:
    """Every later side against the first one."""
    question = question or Question()
    pairs = [pair for other in sides[1:] for pair in _pairs(sides, other)]
    count = sum(not pair.why for pair in pairs)
    # Bonferroni: the errors of all intervals together are no more than one interval's.
    each = 1.0 - (1.0 - question.confidence) / max(1, count * question.looks)
    lonely = [(label, number) for other in sides[1:] for label, number in _lonely(sides[0], other) if number]
    return Comparison(question, each, tuple(pair.compared(question, each) for pair in pairs), tuple(lonely))


def _keys(baseline: Side, other: Side) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """The cells of the two sides that belong together, those of the other side first."""
    known = set(baseline.cells)
    for system, workload in other.cells:
        against = baseline.system if baseline.system and other.system else system
        if (against, workload) in known:
            yield (system, workload), (against, workload)


def _lonely(baseline: Side, other: Side) -> Iterator[tuple[str, int]]:
    keys = list(_keys(baseline, other))
    yield baseline.label, len(baseline.cells) - len({one for _, one in keys})
    yield other.label, len(other.cells) - len({one for one, _ in keys})


def _pairs(sides: Sequence[Side], other: Side) -> Iterator[_Pair]:
    baseline = sides[0]
    for (system, workload), (against, _) in _keys(baseline, other):
        over, under = other.of(system, workload), baseline.of(against, workload)
        every = [take for side in sides for name in {system, against} for take in side.of(name, workload)]
        yield _Pair.of(other, baseline, over, under, every)


@dataclass
class _Pair:
    """A cell of a side and that of the baseline."""

    blank: Compared
    """As far as it is known without any number."""
    over: list[Take]
    under: list[Take]
    groups: list[list[Take]]
    """Takes of one build each, in sessions like those of the two sides."""
    matched: list[tuple[Take, Take]]
    """The takes of both sides that were measured together, if each of them was."""

    @property
    def why(self) -> str:
        """Why they cannot be compared; empty if they can."""
        return self.blank.why

    @classmethod
    def of(cls, side: Side, baseline: Side, over: list[Take], under: list[Take], every: list[Take]) -> _Pair:
        matched = _matched(over, under)
        groups = [] if matched else _groups(over, under, every)
        failed = any(map(_failed, over)) and not any(map(_failed, under))
        why = _ends(over, side) or _ends(under, baseline) or _incomparable(over, under, groups, matched)
        blank = Compared(
            side.label,
            baseline.label,
            over[0].system,
            under[0].system,
            over[0].workload,
            "not comparable",
            why,
            bool(matched),
            (len(over), len(under)),
            failed=failed,
            notes=tuple(_notes(over, under)),
        )
        return cls(blank, over, under, groups, matched)

    def compared(self, question: Question, confidence: float) -> Compared:
        """With its ratios, and its verdict."""
        if self.why:
            return self.blank
        threshold = self._threshold()
        size = shared_size([one.samples for one in (*self.over, *self.under)], threshold)
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
        why = "" if deciding.value else "METG of one side lies beyond all sizes"
        return replace(blank, verdict=verdict, why=why)

    def _threshold(self) -> float:
        stored = self.over[0].conditions.settings.get("threshold")
        return stored if isinstance(stored, float) else _THRESHOLD

    def _ratio(
        self, quantity: Quantity, threshold: float, confidence: float, iterations: int | None
    ) -> tuple[Ratio | None, Scatter | None]:
        """The ratio if there is one, and the scatter between sessions if it was needed."""
        if self.matched:
            level = confidence if len(self.matched) == 1 else 0.95
            each = [
                ratio(
                    over.samples,
                    under.samples,
                    quantity=quantity,
                    threshold=threshold,
                    confidence=level,
                    iterations=iterations,
                    resamples=_RESAMPLES,
                )
                for over, under in self.matched
            ]
            return self._of_matched(each, quantity, confidence)

        def known(takes: Sequence[Take]) -> list[Alone]:
            each = [
                alone(one.samples, quantity, threshold=threshold, iterations=iterations, resamples=_RESAMPLES)
                for one in takes
            ]
            return [one for one in each if one is not None]

        between = scatter([known(group) for group in self.groups if len(group) > 1])
        sides = known(self.over), known(self.under)
        if between is None:
            return None, None
        if not all(sides):
            beyond = _bounds(self.over[0].stands, self.under[0].stands) if quantity == "metg" else None
            return beyond, between
        return ratio_of_sessions(*sides, between, confidence), between

    def _of_matched(
        self, each: Sequence[Ratio], quantity: Quantity, confidence: float
    ) -> tuple[Ratio | None, Scatter | None]:
        """The ratio from those of the sessions in which both sides were measured together."""
        if len(each) == 1:
            if each[0].value is None and quantity == "metg":
                return _bounds(self.over[0].stands, self.under[0].stands), None
            return (None if each[0].value is None else each[0]), None
        logs = [Alone.within(one.log()) for one in each if one.value is not None]
        between = scatter([logs])
        return (None if between is None else ratio_of_pairs(logs, between, confidence)), between

    def _missing(self, quantity: Quantity) -> str:
        if quantity in AT_A_SIZE:
            return "the sides have no size of task in common"
        for takes, label in ((self.over, self.blank.side), (self.under, self.blank.baseline)):
            for one in takes:
                ending = one.stands.ending
                if ending.final and one.stands.metg.value is None:
                    why = "no crossing was found" if ending is Ending.BUDGET else ending
                    return f"no METG in {label} ({why})"
        return f"too few rounds for a ratio of {quantity}"


def _ends(takes: Sequence[Take], side: Side) -> str:
    """Why a side has no number at all."""
    for one in takes:
        if _failed(one):
            return f"failed in {side.label} ({one.stands.error})"
    return "" if any(one.samples for one in takes) else f"not measured in {side.label}"


def _matched(over: Sequence[Take], under: Sequence[Take]) -> list[tuple[Take, Take]]:
    """Each take with the one of the other side that it was measured together with; none if one has none."""
    found = [(one, other) for one in over for other in under if together(one, other)]
    whole = len(over) == len(under) == len(found)
    return found if whole and len({id(other) for _, other in found}) == len(found) else []


def _incomparable(
    over: Sequence[Take],
    under: Sequence[Take],
    groups: Sequence[Sequence[Take]],
    matched: Sequence[tuple[Take, Take]],
) -> str:
    first = under[0]
    if not matched and repeats(over, under):
        return "both sides hold the same session; one may be a copy of the other"
    for takes in (under, over):
        if len({one.build for one in takes}) > 1:
            return "one side has several builds of the system; name one, as FOLDER@BUILD"
    if matched:
        for takes in (under, over):
            for one in takes[1:]:
                if why := next(differences(takes[0], one), ""):
                    return why
        return next(settings(first, over[0]), "")
    for one in (*under, *over):
        if why := next(differences(first, one), ""):
            return why
    if not any(len(group) > 1 for group in groups):
        return (
            "no scatter between sessions is known; measure one of the builds again in another folder, or "
            "both of them together with --build"
        )
    return too_far_apart(over, under, groups)


def _groups(over: Sequence[Take], under: Sequence[Take], every: Sequence[Take]) -> list[list[Take]]:
    """The takes by build.

    If both sides are of one build, the two sides are apart: what they differ by is the question, and must not
    count as scatter.
    """
    inside = {id(one) for one in over}
    seen: list[Take] = []
    groups: dict[tuple[str, str, bool], list[Take]] = defaultdict(list)
    for one in every:
        if one.build and one.samples and not repeats(seen, [one]) and not any(differences(under[0], one)):
            seen.append(one)
            same = (one.system, one.build) in {(take.system, take.build) for take in under}
            groups[one.system, one.build, same and id(one) in inside].append(one)
    return list(groups.values())


def _failed(take: Take) -> bool:
    return take.stands.ending is Ending.FAILED


def _bounds(over: Cell, under: Cell) -> Ratio | None:
    """The ratio where METG of one side, or of both, lies beyond all sizes of task: it has one bound at most.

    The ends of METG's own interval are taken twice as far away as they are.
    """
    if over.result is None or under.result is None or (over.metg.value and under.metg.value):
        return None
    ends, under_ends = _ends_of(over), _ends_of(under)
    if ends is None or under_ends is None:
        return None
    (low, high), (under_low, under_high) = ends, under_ends
    least = low / under_high if low and under_high else None
    most = high / under_low if high and under_low else None
    rounds = min(over.result.rounds or 0, under.result.rounds or 0)
    return Ratio(None, least, most, rounds) if least or most else None


def _ends_of(cell: Cell) -> tuple[float | None, float | None] | None:
    if cell.ending not in (Ending.PRECISE, Ending.BUDGET, Ending.NEVER_REACHED, Ending.ALWAYS_REACHED):
        return None
    value, low, high = cell.metg.value, cell.metg.low, cell.metg.high
    if value is None:
        return low, high
    return low and low**2 / value, high and high**2 / value


def _notes(over: Sequence[Take], under: Sequence[Take]) -> Iterator[str]:
    cores = Counter(one.cores for one in (*over, *under))
    if len(cores) > 1:
        yield f"{over[0].system} uses {over[0].cores} of the cores, {under[0].system} {under[0].cores}"
    if len({one.build for one in (*over, *under)}) == 1 and over[0].build:
        yield "the build is the same on both sides"
    if len({one.conditions.harness for one in (*over, *under)}) > 1:
        yield "another version of taskgrain measured the other side"
