"""What processes differ by, in the mean of their rounds."""

from __future__ import annotations

import numpy as np
import pytest

from taskgrain.estimate.processes import lasting


def rounds(
    seed: int, processes: int, times: int, between: float, within: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rounds of processes in turn: how far each lies off, and which process it was."""
    rng = np.random.default_rng(seed)
    process = np.tile(np.arange(1, processes + 1), times)
    own = between * rng.standard_normal(processes)
    off = own[process - 1] + within * rng.standard_normal(len(process))
    return off, process


@pytest.mark.parametrize(("between", "within"), [(0.08, 0.02), (0.03, 0.02), (0.0, 0.02), (0.015, 0.0)])
@pytest.mark.parametrize(("processes", "times"), [(3, 4), (6, 2), (6, 5), (8, 3)])
def test_with_the_scatter_of_rounds_it_holds_the_mean_of_all_processes(
    between: float, within: float, processes: int, times: int
) -> None:
    held, seeds = 0, 400
    for seed in range(seeds):
        off, process = rounds(seed, processes, times, between, within)
        shown = 2.1 * off.std(ddof=1) / np.sqrt(len(off))
        held += abs(off.mean()) <= np.hypot(shown, lasting(off, process, 0.95))
    assert held >= (0.86 if processes == 3 else 0.9) * seeds


def test_nothing_is_missing_where_every_round_has_its_own_process() -> None:
    off, process = rounds(0, 12, 1, 0.08, 0.02)
    assert lasting(off, process, 0.95) == 0.0


@pytest.mark.parametrize("process", [np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64)])
def test_of_one_process_or_unknown_ones_nothing_is_known(process: np.ndarray) -> None:
    assert lasting(np.zeros(12), process, 0.95) == 0.0


def test_before_there_are_many_what_is_usual_counts() -> None:
    off, process = np.zeros(10), np.array([1, 2] * 5)
    assert 0.03 < lasting(off, process, 0.95) < 0.06


def test_rounds_of_unknown_processes_do_not_count() -> None:
    off, process = rounds(0, 4, 5, 0.08, 0.02)
    more = np.append(off, [0.3, 0.3])
    assert lasting(more, np.append(process, [0, 0]), 0.95) == lasting(off, process, 0.95)


def test_a_higher_confidence_is_wider() -> None:
    off, process = rounds(0, 4, 5, 0.08, 0.02)
    assert lasting(off, process, 0.99) > 1.2 * lasting(off, process, 0.95)
