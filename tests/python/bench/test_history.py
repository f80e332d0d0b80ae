"""Histories in simulated worlds: false alarms, and what is found (bench/history.py counts many more)."""

import subprocess
import sys
from pathlib import Path

import pytest
from simulated_worlds.history import segmented, simulated

SCRIPT = Path(__file__).parents[3] / "bench" / "history.py"


@pytest.mark.parametrize("world", ["normal", "heavy", "outlier", "rough"])
def test_false_alarms_are_rare_and_a_fifth_is_found(world: str) -> None:
    """Of 60 series without a change, four alarms would come by chance in 0.3 % of such tests."""
    alarms = sum(bool(segmented(simulated(world, seed, (20, 1.0))).changes) for seed in range(60))
    late = [segmented(simulated(world, seed, (25, 1.0), (8, 1.2))) for seed in range(20)]
    assert alarms <= 3
    assert sum(any(abs(one.at - 25) <= 1 for one in found.changes) for found in late) >= 17


def test_the_benchmark_prints_a_row() -> None:
    words = ["--series", "2", "--sessions", "9", "--worlds", "normal", "--processes", "1"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert row.split()[:2] == ["normal", "9"] and len(row.split()) == len(head.split())
