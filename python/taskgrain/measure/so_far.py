"""Says what is known of task times while the measurement goes on: a first useful line for people who wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskgrain.answers.advice_words import NOT_KNOWN, efficiency
from taskgrain.estimate.advice import efficiency_at
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import CellState
from taskgrain.results.cell import marked
from taskgrain.study.workload import Workload
from taskgrain.words import quantity
from taskgrain.words.origin import Origin

_TOLD = {1, FEW_ROUNDS}
"""Rounds after which something new is known: the efficiency, and how sure it is."""


class SoFar:
    """Tells each thing once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._told: set[tuple[Workload, int]] = set()

    def sentences(self, group: Sequence[CellState]) -> Iterator[str]:
        """Says, as `advise` does, what cells of one workload came to by the round that all of them have
        ended: tasks may have become longer or shorter than was asked for."""
        rounds = min((0 if one.experiment.preparing else one.experiment.rounds for one in group), default=0)
        if rounds not in _TOLD:
            return
        if (key := (group[0].cell.workload, rounds)) in self._told:
            return
        self._told.add(key)
        times: dict[float, list[str]] = {}
        for state in sorted(group, key=lambda one: self._plan.systems[one.cell.system].bound):
            system = self._plan.systems[state.cell.system]
            name = marked(system.name, system.bound, Origin(system.simulated))
            for point in state.experiment.efficiencies_so_far():
                asked = point.asked or point.work
                said = efficiency(efficiency_at({point.work: point.efficiency}, asked))
                if said != NOT_KNOWN:
                    times.setdefault(asked, []).append(f"{said}{',' * (',' in said)} with {name}")
        for asked, each in times.items():
            tasks = f"tasks of {quantity.seconds(asked, 2)}"
            after = quantity.counted(rounds, "round")
            yield f"after {after}, {tasks} reach {', '.join(each)}; more rounds make this surer"
