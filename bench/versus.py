"""METG(50 %) of systems against another one, in one run.

    python bench/versus.py [--systems taskgrain_graph,taskgrain_ptg] [--against limit] [--rounds 5]

How the two are compared is said in side_by_side.py.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from side_by_side import CORES, Own, Quietly, at_least_one, cases, compare, quiet_reference, systems

PATTERNS = ",".join(
    f"{pattern}:{n}" for pattern in ("stencil_1d", "nearest", "spread", "fft", "tree") for n in (1, 8)
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=systems, default="taskgrain_graph,taskgrain_ptg")
    parser.add_argument("--against", type=systems, default="limit", help="one system")
    parser.add_argument(
        "--patterns", type=cases, default=PATTERNS, help="pattern:tasks per core, with commas between"
    )
    parser.add_argument("--rounds", type=at_least_one, default=5)
    options = parser.parse_args()
    other = options.against[0]
    columns = f"METG ns: it, {other.name:11}   ratio (95 % interval)"
    print(f"{'system':28} {'pattern':12} per core  {columns}")
    with quiet_reference() as (reference, watch):
        for system in options.systems:
            sessions = [Own(one.launch(CORES), Path(os.devnull)) for one in (system, other)]
            sides = [Quietly(one, watch) for one in sessions]
            for case in options.patterns:
                found = compare(sides, case, reference, options.rounds)
                disturbed = sum(side.disturbed for side in sides)
                row = f"{system.name:28} {case.workload.pattern:12} {case.per_core:>8}"
                print(f"{row}  {found}   {disturbed} disturbed", flush=True)
            for one in sessions:
                one.close()


if __name__ == "__main__":
    main()
