"""Active messages beside MPI, and the floor: a cache line between two cores.

    python bench/messages.py build/bench [--repeats 9]

Two ranks on two cores. The programs run in turn, the first one changing from repeat to repeat. For each size
it prints medians, and the ratio of active messages to MPI: the median of the ratios of a repeat, with the
interval that holds the median in 95 % of cases (from the order statistics).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binom

from taskgrain.machine.topology import choose_cores

AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which the median of the population lies with 95 %, where there are six values or more."""
    ordered, n = sorted(values), len(values)
    k = int(binom.ppf(0.025, n, 0.5))
    return ordered[max(k - 1, 0)], ordered[min(n - k, n - 1)]


def repeats(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not allowed; allowed: 1 to 1000")
    return int(text)


def measured(command: list[str]) -> list[dict[str, object]]:
    done = subprocess.run(command, env=os.environ | AS_ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path, help="the build folder of the preset `bench`")
    parser.add_argument("--repeats", type=repeats, default=9)
    options = parser.parse_args()
    cores = [str(core) for core in choose_cores(0)][:2]
    if len(cores) < 2:
        raise SystemExit("messages.py needs two cores")
    programs, pinned = options.build / "bench" / "messages", ",".join(cores)
    run = str(options.build / "src" / "rt" / "taskgrain-run")
    commands = {
        "cache line": [str(programs / "taskgrain-messages-cache_line"), *cores],
        "message": [run, "-n", "2", "--cores", pinned, str(programs / "taskgrain-messages-taskgrain")],
    }
    for command in commands.values():
        if not Path(command[0]).exists():
            parser.error(f"build: '{options.build}' has no {Path(command[0]).name}; `make bench` builds it")
    if (mpi := programs / "taskgrain-messages-mpi").exists():
        bind = ["--bind-to", "cpu-list:ordered", "--cpu-list", pinned]
        commands["mpi"] = ["mpirun", "-n", "2", *bind, str(mpi)]
    else:
        print("mpi is absent: it was not there when the programs were built")

    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for repeat in range(options.repeats):
        order = list(commands)
        for name in order[repeat % len(order) :] + order[: repeat % len(order)]:
            for line in measured(commands[name]):
                key = str(line["system"]), str(line["measure"]), int(str(line["bytes"]))
                found[key].append(float(str(line["value"])))

    line, task = found["cache line", "latency", 4], found["task", "latency", 4]
    small = found["message", "latency", 16]
    print(f"cores {pinned}, {options.repeats} repeats\n")
    print(f"{'a cache line, one way':24} {1000 * statistics.median(line):7.0f} ns")
    for what, values in (("a message of 16 B", small), ("from task to task", task)):
        above = [1000 * (value - floor) for value, floor in zip(values, line, strict=True)]
        low, high = interval(above)
        median = f"{statistics.median(above):.0f} ({low:.0f} - {high:.0f})"
        print(f"{what:24} {1000 * statistics.median(values):7.0f} ns, above the line {median}")
    for measure, unit in (("latency", "us"), ("rate", "1/s"), ("bandwidth", "MB/s")):
        print(f"\n{measure + ', ' + unit:14} {'mpi':>10} {'message':>10}  to mpi {'large':>18}  to mpi")
        for bytes_ in sorted(size for system, kind, size in found if (system, kind) == ("message", measure)):
            other, text = found["mpi", measure, bytes_], f"{bytes_:12} B"
            text += f" {statistics.median(other):10.4g}" if other else " " * 11
            for name in ("message", "large"):
                own = found[name, measure, bytes_]
                text += f" {statistics.median(own):10.4g}"
                if other:
                    ratios = [a / b for a, b in zip(own, other, strict=True)]
                    low, high = interval(ratios)
                    text += f"  {statistics.median(ratios):.2f} ({low:.2f} - {high:.2f})"
            print(text)


if __name__ == "__main__":
    main()
