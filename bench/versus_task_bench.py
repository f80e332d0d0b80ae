"""METG(50 %) of this project's drivers against Task Bench's own, side by side in one run.

    python bench/versus_task_bench.py CHECKOUT [--systems mpi,openmp_task] [--rounds 9]

CHECKOUT is a built Task Bench (mpi/nonblock and openmp/main). Both sides run the same graphs, with the same
number of steps. Both check their inputs, and each is timed as it times itself. How the two are compared is
said in side_by_side.py.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from side_by_side import CORES, Graph, Own, Quietly, compare, quiet_reference

from taskgrain.system import Launch, discover

PATTERNS = (
    *(
        "trivial:1",
        "trivial:8",
        "no_comm:8",
        "stencil_1d:1",
        "stencil_1d:8",
        "dom:8",
        "tree:8",
        "fft:1",
        "fft:8",
    ),
    *("all_to_all:1", "all_to_all:8", "nearest:1", "nearest:8", "spread:8", "random_nearest:8"),
)
"""Pattern and tasks per core."""


class TaskBench:
    """A program of Task Bench: a process a run, the median of three."""

    def __init__(self, command: Sequence[str], launch: Launch) -> None:
        self.command, self.env = command, os.environ | launch.env

    def seconds(self, graph: Graph, iterations: int) -> float:
        words = ["-steps", graph.steps, "-width", graph.width, "-type", graph.pattern, "-radix", graph.radix]
        words += ["-kernel", "compute_bound", "-iter", iterations]
        command = [*self.command, *map(str, words)]
        return statistics.median(self._once(command) for _ in range(3))

    def _once(self, command: Sequence[str]) -> float:
        run = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        found = re.search(r"^Elapsed Time ([0-9.e+-]+)", run.stdout, re.MULTILINE)
        if found is None:
            raise RuntimeError((run.stderr or run.stdout).strip()[-200:])
        return float(found.group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a built Task Bench")
    parser.add_argument("--systems", default="mpi,openmp_task")
    parser.add_argument(
        "--patterns", default=",".join(PATTERNS), help="pattern:tasks per core, with commas between"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    cores = str(len(CORES))
    commands = {
        "mpi": ["mpirun", "-n", cores, "--bind-to", "core", str(options.checkout / "mpi/nonblock")],
        "openmp_task": [str(options.checkout / "openmp/main"), "-worker", cores],
    }
    print(f"{'system':12} {'pattern':20} per core  METG ns: own, Task Bench's   ratio (95 % interval)")
    with quiet_reference() as (reference, watch):
        for name in options.systems.split(","):
            launch = discover([])[name].launch(CORES)
            own = Own(launch, Path(os.devnull))
            sides = (Quietly(own, watch), Quietly(TaskBench(commands[name], launch), watch))
            for case in options.patterns.split(","):
                pattern, per_core = case.split(":")
                graph = Graph(pattern, int(per_core) * len(CORES), options.steps)
                try:
                    found = compare(sides, graph, reference, options.rounds)
                except RuntimeError as error:
                    found = f"Task Bench failed: {error}"
                disturbed = sum(side.disturbed for side in sides)
                print(f"{name:12} {pattern:20} {per_core:>8}  {found}   {disturbed} disturbed", flush=True)
            own.session.close()


if __name__ == "__main__":
    main()
