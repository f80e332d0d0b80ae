"""The kernel alone beside one configuration, with simulated drivers as processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from killable_study import FAKE

from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.measure.alone import Alone
from taskgrain.study.workload import Workload
from taskgrain.words.errors import TaskgrainError

WORKLOAD = Workload("stencil_1d", 4)


def system(folder: Path) -> System:
    return System("fast", folder, "Fast", command=(sys.executable, str(FAKE), "1e-6", "0.0"), simulated=True)


def test_the_peak_and_the_iterations_of_a_time(tmp_path: Path, simulated: None) -> None:
    one = system(tmp_path)
    with Alone((0,), "auto") as alone, Session(one.name, one.launch((0,))) as session:
        session.start()
        assert alone.peak(one, WORKLOAD, 1) == pytest.approx(2e9, rel=0.1)  # 128 FLOP in 64 ns
        found = alone.iterations(one, session, WORKLOAD, 64e-6)
        assert found == pytest.approx(1000, rel=0.1)
        assert alone.iterations(one, session, WORKLOAD, 64e-6) == found, "all systems get the same"
        assert alone.iterations(one, session, WORKLOAD, 1e-9) == 1


def test_a_reference_that_does_not_work_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", "/bin/true")
    with Alone((0,), "auto") as alone, pytest.raises(TaskgrainError, match="taskgrain-reference: ended"):
        alone.peak(system(tmp_path), WORKLOAD, 1)
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(tmp_path / "nothing"))
    with Alone((0,), "auto") as alone, pytest.raises(TaskgrainError, match="is missing or no program"):
        alone.peak(system(tmp_path), WORKLOAD, 1)
