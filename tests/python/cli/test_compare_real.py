"""`taskgrain compare` on what this machine measures: no speed is asked for, only that numbers are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driver_process import runnable

pytestmark = pytest.mark.submission
SYSTEMS = ("serial", "limit", "openmp_for")
VERDICTS = {"faster", "slower", "same", "undecided", "not comparable"}


def called(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "taskgrain", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three sessions of the same study."""
    if not set(SYSTEMS) <= runnable().keys():
        pytest.skip("the systems are not built")
    found = []
    for number in range(3):
        found.append(tmp_path_factory.mktemp("real") / f"r{number}")
        words = ("--system", ",".join(SYSTEMS), "--width", "8", "--budget", "4", "-o", found[-1], "-q")
        assert called("metg", *words).returncode == 0
    return found


def document(*words: object) -> dict[str, Any]:
    done = called("compare", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_systems_of_one_session(folders: list[Path]) -> None:
    found = document(folders[0], "--system", ",".join(SYSTEMS))
    assert [cell["system"] for cell in found["cells"]] == ["limit", "openmp_for"]
    for cell in found["cells"]:
        assert cell["verdict"] in VERDICTS
        if cell["verdict"] == "not comparable":  # where others take the cores, the budget may end before that
            continue
        assert cell["together"] is True
        for ratio in cell["ratios"].values():
            if ratio["low"] and ratio["high"] and ratio["value"]:
                assert ratio["low"] <= ratio["value"] <= ratio["high"]


def test_sessions_of_one_build(folders: list[Path]) -> None:
    first, second, third = folders
    found = document(f"{first},{second}", third)
    assert {cell["system"] for cell in found["cells"]} == set(SYSTEMS)
    for cell in found["cells"]:
        assert cell["together"] is False and cell["sessions"] == [1, 2]
        assert "the build is the same on both sides" in cell["notes"]
        if cell["verdict"] != "not comparable":
            assert cell["scatter"]["freedom"] == 1
    alone = document(first, second)
    assert {cell["verdict"] for cell in alone["cells"]} == {"not comparable"}


def test_one_driver_as_two_builds(folders: list[Path], tmp_path: Path) -> None:
    driver = runnable()["limit"].folder / "driver"
    copy = tmp_path / "driver"
    copy.write_bytes(driver.read_bytes())
    copy.chmod(0o755)
    found = document("--build", driver, copy, "--system", "limit", "--width", "8", "--budget", "4", "-q")
    (cell,) = found["cells"]
    assert cell["verdict"] in VERDICTS and "the build is the same on both sides" in cell["notes"]
