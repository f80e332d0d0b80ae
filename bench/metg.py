"""The instrument's own figures: what a METG costs, what a disturbance does to it, how alike copies are.

    python bench/metg.py cost      the time of one METG, against a sweep as Task Bench does it
    python bench/metg.py same      twenty comparisons of a system with itself, and how many differ
    python bench/metg.py disturb   METG while another process burns one core half of the time

Every METG is a call of the command `taskgrain metg`, its start and that of the drivers included. With
`--neighbours 2`, two processes of somebody else burn cores meanwhile, at nice 10.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from arguments import count, positive

from taskgrain.drive.catalogue import discover
from taskgrain.drive.session import Session
from taskgrain.estimate.metg import estimate
from taskgrain.estimate.reference import peak_beside
from taskgrain.estimate.sample import Sample
from taskgrain.machine.topology import choose_cores
from taskgrain.measure.call import reference_launch
from taskgrain.words.interval import Interval
from taskgrain.words.quantity import interval, ratio_interval

CORES = choose_cores(0)
CASES = tuple((system, per_core) for system in ("limit", "mpi", "openmp_task") for per_core in (1, 8))
FLOP_PER_ITERATION = 128
_DISTURBED = ("runs_disturbed", "efficiency_above_one")
"""Warnings that tell of others on the cores."""


@dataclass(frozen=True)
class Found:
    """The answer of one call of `taskgrain metg`, and the time that it took."""

    metg: Interval
    ending: str
    warnings: tuple[str, ...]
    seconds: float

    @property
    def half_width(self) -> float:
        return self.metg.half_width


def called(words: Sequence[str], budget: float) -> tuple[list[dict[str, Any]], float]:
    """The cells that a call of `taskgrain metg` prints, and how many seconds it took."""
    command = [sys.executable, "-m", "taskgrain", "metg", "--pattern", "stencil_1d", *words]
    command += ["--budget", str(budget), "--json", "--quiet"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["cells"], time.perf_counter() - start


def metg(system: str, per_core: int, budget: float) -> Found:
    (cell,), elapsed = called(["--system", system, "--width", str(per_core * len(CORES))], budget)
    codes = tuple(one["code"] for one in cell["warnings"])
    return Found(Interval(cell["metg"], cell["low"], cell["high"]), cell["ending"], codes, elapsed)


def shown(found: Found) -> str:
    value = found.ending if found.metg.value is None else interval(found.metg)
    return f"{value:28} {found.ending:8} {found.seconds:6.1f} s"


# -- cost ---------------------------------------------------------------------------------------------------


def sweep(system: str, per_core: int) -> tuple[float, list[Sample]]:
    """Seconds and samples of 22 sizes, five repeats each, 1000 steps, a fresh process each."""
    launch = discover([])[system].launch(CORES)
    env = os.environ | launch.env | {"TASKGRAIN_CORES": ",".join(map(str, CORES))}
    width, steps = per_core * len(CORES), 1000
    samples: list[Sample] = []
    start = time.perf_counter()
    with Session("reference", reference_launch(CORES)) as reference:
        reference.start()
        for iterations in (2**k for k in reversed(range(22))):
            peak = peak_beside([reference.peak({"name": "compute_bound"}, 0.05).rates])
            for repeat in range(5):
                flags = f"--pattern stencil_1d --width {width} --steps {steps} --repeats 1 --json"
                command = [*launch.command, *flags.split(), "--iterations", str(iterations)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
                answer: Any = json.loads(done.stdout.rpartition("@taskgrain ")[2])
                work = float(FLOP_PER_ITERATION * iterations * width * steps)
                taken = answer["seconds"][0]
                samples.append(Sample(iterations, repeat, taken, work, width * steps, len(CORES), peak))
    return time.perf_counter() - start, samples


def cost(options: argparse.Namespace) -> None:
    head = f"{'METG, ending, time':45} sweep, time                   times cheaper"
    print(f"{'system':12} per core  {head}, processor time of the sweep's estimate")
    for system, per_core in options.cases:
        found = metg(system, per_core, 60.0)
        taken, samples = sweep(system, per_core)
        begin = time.process_time()
        estimated = estimate(samples)
        thought = time.process_time() - begin
        value = estimated.metg
        swept = interval(value) if value.value is not None else "none"
        overlap = "" if value.value is None else "overlap" if _overlap(found.metg, value) else "APART"
        row = f"{shown(found)} {swept:20} {taken:6.1f} s  {taken / found.seconds:5.1f} {overlap:7}"
        print(f"{system:12} {per_core:>8}  {row} {1e3 * thought:5.0f} ms", flush=True)


def _overlap(one: Interval, other: Interval) -> bool:
    return one.ends[0] <= other.ends[1] and other.ends[0] <= one.ends[1]


# -- same ---------------------------------------------------------------------------------------------------


def same(options: argparse.Namespace) -> None:
    print(f"{'system':16} per core  ratio to itself, time")
    found = []
    for turn in range(options.times):
        system, per_core = options.cases[turn % len(options.cases)]
        ratio, taken = against_itself(system, per_core, options.budget)
        found.append((ratio, taken))
        said = "no ratio"
        if ratio:
            said = f"{ratio_interval(ratio):22} {'' if ratio.contains(1.0) else 'DIFFERENT'}"
        print(f"{system:16} {per_core:>8}  {taken:5.1f} s  {said}", flush=True)
    known = [ratio for ratio, _ in found if ratio]
    different = sum(not ratio.contains(1.0) for ratio in known)
    width = np.median([ratio.half_width for ratio in known])
    middle = f"half-width {width:.1%}, {np.median([taken for _, taken in found]):.1f} s (medians)"
    without = options.times - len(known)
    print(f"{different} of {len(known)} called different, {without} without a ratio; {middle}")


def against_itself(system: str, per_core: int, budget: float) -> tuple[Interval | None, float]:
    """The ratio of METG to that of the same driver under another name, and how many seconds it took."""
    one = discover([])[system]
    launch = one.launch(CORES)
    with tempfile.TemporaryDirectory() as folder:
        table = {"title": "again", "launch": {"command": list(launch.command), "env": dict(launch.env)}}
        Path(folder, "again").mkdir()
        Path(folder, "again", "system.toml").write_text(tomli_w.dumps(table), "utf-8")
        words = ["--system", f"{system},again", "--systems", folder, "--width", str(per_core * len(CORES))]
        cells, taken = called(words, budget)
    ratios = (ratio for cell in cells for ratio in cell["ratios"])
    return next((Interval(one["value"], one["low"], one["high"]) for one in ratios), None), taken


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Runs so many processes that burn a core each, in sessions of their own, as another user's would."""
    code = f"import os\nos.nice(10)\nwhile os.getppid() == {os.getpid()}: pass"
    busy = [subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


# -- disturb ------------------------------------------------------------------------------------------------


@contextmanager
def half_a_core(period: float) -> Iterator[None]:
    """Burns the last core half of the time, `period` seconds long a turn and its pause."""
    code = "while True: pass"
    hog = subprocess.Popen([sys.executable, "-c", code])
    os.sched_setaffinity(hog.pid, {CORES[-1]})
    switch = subprocess.Popen(
        [sys.executable, "-c", _SWITCH.format(pid=hog.pid, half=period / 2)], stdin=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        switch.kill()
        hog.send_signal(signal.SIGKILL)
        switch.wait()
        hog.wait()


_SWITCH = """
import os, signal, time
while True:
    os.kill({pid}, signal.SIGSTOP); time.sleep({half}); os.kill({pid}, signal.SIGCONT); time.sleep({half})
"""


def disturb(options: argparse.Namespace) -> None:
    print(f"{'system':12} per core  {'quiet':45} with half a core taken")
    for system, per_core in options.cases:
        quiet = metg(system, per_core, options.budget)
        for period in (0.02, 0.2, 2.0):
            with half_a_core(period):
                found = metg(system, per_core, options.budget)
            inside = _overlap(found.metg, quiet.metg)
            said = any(code in _DISTURBED for code in found.warnings)
            verdict = (
                "holds" if inside else "wide, and says why" if said and found.half_width > 0.1 else "WRONG"
            )
            row = f"{shown(quiet)}  every {period:4} s: {shown(found)}  {verdict}"
            print(f"{system:12} {per_core:>8}  {row}", flush=True)


def _cases(text: str) -> Sequence[tuple[str, int]]:
    pairs = (word.split(":") for word in text.split(","))
    return [(system, int(per_core)) for system, per_core in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    figures: dict[str, Callable[[argparse.Namespace], None]] = {
        "cost": cost,
        "disturb": disturb,
        "same": same,
    }
    parser.add_argument("figure", choices=figures)
    parser.add_argument(
        "--cases", type=_cases, default=CASES, help="system:tasks per core, with commas between"
    )
    parser.add_argument("--times", type=count, default=20, help="how often `same` compares")
    parser.add_argument("--budget", type=positive, default=30.0, help="seconds of one METG")
    parser.add_argument(
        "--neighbours", type=int, default=0, help="processes that burn a core each at nice 10"
    )
    options = parser.parse_args()
    with neighbours(options.neighbours):
        figures[options.figure](options)


if __name__ == "__main__":
    main()
