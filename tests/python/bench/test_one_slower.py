"""The system of which one cell gets slower (bench/one_slower.py)."""

from pathlib import Path

import pytest
from one_slower import write

from taskgrain.drive.catalogue import discover, package_folder
from taskgrain.drive.session import Session


@pytest.mark.uses("serial")
def test_tasks_of_one_pattern_cost_more(tmp_path: Path) -> None:
    driver = str(package_folder() / "systems" / "serial" / "driver")
    folder = write(tmp_path / "subject", driver, "nearest", 1.0)
    with Session("subject", discover([folder])["subject"].launch([0])) as session:
        session.start()
        for pattern, least in (("nearest", 1.0), ("stencil_1d", 0.0)):
            result = session.run([{"pattern": pattern, "width": 1, "steps": 1}], repeats=1)
            assert (result.tasks, result.executed) == (1, 1)
            assert min(result.seconds) >= least
