"""Efficiency under load imbalance: four graphs of nearest (5) at once, tasks of up to twice the mean.

    python bench/imbalance.py [--systems mpi,taskgrain_graph.stealing] [--microseconds 200] [--rounds 7]

All systems run the same graphs in turn, with the order turned round every round. Efficiency is the kernel's
rate over that of the reference just before and just after the run; the interval is a bootstrap of the median
over rounds.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from pathlib import Path

import numpy as np
from side_by_side import CORES, FLOP_PER_ITERATION, alone, at_least_one, quiet_reference, systems

from taskgrain.drive.answers import RunResult
from taskgrain.drive.session import Session
from taskgrain.drive.system import System

KERNEL = {"name": "load_imbalance", "imbalance": 2.0}


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of the median over resampled rounds."""
    picks = np.random.default_rng(0).choice(values, (1000, len(values)))
    low, high = np.quantile(np.median(picks, axis=1), [0.025, 0.975])
    return float(low), float(high)


def efficiencies(
    taking_part: list[System], per_core: int, microseconds: float, rounds: int
) -> dict[str, list[float]]:
    sessions = {one.name: Session(one.name, one.launch(CORES), Path(os.devnull)) for one in taking_part}
    names = list(sessions)
    found: dict[str, list[float]] = {name: [] for name in names}
    with quiet_reference() as (reference, watch):
        usual = statistics.median(alone(reference) for _ in range(5))
        iterations = round(microseconds * 1e-6 * usual / FLOP_PER_ITERATION)
        graph = {"pattern": "nearest", "radix": 5, "width": per_core * len(CORES), "steps": 40}
        graphs: list[dict[str, object]] = [graph | {"kernel": KERNEL | {"iterations": iterations}}] * 4
        for session in sessions.values():
            session.start()
            session.park()
        for number in range(rounds):
            for name in names if number % 2 == 0 else reversed(names):
                watch.wait(0.3)
                before = alone(reference)
                sessions[name].resume()
                result: RunResult = sessions[name].run(graphs, repeats=1, warmup=1 if number == 0 else 0)
                sessions[name].park()
                whole = math.sqrt(before * alone(reference)) * len(CORES)
                found[name] += [result.work / whole / one for one in result.seconds]
    for session in sessions.values():
        session.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=systems, default=systems(), help="with commas; all by default")
    parser.add_argument("--microseconds", type=at_least_one, default=200, help="of the mean task")
    parser.add_argument("--rounds", type=at_least_one, default=7)
    options = parser.parse_args()
    print(f"efficiency with four graphs of nearest (5), tasks of 0 to {2 * options.microseconds:g} us")
    for per_core in (1, 8):
        found = efficiencies(options.systems, per_core, options.microseconds, options.rounds)
        for name in sorted(found, key=lambda name: -statistics.median(found[name])):
            low, high = interval(found[name])
            middle = statistics.median(found[name])
            print(
                f"{per_core} task(s) per core  {name:30} {middle:.3f} ({low:.3f} to {high:.3f})", flush=True
            )


if __name__ == "__main__":
    main()
