"""What the shape of a graph allows at best."""

from __future__ import annotations

from taskgrain.study.shape import best_efficiency
from taskgrain.study.workload import Workload


def test_tasks_that_wait_for_none_fill_all_cores_in_enough_steps() -> None:
    independent = Workload("trivial", 1)
    assert best_efficiency(independent, 50, 64, longer=True) == 1.0
    assert best_efficiency(independent, 50, 64, longer=False) == 50 / 64
