"""Predicts METG on hosts by a simulation, measures it there, and prints both with the error.

    python bench/simulated.py [--budget SECONDS] [--cases memory,hosts,1gbit] [--system mpi]

The cases are two ranks of one host, which send through memory; two hosts of tools/hosts with one core each;
and these with a link of 1 Gbit/s. The driver of `mpi` itself is the ping-pong: stencil_1d of two points, one
for each rank, is an exchange in each step. Tasks of no work give

    a task, and a byte of its output      of no_comm at 16 B and at 64 KiB,
    a message, and a byte, at both ends   of 16 and 4 graphs of stencil_1d at 16 B and at 64 KiB, which hide
                                          their ways; of large ones on a slow link, the link's,
    latency and bandwidth                 of what is left of stencil_1d at 16 B and at 64 KiB.

A platform of these numbers then predicts METG of other graphs: stencil_1d and nearest with four points for
each rank. Each case prints what was fitted, as JSON, a table, and the factor within which predictions were.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from arguments import names, positive

from taskgrain.drive import catalogue
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

ROOT = Path(__file__).resolve().parent.parent
CASES = {"memory": [], "hosts": ["2", "--cores", "1"], "1gbit": ["2", "--cores", "1", "--rate", "1gbit"]}
SMALL, LARGE = 16, 65536
GRAPHS = [["--pattern", "stencil_1d"], ["--pattern", "nearest", "--radix", "5"]]
_STEPS, _REPEATS = {"no_comm": (50, 250), "stencil_1d": (10, 30)}, 300
"""The steps and repeats of fitted runs: the longer one has more steps, and the same start and end. The
quickest repeat counts, as others may use the cores, and a short one falls between."""
_GRAPHS, _HEADER = {SMALL: 16, LARGE: 4}, 16
"""Graphs that hide the way of a message, and bytes that a message has besides."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=positive, default=60.0, help="seconds of each measured METG")
    parser.add_argument("--cases", type=names(CASES), default=list(CASES), help=f"of {','.join(CASES)}")
    parser.add_argument("--system", default="mpi", help="what is measured: mpi or mpi.mpich")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # on the hosts of a case
    asked = parser.parse_args()
    if asked.here:
        return compare(asked.cases[0], asked.system, asked.budget)
    words = ["--here", "--budget", str(asked.budget), "--system", asked.system]
    codes = []
    for case in asked.cases:
        hosts = [sys.executable, str(ROOT / "tools" / "hosts"), *CASES[case], "--"] if CASES[case] else []
        command = [*hosts, sys.executable, str(Path(__file__).resolve()), *words, "--cases", case]
        codes.append(subprocess.run(command, check=False).returncode)
    return max(codes)


def compare(case: str, system: str, budget: float) -> int:
    """Fits, predicts and measures on the hosts that there are."""
    place = ["--nodes", "2", "--cores", "1"] if CASES[case] else ["--cores", "2"]
    real = ["--system", system]
    if there := os.environ.get("TASKGRAIN_HOSTS"):
        real += ["--hosts", there]
    fitted = fit(real, place, "--rate" in CASES[case])
    print(f"{case}: {json.dumps(fitted)}", flush=True)
    print(f"{'workload':28} {'predicted':>12} {'measured':>26} {'predicted / measured':>21}", flush=True)
    errors = []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:  # which the hosts share
        platform(Path(folder) / "fitted", fitted)
        for graph in GRAPHS:
            for size in (SMALL, LARGE):
                words = [*graph, "--tasks-per-core", "4", "--output-bytes", str(size), *place]
                own = ["--systems", f"{folder}/fitted", "--system", "fitted"]
                predicted = metg([*own, *words]).get("metg")
                found = metg([*real, "--budget", f"{budget:g}", *words])
                shown = quantity.interval(Interval(found["metg"], found["low"], found["high"]))
                both = bool(predicted and found["metg"])
                errors += [predicted / found["metg"]] if both else []
                ratio = f"{errors[-1]:.2f}" if both else quantity.NOTHING
                name = f"{' '.join(graph[1::2])}, {size} B"
                print(f"{name:28} {quantity.seconds(predicted):>12} {shown:>26} {ratio:>21}", flush=True)
    if errors:
        factor = max(max(one, 1.0 / one) for one in errors)
        known = f"{len(errors)} of {2 * len(GRAPHS)} are"
        print(f"{case}: {known} within a factor of {math.ceil(10.0 * factor) / 10.0:.1f}\n", flush=True)
    return 0 if len(errors) == 2 * len(GRAPHS) else 1


def fit(system: list[str], place: list[str], limited: bool) -> dict[str, float]:
    """The seconds of a task, a byte, a message and its way; `system` are the options that name it, and
    `limited` says that a link is slower than the cores."""

    def step(pattern: str, size: int, graphs: int = 1) -> float:
        words = [*system, "--pattern", pattern, "--tasks-per-core", "1", *place]
        words += ["--output-bytes", str(size), "--graphs", str(graphs), "--kernel", "empty"]
        words += ["--repeats", str(_REPEATS), "--steps"]
        few, many = (min(taskgrain("run", [*words, str(n)])["runs"][0]["seconds"]) for n in _STEPS[pattern])
        return float(many - few) / (_STEPS[pattern][1] - _STEPS[pattern][0]) / graphs

    task, large = step("no_comm", SMALL), step("no_comm", LARGE)
    once, often = (
        {size: step("stencil_1d", size, n[size]) for size in n} for n in (dict.fromkeys(_GRAPHS, 1), _GRAPHS)
    )
    return {"task_seconds": task, "byte_seconds": max(large - task, 0.0) / (LARGE - SMALL)} | message(
        once[SMALL] - task, often[SMALL] - task, once[LARGE] - large, often[LARGE] - large, limited
    )


def message(once: float, often: float, large: float, large_often: float, limited: bool) -> dict[str, float]:
    """The time of a message, from a small and a large one: seconds beside the task of a step that waits for
    one, and of each of those that hide each other's ways. Large ones wait for the link if it is `limited`."""
    ends = min(max(often, 0.0), once)
    latency = once - ends
    rest, seen = large - once, min(large_often, large - once)
    link, bytes_ = (seen, rest - seen) if limited else (rest - seen + ends, seen - ends)
    link, bytes_ = max(link, 0.0), max(bytes_, 0.0)
    return {
        "message_seconds": ends, "message_byte_seconds": bytes_ / LARGE, "latency": latency,
        "bandwidth": (LARGE + _HEADER) / link if link > 0.0 else 1e12,
    }  # fmt: skip


def platform(folder: Path, fitted: dict[str, float]) -> None:
    """Writes a system that simulates two nodes whose numbers these are."""
    own = catalogue.discover()["mpi_simulated"]
    described = ElementTree.parse(own.folder / "networks.xml")
    nodes = described.find("cluster")
    assert nodes is not None
    bandwidth = f"{fitted['bandwidth']}Bps"
    both = fitted["message_seconds"], fitted["message_byte_seconds"]
    one = f"0:{both[0] / 2.0}:{both[1] / 2.0}"
    nodes.attrib |= {"loopback_bw": bandwidth, "loopback_lat": f"{fitted['latency']}s"}
    values: dict[str, object] = {
        "task_seconds": fitted["task_seconds"],
        "byte_seconds": fitted["byte_seconds"],
    }
    values |= {"smpi/ois": f"{one};{LARGE - 1}:{both[0]}:{both[1]}", "smpi/or": one}
    for prop in nodes.iter("prop"):
        prop.set("value", str(values[str(prop.get("id"))]))
    link = {"name": "fitted", "radical": "0-1", "bw": bandwidth, "lat": f"{fitted['latency'] / 2.0}s"}
    ElementTree.SubElement(described.getroot(), "network", link)
    folder.mkdir()
    described.write(folder / "networks.xml")
    simulate, rate, driver = (str(own.folder / name) for name in ("simulate.py", "given_rate.py", "driver"))
    command = ["{python}", simulate, "{dir}/networks.xml", "fitted", driver, "{nodes}", "{cores}"]
    reference = ["{python}", rate, "{dir}/networks.xml", "{nodes}", "{cores}"]
    lines = ["simulated = true", "distributed = true", 'network = "MPI"', "[limits]", "nodes = 2", "[launch]"]
    lines += ["fresh = false", "patience = 10", f"command = {json.dumps(command)}"]
    lines += [f"reference = {json.dumps(reference)}", ""]
    (folder / "system.toml").write_text("\n".join(lines))


def metg(words: list[str]) -> dict[str, Any]:
    (cell,) = taskgrain("metg", [*words, "--quiet"])["cells"]
    return dict(cell)


def taskgrain(command: str, words: list[str]) -> dict[str, Any]:
    """The JSON that a command prints."""
    whole = [sys.executable, "-m", "taskgrain", command, *words, "--json"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(whole)}: {done.stderr or done.stdout}")
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
