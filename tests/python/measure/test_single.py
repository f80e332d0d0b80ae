"""One configuration, run once, with a driver as a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from taskgrain.drive.system import System
from taskgrain.measure.single import Wanted, run
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError

FAKE = Path(__file__).parents[1] / "drivers" / "fake.py"


def outcome(folder: Path, fault: str = "=", steps: int = 10) -> dict[str, object]:
    command = (sys.executable, str(FAKE), "1e-6", "0.0", fault)
    system = System("fast", folder, "Fast", command=command, simulated=True)
    wanted = Wanted(Workload("stencil_1d", 4), steps, 100, 3, 1, "sample", "auto")
    return run(system, (0,), wanted)


def test_what_a_run_came_to(tmp_path: Path) -> None:
    found = outcome(tmp_path)
    assert (found["system"], found["workload"]) == ("fast", "stencil_1d/width=4")
    assert (found["steps"], found["iterations"], found["tasks"]) == (10, 100, 40)
    seconds = sorted(found["seconds"])  # type: ignore[type-var]
    assert found["median_seconds"] == seconds[1] and len(seconds) == 3
    cores, median = found["cores"], found["median_seconds"]
    assert found["granularity"] == pytest.approx(median * cores / 40)  # type: ignore[operator]
    assert found["rate"] == pytest.approx(found["work"] / median)  # type: ignore[operator]


def test_a_failure_is_an_outcome_with_its_log(tmp_path: Path) -> None:
    found = outcome(tmp_path, "stencil_1d=validation")
    assert found["error"] == "validation" and found["message"] and "seconds" not in found


def test_an_invalid_request_is_the_users(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fast: "):
        outcome(tmp_path, "stencil_1d=invalid")
