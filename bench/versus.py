"""METG(50 %) of systems against another one, in one run.

    python bench/versus.py [--systems taskgrain_graph,taskgrain_ptg] [--against limit] [--rounds 5]

How the two are compared is said in side_by_side.py.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from side_by_side import CORES, Graph, Own, Quietly, compare, quiet_reference

from taskgrain.system import discover

PATTERNS = ",".join(
    f"{pattern}:{n}" for pattern in ("stencil_1d", "nearest", "spread", "fft", "tree") for n in (1, 8)
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", default="taskgrain_graph,taskgrain_ptg")
    parser.add_argument("--against", default="limit")
    parser.add_argument("--patterns", default=PATTERNS, help="pattern:tasks per core, with commas between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    known = discover([])
    columns = f"METG ns: it, {options.against:11}   ratio (95 % interval)"
    print(f"{'system':28} {'pattern':12} per core  {columns}")
    with quiet_reference() as (reference, watch):
        for name in options.systems.split(","):
            sessions = [Own(known[one].launch(CORES), Path(os.devnull)) for one in (name, options.against)]
            sides = [Quietly(one, watch) for one in sessions]
            for case in options.patterns.split(","):
                pattern, per_core = case.split(":")
                graph = Graph(pattern, int(per_core) * len(CORES), options.steps)
                found = compare(sides, graph, reference, options.rounds)
                disturbed = sum(side.disturbed for side in sides)
                print(f"{name:28} {pattern:12} {per_core:>8}  {found}   {disturbed} disturbed", flush=True)
            for one in sessions:
                one.session.close()


if __name__ == "__main__":
    main()
