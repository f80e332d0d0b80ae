"""What a task costs in each system when its kernel does next to nothing, the systems in turn.

    python bench/overhead.py [--systems limit,taskgrain_graph] [--patterns stencil_1d:1,stencil_1d:8]
                             [--rounds 10] [--iterations 1] [--driver NAME=PROGRAM]

Shown are nanoseconds of a core: the least, the lower quartile and the median of ten runs in each round.
With `--driver` another build of a driver takes part, to compare before and after.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from side_by_side import CORES, Own, at_least_one, cases, systems

from taskgrain.drive.launch.launch import Launch


def driver(text: str) -> tuple[str, Launch]:
    name, _, program = text.partition("=")
    if not name or not os.access(program, os.X_OK):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PROGRAM")
    return name, Launch((str(Path(program).resolve()),), {}, tuple(CORES))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=systems, default="limit,taskgrain_graph,taskgrain_ptg")
    parser.add_argument("--patterns", type=cases, default="stencil_1d:1,stencil_1d:8,no_comm:8")
    parser.add_argument("--rounds", type=at_least_one, default=10)
    parser.add_argument("--iterations", type=at_least_one, default=1, help="of the kernel compute_bound")
    parser.add_argument("--driver", type=driver, action="append", default=[], metavar="NAME=PROGRAM")
    options = parser.parse_args()
    launches = {one.name: one.launch(CORES) for one in options.systems} | dict(options.driver)
    sides = {name: Own(launch, Path(os.devnull)) for name, launch in launches.items()}
    print("nanoseconds of a core for a task: least, lower quartile, median")
    for case in options.patterns:
        found: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(options.rounds):
            for name in list(sides) if number % 2 == 0 else reversed(sides):
                seconds = sides[name].all_seconds(case, options.iterations, repeats=10)
                found[name] += [1e9 * one * len(CORES) / case.tasks for one in seconds]
        row = f"{case.workload.pattern:12} {case.per_core:>4} per core"
        for name, values in found.items():
            least, quartile, median = np.quantile(values, [0, 0.25, 0.5])
            print(f"{row}  {name:28} {least:7.0f} {quartile:7.0f} {median:7.0f}", flush=True)
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
