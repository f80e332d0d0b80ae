"""One of two sides that are measured together: METG's rounds, until somebody who sees both ends them."""

from __future__ import annotations

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.metg import MetgSearch


class Side(MetgSearch):
    """The search for METG, which goes on however well METG is known."""

    def _settled(self, verdict: Metg) -> bool:
        return self._without_crossing(verdict)

    def end(self) -> None:
        """Ends it: what it came to decides, or nothing will."""
        self._done, self._pending = True, []

    def everything(self) -> list[Sample]:
        """The samples that all quantities rest on, those of the empty kernel too."""
        return [*self.samples(), *self._counting((0, False))]
