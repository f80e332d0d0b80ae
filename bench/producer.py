"""One producer, many tasks, two threads: the runtime, libgomp, libomp and oneTBB, in turn.

    python bench/producer.py FOLDER [--tasks 100000] [--rounds 15]

FOLDER has the programs taskgrain-producer-*; a peer that was not built is left out. A task works for a fixed
number of turns of a loop. The ideal is half of the tasks on each of two bound threads without any runtime,
just before the run. Ratios are of the same round; their intervals are a bootstrap of the median over rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from pathlib import Path

from imbalance import interval
from side_by_side import at_least_one

OWN, IDEAL = "taskgrain", "alone"
PEERS = ("libgomp", "libomp", "onetbb")
MICROSECONDS = (0.0, 0.1, 0.5, 2.0, 10.0, 50.0)


def output(program: Path, *arguments: str) -> list[float]:
    """The numbers that a program prints."""
    bound = os.environ | {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    done = subprocess.run([program, *arguments], env=bound, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def with_interval(values: list[float]) -> str:
    low, high = interval(values)
    return f"{statistics.median(values):.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=at_least_one, default=100_000)
    parser.add_argument("--rounds", type=at_least_one, default=15)
    options = parser.parse_args()
    programs = {name: options.folder / f"taskgrain-producer-{name}" for name in (OWN, *PEERS)}
    for name in [name for name, program in programs.items() if not program.exists()]:
        print(f"{name}: NOT MEASURED, there is no {programs.pop(name)}")
    if OWN not in programs:
        return
    alone = options.folder / f"taskgrain-producer-{IDEAL}"
    (per_microsecond,) = output(alone, "--turns")
    print(f"one producer, {options.tasks} tasks, two threads: median of {options.rounds} rounds, best round")
    print(f"{'us':>5} {'':10} {'ms':>8} {'best':>8} {'stolen':>7}  ideal / time          time / taskgrain")
    for microseconds in MICROSECONDS:
        turns = str(round(microseconds * per_microsecond))
        seconds: dict[str, list[float]] = {name: [] for name in programs}
        stolen: dict[str, list[float]] = {name: [] for name in programs}
        efficiency: dict[str, list[float]] = {name: [] for name in programs}
        for number in range(options.rounds):
            for name in list(programs) if number % 2 == 0 else reversed(list(programs)):
                ideal, _ = output(alone, turns, str(options.tasks))
                taken, share = output(programs[name], turns, str(options.tasks))
                seconds[name].append(taken)
                stolen[name].append(share)
                efficiency[name].append(ideal / taken)
        for name in programs:
            ratios = [one / own for one, own in zip(seconds[name], seconds[OWN], strict=True)]
            print(
                f"{microseconds:5g} {name:10} {1e3 * statistics.median(seconds[name]):8.2f} "
                f"{1e3 * min(seconds[name]):8.2f} {statistics.median(stolen[name]):7.0%}  "
                f"{with_interval(efficiency[name]):21}"
                f"{'' if name == OWN else with_interval(ratios)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
