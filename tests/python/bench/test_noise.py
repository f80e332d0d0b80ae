"""Recordings of machines: made by `tools/noise`, replayed by a world."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from simulated_worlds.clock import recorded
from simulated_worlds.noisy import WORLDS

TOOL = Path(__file__).parents[3] / "tools" / "noise"


def record(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_recording_of_this_machine_is_a_world(tmp_path: Path) -> None:
    file = tmp_path / "here.npz"
    made = record(file, "--seconds", "1")
    assert made.returncode == 0, made.stderr
    with np.load(file) as stored:
        assert stored["factors"].shape[1] == 5000 and stored["machine"].item()
    states = recorded(file)(np.random.default_rng(0))
    lasted = list(islice(states, 6000))
    assert {seconds for seconds, _ in lasted} == {2e-4}
    assert [one.kernel for _, one in lasted[5000:]] == [one.kernel for _, one in lasted[:1000]]
    assert float(np.median([one.kernel for _, one in lasted[:5000]])) == pytest.approx(1.0)


def test_a_stored_one_switches_between_the_states_that_it_was_recorded_for() -> None:
    """On the EPYC two fifths of the loops on each core took 0.7 of the median, and not together; on the Xeon
    nearly all are alike."""

    def factors(name: str) -> np.ndarray:
        states = islice(WORLDS[name].machine(np.random.default_rng(1)), 100_000)
        return np.array([one.kernel for _, one in states])

    epyc, xeon = factors("epyc-cloud"), factors("xeon-cloud")
    assert 0.05 < np.mean(epyc < 0.8) < 0.3 and 0.2 < np.mean((epyc > 0.8) & (epyc < 0.95)) < 0.6
    assert np.mean(xeon < 0.85) < 0.01 and np.mean(np.abs(xeon - 1.0) < 0.1) > 0.9


def test_a_python_without_numpy_hands_over_to_that_of_the_project() -> None:
    bare = [sys.executable, "-I", "-S", str(TOOL), "--help"]
    done = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "--seconds" in done.stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["x.npz", "--seconds", "0"], "--seconds: 0"),
        (["x.txt"], "x.txt"),
        (["x.npz", "--cores", "4096"], "4096"),
    ],
)
def test_bad_input_is_refused(words: list[str], named: str) -> None:
    made = record(*words)
    assert made.returncode == 2 and named in made.stderr
