"""The ends of a study's workloads: the ratio of every cell to the best one, and to each bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from taskgrain.estimate.ratio import ratio
from taskgrain.measure.journal import Journal
from taskgrain.measure.record import CellState
from taskgrain.results import ranking
from taskgrain.results.lines import RatioLine

_RESAMPLES = 500


def compare(states: Sequence[CellState], threshold: float, journal: Journal) -> None:
    """Writes the ratios that are not written yet, from the rounds that two cells have in common."""
    workloads = defaultdict(list)
    for state in states:
        if state.stored.metg.value and state.experiment.samples():
            workloads[state.cell.workload].append(state)
    for group in workloads.values():
        for under in _denominators(group):
            samples = under.experiment.samples()
            for over in group:
                if over is under or under.cell.name in over.stored.ratios:
                    continue
                found = ratio(over.experiment.samples(), samples, threshold=threshold, resamples=_RESAMPLES)
                if found.value is not None:
                    journal.append(RatioLine(cell=over.cell.name, to=under.cell.name, **asdict(found)))


def _denominators(group: Sequence[CellState]) -> Iterator[CellState]:
    cells = [one.stored for one in group]
    best, bounds = ranking.best(cells), ranking.bounds(cells)
    yield from (one for one in group if one.stored is best)
    yield from (one for one in group if one.stored is not best and any(one.stored is it for it in bounds))
