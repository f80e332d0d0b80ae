"""Tests of what the shape of a graph allows at best."""

from taskgrain.study.shape import best_efficiency
from taskgrain.study.workload import Workload


def test_tasks_that_wait_for_none_fill_all_cores_in_enough_steps() -> None:
    independent = Workload("trivial", 1)
    assert best_efficiency(independent, 50, 64, longer=True) == 1.0
    assert best_efficiency(independent, 50, 64, longer=False) == 50 / 64


def test_what_waits_for_whole_steps_leaves_cores_idle() -> None:
    assert best_efficiency(Workload("fork_join", 3), 50, 2, longer=True) == 4 / 6
    assert best_efficiency(Workload("all_to_all", 5), 50, 4, longer=False) == 5 / 8
