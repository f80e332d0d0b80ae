"""What it costs to call an empty task from Python and from the JVM: nanoseconds a call, beside C++ in turn.

    python bench/calls.py [--rounds 9]

Three inputs of 16 bytes. The loops of Python and Java know the inputs beforehand; `serial`, in C++, asks for
them.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from side_by_side import CORES, at_least_one

from taskgrain.drive import catalogue as system
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session

HERE = Path(__file__).parent
GRAPH = {"pattern": "nearest", "radix": 3, "width": 64, "steps": 500, "kernel": {"name": "empty"}}
LEVELS = ("off", "sample", "full")


def launches() -> dict[str, Launch]:
    """C++, Python and, where there is a JVM, Java."""
    found = {"C++": system.discover()["serial"].launch(CORES[:1])}
    found["Python"] = Launch((sys.executable, str(HERE / "loop_driver.py")), {}, tuple(CORES[:1]))
    package = importlib.util.find_spec("taskgrain")
    assert package and package.origin
    jar = Path(package.origin).parent / "jvm" / "taskgrain.jar"
    if jar.exists() and (java := shutil.which("java")):
        found["Java"] = Launch((java, "-cp", str(jar), str(HERE / "LoopDriver.java")), {}, tuple(CORES[:1]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=at_least_one, default=9)
    options = parser.parse_args()
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(Session(name, one)) for name, one in launches().items()}
        for session in sessions.values():
            session.start()
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(options.rounds):
            for level in LEVELS:
                for name, session in sessions.items():
                    result = session.run([GRAPH], repeats=3, warmup=1, validate=level)
                    found.setdefault((name, level), []).append(1e9 * min(result.seconds) / result.tasks)
    print("nanoseconds a call, median of rounds, validation " + ", ".join(LEVELS))
    for name in sessions:
        print(f"{name:8}", *(f"{np.median(found[name, level]):7.0f}" for level in LEVELS))


if __name__ == "__main__":
    main()
