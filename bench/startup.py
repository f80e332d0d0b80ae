"""Measures what the command `taskgrain` takes before it begins, beside Python itself: wall and processor
time.

    python bench/startup.py [--rounds 15]

Every round starts each command once, in turn. The table has the medians, and how much more than `python -c
pass` each takes. The first round does not count: it writes the bytecode and fills the caches of the disk.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from arguments import count

from taskgrain.words.quantity import seconds

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment without a variable that lets Python compile a checkout's modules at every start."""
COMMAND = str(Path(sys.executable).with_name("taskgrain"))
CASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    **{
        f"taskgrain {words}": [COMMAND, *words.split()]
        for words in ("--version", "--help", "systems", "graph")
    },
}


def taken(command: list[str]) -> tuple[float, float]:
    """Seconds of wall and of processor time that a command takes. Raises CalledProcessError if it fails."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return wall, used


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=count, default=15)
    rounds = parser.parse_args().rounds
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for number in range(rounds + 1):
        for name, command in CASES.items():
            times = taken(command)
            if number > 0:
                found[name].append(times)
    print(f"{'command':22} {'wall':>8}  {'processor':>9}  more than Python")
    bare = statistics.median(wall for wall, _ in found["python -c pass"])
    for name, taken_by in found.items():
        wall, used = (statistics.median(one) for one in zip(*taken_by, strict=True))
        print(f"{name:22} {seconds(wall):>8}  {seconds(used):>9}  {seconds(max(0.0, wall - bare))}")


if __name__ == "__main__":
    main()
