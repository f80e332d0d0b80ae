"""What is counted as taken from the cores that are measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from taskgrain.machine.busy import BusyWatch


def test_counts_who_takes_the_cores_and_who_is_interrupted() -> None:
    core = max(os.sched_getaffinity(0))
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for hog in hogs:
            os.sched_setaffinity(hog.pid, {core})
        watch = BusyWatch([core], [hogs[0].pid])
        time.sleep(0.5)
        found = watch.end([hogs[0].pid])
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert found.share > 0.2, "the other one"
    assert found.switches > 2, "for the other one"
    assert 0.0 <= found.steal <= found.share
