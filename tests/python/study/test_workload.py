"""A workload: its name, the request that a driver gets, and the flags that give it again."""

from __future__ import annotations

from taskgrain.study.fields import CORE
from taskgrain.study.workload import Workload


def test_a_workload_is_told_as_the_core_takes_it() -> None:
    workload = Workload("nearest", 8, radix=5, imbalance=0.5, graphs=2)
    (one, other) = workload.request(3, 10)
    assert one == other
    assert set(one) == {name for name, field in CORE.items() if not field.of_kernel} | {"kernel"}
    assert workload.request(0, 10)[0]["kernel"] == {"name": "empty", "iterations": 0}
