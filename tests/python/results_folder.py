"""Synthetic results folders (docs/reference/results.md) for the tests of the report: nothing is measured."""

from __future__ import annotations

import json
import math
import random
import zlib
from collections.abc import Sequence
from pathlib import Path

SYSTEMS = (
    "limit", "rt_compiled", "rt_ptg", "mpi", "mpi_rma", "openmp_for", "openmp_task", "starpu", "parsec_dtd",
    "parsec_ptg", "charm", "hpx_local", "hpx_distributed", "taskflow", "tbb", "regent", "legion_cpp",
    "chapel", "dask", "ray",
)  # fmt: skip
PATTERNS = (
    "trivial",
    "no_comm",
    "stencil_1d",
    "stencil_1d_periodic",
    "dom",
    "fft",
    "nearest/radix=5",
    "all_to_all",
)

MACHINE = {
    "cpu": {"model": "Example CPU 9000 @ 2.00GHz", "cores": 2, "sockets": 1, "smt": 1, "l1d_bytes": 32768},
    "kernel": "Linux 6.1.0",
    "compiler": {"name": "g++ 12.2.0", "flags": ["-O3", "-march=native"]},
    "commit": "0123456789abcdef",
}

Line = dict[str, object]


def cell_name(system: str, pattern: str, width: int = 16) -> str:
    return f"{system}/{pattern}/width={width}"


def cell_line(system: str, pattern: str, width: int = 16) -> Line:
    kind = pattern.partition("/")[0]
    command = f"taskgrain metg --system {system} --pattern {kind} --width {width} --threshold 50"
    return {
        "schema": 1, "kind": "cell", "time": 1.7e9, "cell": cell_name(system, pattern, width),
        "system": system, "pattern": kind, "width": width, "radix": 3, "graphs": 1, "output_bytes": 16,
        "kernel": "compute_bound", "steps": 4000, "cores": 2, "threshold": 0.5, "command": command,
        "driver": {"event": "ready", "system": system},
    }  # fmt: skip


def run_line(cell: str, iterations: int = 128) -> Line:
    return {
        "schema": 1, "kind": "run", "time": 1.7e9, "cell": cell, "phase": "measure", "round": 1,
        "iterations": iterations, "steps": 4000, "seconds": [0.01, 0.011], "tasks": 64000, "work": 1e9,
        "work_unit": "flop", "cores": 2, "busy": 0.0,
    }  # fmt: skip


def metg_line(cell: str, metg: float, ending: str = "precise", warnings: Sequence[str] = ()) -> Line:
    """An ideal runtime with a fixed overhead a task: efficiency is 1 - overhead / granularity."""
    noise = random.Random(zlib.crc32(cell.encode()))
    overhead, spread = metg / 2, 0.02 if ending == "precise" else 0.15
    curve = []
    for power in range(-1, 9):
        work = overhead * 2.0**power
        granularity = (overhead + work) * math.exp(noise.gauss(0, 0.01))
        efficiency = work / granularity * (0.45 if ending == "never_reached" else 1.0)
        curve.append({
            "iterations": round(work / 2e-9, 3), "granularity": granularity,
            "granularity_low": granularity * (1 - spread), "granularity_high": granularity * (1 + spread),
            "efficiency": efficiency, "efficiency_low": efficiency * (1 - spread),
            "efficiency_high": efficiency * (1 + spread), "repeats": noise.randint(5, 30),
        })  # fmt: skip
    number = metg if ending in ("precise", "budget") else None
    low, high = metg * (1 - spread), metg * (1 + spread)
    return {
        "schema": 1, "kind": "metg", "time": 1.7e9, "cell": cell, "ending": ending, "threshold": 0.5,
        "metg": number, "low": low if number else None,
        "high": high if number or ending == "always_reached" else None, "iterations": 23.4,
        "floor": overhead * 0.9, "floor_low": overhead * 0.88, "floor_high": overhead * 0.93,
        "rounds": noise.randint(4, 40),
        "peak_rate": 6.4e10, "curve": curve, "warnings": list(warnings),
    }  # fmt: skip


def failure_line(cell: str, error: str = "crash", message: str = "", log: str = "") -> Line:
    return {
        "schema": 1, "kind": "failure", "time": 1.7e9, "cell": cell, "error": error,
        "message": message or "the driver ended with signal 11", "log": log or "rank 1: Segmentation fault\n",
    }  # fmt: skip


def write(folder: Path, lines: Sequence[Line], machine: object = MACHINE, tail: bytes = b"") -> Path:
    """Writes the lines; `tail` is put behind them as it is (a torn line)."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "runs.jsonl").write_bytes(text.encode() + tail)
    (folder / "machine.json").write_text(json.dumps(machine), "utf-8")
    (folder / "study.toml").write_text('name = "example study"\nthreshold = 0.5\n', "utf-8")
    return folder


def big(folder: Path, systems: Sequence[str] = SYSTEMS, patterns: Sequence[str] = PATTERNS) -> Path:
    """Every system on every pattern, 12 ns to 10 ms, with every ending, failures, and a torn last line."""
    lines: list[Line] = []
    for i, system in enumerate(systems):
        for j, pattern in enumerate(patterns):
            cell = cell_name(system, pattern)
            noise = random.Random(zlib.crc32(cell.encode()))
            slower = 1e6 ** (i / max(1, len(systems) - 1)) * (1 + j / 2)
            metg = 1.2e-8 * slower * math.exp(noise.gauss(0, 0.4))
            lines += [cell_line(system, pattern), run_line(cell)]
            match (i * len(patterns) + j) % 23:
                case 5:
                    busy = "the machine was busy: 12 % of the cores' time"
                    lines.append(metg_line(cell, metg, "budget", [busy]))
                case 11:
                    lines.append(metg_line(cell, metg, "never_reached"))
                case 13:
                    lines.append(failure_line(cell, log="".join(f"line {n} of the log\n" for n in range(30))))
                    lines.append(metg_line(cell, metg, "failed") | {"curve": [], "floor": None})
                case 17:
                    lines.append(metg_line(cell, metg, "several_crossings"))
                case 18:
                    lines.append(metg_line(cell, metg, "always_reached"))
                case 19:
                    pass  # unfinished
                case _:
                    lines.append(metg_line(cell, metg))
    return write(folder, lines, tail=b'{"schema":1,"kind":"run","ce')
