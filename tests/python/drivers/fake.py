#!/usr/bin/env python3
"""A driver on a simulated machine, for tests: it computes its times and never waits.

Every task takes OVERHEAD seconds and 64 ns an iteration; METG(50 %) is therefore twice the overhead.

    fake.py [OVERHEAD [NOISE [FAULT]]]

Without arguments it is the reference. NOISE is the relative spread of a repeat. FAULT is `PATTERN=KIND`:
graphs of this pattern end in an error of this kind, or in a crash. The file that FAKE_JOURNAL names gets a
line for every run before it is answered.
"""

import json
import os
import random
import signal
import sys

FLOP = 128.0
ITERATION_SECONDS = 64e-9
CORES = [int(core) for core in os.environ["TASKGRAIN_CORES"].split(",")]
OVERHEAD = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
NOISE = float(sys.argv[2]) if len(sys.argv) > 2 else 0.01
FAULT, _, KIND = (sys.argv[3] if len(sys.argv) > 3 else "").partition("=")
JOURNAL = os.environ.get("FAKE_JOURNAL")
DICE = random.Random(repr(OVERHEAD))


def answer(**fields: object) -> None:
    print("@taskgrain " + json.dumps(fields), flush=True)


def noisy(value: float) -> float:
    return value * (1.0 + NOISE * abs(DICE.gauss(0.0, 1.0)))


def tasks_of(graph: dict) -> int:
    """The tasks of a pattern whose steps are all as wide as the graph, of the tree, or of a file."""
    if graph["pattern"] == "dag":
        with open(graph["dag"], encoding="utf-8") as file:
            return sum(step["width"] for step in json.load(file)["steps"])
    steps, width = graph["steps"], graph["width"]
    if graph["pattern"] != "tree":
        return steps * width
    return sum(min(width, 2**step) for step in range(min(steps, 64))) + width * max(0, steps - 64)


def run(request: dict) -> None:
    graphs = request["graphs"]
    if graphs[0]["pattern"] == FAULT:
        if KIND == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        message = f"pattern: {FAULT} is not allowed; allowed: others"
        answer(event="error", id=request["id"], kind=KIND, message=message)
        return
    tasks = sum(map(tasks_of, graphs))
    iterations = graphs[0]["kernel"]["iterations"]
    seconds = tasks * (OVERHEAD + iterations * ITERATION_SECONDS) / len(CORES)
    work = tasks * iterations * FLOP
    if JOURNAL:
        with open(JOURNAL, "a", encoding="ascii") as journal:
            journal.write(f"{OVERHEAD} {graphs[0]['pattern']} {iterations} {graphs[0]['steps']}\n")
    fault = request.get("fault")  # costs as much as the whole run, and three tasks more
    strikes = fault["times"] if fault and fault["kind"] != "note" else 0
    if fault:
        with open(fault["file"], "wb") as books:
            books.write(strikes.to_bytes(8, "little"))
    answer(
        event="result",
        id=request["id"],
        seconds=[noisy(2 * seconds if fault else seconds) for _ in range(request["repeats"])],
        prepare_seconds=[],
        tasks=tasks,
        executed=tasks + 3 if fault else tasks,
        **({"strikes": strikes} if fault else {}),
        dependencies=3 * tasks,
        flops=work,
        bytes=0.0,
        work=work,
        work_unit="flop",
        binding=[[core] for core in CORES],
        peak_rss_bytes=2**20,
    )


for line in sys.stdin:
    request = json.loads(line)
    match request["op"]:
        case "hello":
            binding = [[core] for core in CORES]
            fields = {"system": "fake", "version": "1", "nodes": 1, "cores": len(CORES)}
            answer(event="ready", protocol=1, binding=binding, **fields)
        case "run":
            run(request)
        case "peak":
            rates = [FLOP / noisy(ITERATION_SECONDS) for _ in CORES]
            answer(event="peak", id=request["id"], rates=rates, work_unit="flop")
        case "quit":
            break
