"""From a study to its results: cells are checked first, old folders open, an interrupt ends in good order."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from taskgrain.drive.system import System
from taskgrain.measure.call import checked_cells, completed, interruptible
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study
from taskgrain.study.workload import Workload
from taskgrain.words.errors import InputError, UsageError


def systems(folder: Path) -> list[System]:
    return [System("one", folder, "one", command=("x",))]


def test_cells_are_checked_before_anything_starts(tmp_path: Path) -> None:
    study = Study(("one",), (Workload("fft", 4),))
    assert [cell.name for cell in checked_cells(study, systems(tmp_path))] == ["one/fft/width=4"]
    excluded = Study(("one",), (Workload("fft", 4),), exclude=({"pattern": ["fft"]},))
    with pytest.raises(UsageError, match="no cells"):
        checked_cells(excluded, systems(tmp_path))
    with pytest.raises(UsageError, match="period"):
        checked_cells(Study(("one",), (Workload("spread", 4, period=99),)), systems(tmp_path))
    odd = Study(("one",), (Workload("fft", 4),), Settings(experiment="odd"), experiment_named="s.toml:1:1")
    with pytest.raises(InputError, match=r"s\.toml:1:1: odd is not allowed; allowed: metg, sweep"):
        checked_cells(odd, systems(tmp_path))


def test_a_stored_study_means_the_defaults_of_what_it_does_not_say() -> None:
    defaults = asdict(Settings())
    assert completed({}) == defaults
    assert completed({"threshold": 0.7, "sweep": False}) == defaults | {"threshold": 0.7}
    assert completed({"sweep": True})["experiment"] == "sweep"
    (workload,) = completed({"workloads": [{"pattern": "fft", "width": 4}]})["workloads"]
    assert workload == Workload("fft", 4).fields()
    assert completed({"workloads": "odd"})["workloads"] == "odd"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_interrupt_does_not_disturb_the_first(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)
            assert signal.getsignal(number) == signal.SIG_IGN
    assert signal.getsignal(number) == before
