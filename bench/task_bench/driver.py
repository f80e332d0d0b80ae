"""A program of Task Bench as a driver of the ruler: `driver.py COMMAND`, a process for each repeat.

`$TASK_BENCH` in words and in the environment is the folder of a built Task Bench. The program prints the time
of a repeat, so its start does not count; nothing warms it up. `TASK_BENCH_SERVICE` is what must run beside
it, such as a scheduler.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from taskgrain._core import Run

FLOP_PER_ITERATION = 128
CORES = [int(core) for core in os.environ["TASKGRAIN_CORES"].split(",")]


class Unsupported(Exception):
    """Task Bench has no such graph, or another one under this name."""


def prepared() -> tuple[list[str], dict[str, str]]:
    """Command and environment. Starts the service, if there is one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        os.environ["PORT"] = str(free.getsockname()[1])
    # The programs in Python are those of this environment.
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {name: os.path.expandvars(value) for name, value in os.environ.items()}
    if service := env.get("TASK_BENCH_SERVICE"):
        subprocess.Popen(["sh", "-c", service], env=env, stdout=sys.stderr)
    return [os.path.expandvars(word) for word in sys.argv[1:]], env


def words_of(graph: dict[str, Any]) -> list[str]:
    kernel = graph["kernel"]
    if kernel["name"] not in ("empty", "compute_bound") or graph.get("seed", 0):
        raise Unsupported("Task Bench is asked for the kernels empty and compute_bound and the seed 0 alone")
    names = ("steps", "width", "radix", "period", "fraction")
    flags = {"type": graph["pattern"], "output": graph.get("output_bytes", 16)}
    flags |= {name: graph[name] for name in names if graph.get(name)}
    flags |= {"kernel": kernel["name"], "iter": kernel.get("iterations", 0)}
    return [word for name, value in flags.items() for word in (f"-{name}", str(value))]


def seconds_of(command: list[str], env: dict[str, str]) -> float:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = re.search(r"^Elapsed Time ([0-9.e+-]+)", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError((done.stderr or done.stdout).strip()[-200:])
    return float(found.group(1))


def result(request: dict[str, Any], command: list[str], env: dict[str, str]) -> dict[str, Any]:
    graphs = request["graphs"]
    given = [word for graph in graphs for word in ("-and", *words_of(graph))]
    seconds = [seconds_of([*command, *given[1:]], env) for _ in range(request["repeats"])]
    run = Run(json.dumps(request))
    counts = [run.stats(g) for g in range(run.graphs)]
    iterations = [one["kernel"].get("iterations", 0) for one in graphs]
    work = sum(FLOP_PER_ITERATION * n * one["tasks"] for n, one in zip(iterations, counts, strict=True))
    return {
        "event": "result", "id": request["id"], "seconds": seconds, "tasks": run.tasks, "executed": run.tasks,
        "dependencies": sum(one["dependences"] for one in counts), "work": float(work), "work_unit": "flop",
    }  # fmt: skip


def main() -> None:
    command, env = prepared()
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "quit":
            break
        if request["op"] == "hello":
            answer = {"event": "ready", "protocol": 1, "system": "task_bench", "version": "", "nodes": 1}
            answer |= {"cores": len(CORES), "binding": [CORES] * len(CORES)}
        else:
            try:
                answer = result(request, command, env)
            except (Unsupported, RuntimeError, OSError) as error:
                kind = "unsupported" if isinstance(error, Unsupported) else "system"
                answer = {"event": "error", "id": request["id"], "kind": kind, "message": str(error)}
        print("@taskgrain " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
