"""What the measurements of two sides have in common; test_cells has what came of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from taskgrain.answers.compare.pairing import usual
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.sessions import USUAL, USUAL_OF_ONE


def test_sessions_whose_processes_took_turns_scatter_by_less() -> None:
    def one(*processes: int) -> Any:
        samples = [Sample(64, 0, 1e-3, 1.0, 8, 2, 1.0, process) for process in processes]
        return SimpleNamespace(samples=samples)

    assert usual([one(1, 2), one(3, 4, 3)]) == USUAL
    assert usual([one(1, 2), one(3, 3)]) == USUAL_OF_ONE
