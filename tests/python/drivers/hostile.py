"""A driver that misbehaves as its first argument says; with `good`, one that does not.

    hostile.py MODE [GOOD]

The first GOOD runs are answered properly, as by a system with an overhead of 1 µs a task. The file that
HOSTILE_JOURNAL names is written when the first one begins that is not.
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

MODE = sys.argv[1]
GOOD = int(sys.argv[2]) if len(sys.argv) > 2 else 0
JOURNAL = os.environ.get("HOSTILE_JOURNAL")
runs = 0
CORES = [int(core) for core in os.environ["TASKGRAIN_CORES"].split(",")]
Path(tempfile.mkdtemp(), "left").touch()


def answer(**fields: object) -> None:
    sys.stdout.write("@taskgrain " + json.dumps(fields) + "\n")
    sys.stdout.flush()


def child() -> None:
    """A grandchild in a session of its own that ignores every signal it can."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            sys.stdin.close()
            while True:
                if MODE != "spinning":
                    time.sleep(60)
        os._exit(0)
    os.wait()


def hello() -> None:
    fields = {"event": "ready", "protocol": 1, "system": "hostile", "version": "1", "nodes": 1}
    fields["cores"] = len(CORES)
    fields["binding"] = [[core] for core in CORES]
    match MODE:
        case "protocol2":
            fields["protocol"] = 2
        case "fewer_cores":
            fields |= {"cores": 1, "version": "OpenMP 4.5"}
        case "more_cores":
            fields["cores"] += 1
        case "foreign_mpirun":
            fields |= {"cores": 1, "binding": [CORES[:1]], "library": "Open MPI v4.1.4"}
        case "more_nodes":
            fields["nodes"] = 2
        case "lost_worker":
            fields["binding"][-1] = []
        case "no_worker":
            fields["binding"] = [[] for _ in CORES]
    answer(**fields)


def eat() -> None:
    """Takes and touches memory, but no more than a test machine can bear, and waits for what comes of it."""
    held = []
    while len(held) < 24:
        held.append(b"x" * 2**25)
        time.sleep(0.04)
    time.sleep(1000)


def run(request: dict) -> None:
    global runs
    runs += 1
    graph = request["graphs"][0]
    iterations = graph.get("kernel", {}).get("iterations", 0)
    tasks = sum(graph["steps"] * graph["width"] for graph in request["graphs"])
    seconds = tasks * (1e-6 + iterations * 64e-9) / len(CORES) if "kernel" in graph else 1e-6
    fields = {"event": "result", "id": request["id"], "seconds": [seconds] * request["repeats"]}
    fields["prepare_seconds"] = []
    fields |= {"tasks": tasks, "executed": tasks, "dependencies": 0, "flops": 1.0, "bytes": 0.0, "work": 1.0}
    fields |= {"work_unit": "flop", "binding": [[core] for core in CORES], "peak_rss_bytes": 1}
    if "kernel" in graph:
        fields["work"] = tasks * iterations * 128.0
    if runs <= GOOD:
        answer(**fields)
        return
    os.write(2, f"last words of {MODE}\n".encode())
    if JOURNAL:
        Path(JOURNAL).write_text(MODE)
    match MODE:
        case "hangs":
            time.sleep(1000)
        case "stops_harness":
            harness = int(os.environ["HARNESS"])
            os.kill(harness, signal.SIGSTOP)
            time.sleep(3.0)
            answer(**fields)
            os.kill(harness, signal.SIGCONT)
            return
        case "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exits":
            sys.exit(3)
        case "rubbish":
            sys.stdout.write("@taskgrain {]\n")
            sys.stdout.flush()
            return
        case "gigabytes":
            block = b"\xff" * 2**20
            for _ in range(1024):
                os.write(1, block)
            os.write(1, b"\n")
        case "endless":
            block = b"spam\n" * 2**14
            while True:
                os.write(1, block)
        case "answers":
            line = b'@taskgrain {"event":"result","id":0}\n' * 1000
            while True:
                os.write(1, line)
        case "long":
            os.write(1, b"@taskgrain ")
            while True:
                os.write(1, b"x" * 2**16)
        case "eats":
            eat()
        case "child_eats":
            if os.fork() == 0:
                eat()
            time.sleep(1000)
        case "more_tasks":
            fields["tasks"] = fields["executed"] = 1000 * tasks
        case "too_fast":
            fields["seconds"] = [1e-9] * request["repeats"]
        case "escapes":
            message = "\x1b[2J\x1b]0;owned\x07 \ud800 gone"
            os.write(2, b"\x1b[2Jlast words of escapes\x1b[31m\n")
            answer(event="error", id=request["id"], kind="system", message=message)
            return
        case "outside":
            fields["binding"] = [[core + 100] for core in CORES]
        case "smaller_team":
            fields["cores"] = len(CORES) - 1
        case "larger_team":
            fields["cores"] = len(CORES) + 1
        case "lost_in_run":
            fields["binding"][-1] = []
        case "overlap":
            fields["binding"] = [[CORES[0]], [CORES[0]]]
        case "closes_stdout":
            os.close(1)
            time.sleep(1000)
        case "violation":
            place = {"kind": "early", "graph": 0, "step": 12, "point": 3}
            answer(event="error", id=request["id"], kind="validation", message="too early", violation=place)
            return
        case "unsupported":
            answer(event="error", id=request["id"], kind=MODE, message=f"{MODE}\nit is")
            return
        case "noisy":
            os.write(2, b"on stderr\n")
            os.write(1, b"on stdout\n@taskgrainless\n  @taskgrain {}\n")
    answer(**fields)


if MODE == "exits_at_once":
    print("no licence found", file=sys.stderr)
    sys.exit(7)
if MODE == "hangs_at_start":
    time.sleep(1000)
if MODE in ("children", "spinning"):
    child()
if MODE == "ignores_quit":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

while True:
    line = sys.stdin.readline()
    if not line:
        if MODE in ("ignores_quit", "children", "spinning"):
            time.sleep(1000)
        break
    request = json.loads(line)
    match request["op"]:
        case "hello":
            hello()
        case "run":
            run(request)
        case "peak":
            answer(event="peak", id=request["id"], rates=[1e9] * len(CORES), work_unit="flop")
        case "quit" if MODE != "ignores_quit":
            break
        case "quit":
            os.write(2, b"asked to quit\n")
