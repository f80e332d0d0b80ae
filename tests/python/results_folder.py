"""Synthetic results folders (docs/reference/results.md) for tests: nothing is measured."""

import json
import math
import random
import zlib
from collections.abc import Collection, Mapping, Sequence
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

SCRIPT = "</script></pre><script>alert('\u2028owned')</script><img src=x onerror=alert(1)>\"'{{ 7 * 7 }}"


def cell_name(system: str, pattern: str, width: int = 16) -> str:
    return f"{system}/{pattern}/width={width}"


def cell_line(system: str, pattern: str, width: int = 16) -> Line:
    kind, _, radix = pattern.partition("/radix=")
    command = f"taskgrain metg --system {system} --pattern {kind} --width {width}"
    return {
        "schema": 1, "kind": "cell", "time": 1.7e9, "cell": cell_name(system, pattern, width),
        "system": system, "pattern": kind, "width": width, "radix": int(radix or 3), "graphs": 1,
        "output_bytes": 16, "kernel": "compute_bound", "steps": 4000, "cores": 2, "threshold": 0.5,
        "command": command, "driver": {"event": "ready", "system": system},
    }  # fmt: skip


TASKS, CORES, PEAK, WORK = 64_000, 2, 6.4e10, 128
"""The tasks of every run; its cores; the peak per core; the work of an iteration."""


REFERENCE: Line = {
    "schema": 1, "kind": "reference", "time": 1.7e9, "kernel": "compute_bound", "rates": [PEAK] * CORES,
    "work_unit": "flop",
}  # fmt: skip


def run_line(
    cell: str, iterations: int = 128, granularity: float = 3.2e-7, phase: str = "measure", repeats: int = 2
) -> Line:
    """Repeats around `granularity`, scattered by a few per cent."""
    noise = random.Random(zlib.crc32(f"{cell} {iterations} {granularity}".encode()))
    seconds = granularity * TASKS / CORES
    return {
        "schema": 1, "kind": "run", "time": 1.7e9 + noise.random(), "cell": cell, "phase": phase, "round": 1,
        "iterations": iterations, "steps": 4000,
        "seconds": [round(seconds * math.exp(noise.gauss(0, 0.03)), 9) for _ in range(repeats)],
        "prepare_seconds": [round(noise.random() * 1e-5, 9)], "tasks": TASKS, "dependencies": 3 * TASKS,
        "work": iterations * WORK * TASKS, "work_unit": "flop", "cores": CORES, "peak_rss_bytes": 7446528,
        "binding": [[0], [1]], "busy": round(noise.random() / 50, 4),
        "elapsed": round(noise.random() * 99, 6),
    }  # fmt: skip


def run_lines(ended: Line, rounds: int, repeats: int = 2) -> list[Line]:
    """The runs behind a `metg` line."""
    curve = ended["curve"]
    assert isinstance(curve, list)
    cell = str(ended["cell"])
    noise = random.Random(zlib.crc32(cell.encode()))
    return [
        run_line(
            cell, point["iterations"], point["granularity"] * math.exp(noise.gauss(0, 0.01)), repeats=repeats
        )
        for _ in range(rounds)
        for point in curve
    ]


def metg_line(cell: str, metg: float, ending: str = "precise", warnings: Sequence[Line] = ()) -> Line:
    """An ideal runtime with a fixed overhead a task: efficiency is 1 - overhead / granularity."""
    noise = random.Random(zlib.crc32(cell.encode()))
    overhead, spread = metg / 2, 0.02 if ending == "precise" else 0.15
    curve = []
    for power in range(-1, 9):
        work = overhead * 2.0**power
        granularity = (overhead + work) * math.exp(noise.gauss(0, 0.01))
        efficiency = work / granularity * (0.45 if ending == "never_reached" else 1.0)
        curve.append({
            "iterations": max(1, round(work * PEAK / WORK)), "granularity": granularity,
            "granularity_low": granularity * (1 - spread), "granularity_high": granularity * (1 + spread),
            "efficiency": efficiency, "efficiency_low": efficiency * (1 - spread),
            "efficiency_high": efficiency * (1 + spread), "repeats": noise.randint(5, 30),
        })  # fmt: skip
    number = metg if ending in ("precise", "budget") else None
    low, high = metg * (1 - spread), metg * (1 + spread)
    least = curve[-1]["granularity"] if ending == "never_reached" else None
    return {
        "schema": 1, "kind": "metg", "time": 1.7e9, "cell": cell, "ending": ending, "threshold": 0.5,
        "metg": number, "low": low if number else least,
        "high": high if number or ending == "always_reached" else None,
        "iterations": overhead * PEAK / WORK if number else None,
        "floor": overhead * 0.9, "floor_low": overhead * 0.88, "floor_high": overhead * 0.93,
        "rounds": noise.randint(4, 40),
        "peak_rate": PEAK, "curve": curve, "warnings": list(warnings),
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
    (folder / "study.toml").write_text('title = "example study"\nthreshold = 0.5\n', "utf-8")
    return folder


def change(folder: Path, fields: Mapping[str, object], **of: Collection[object]) -> Path:
    """Gives other fields to the whole lines of, for example, `kind=["cell"]` or `system=["mpi"]`."""
    file = folder / "runs.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    lines = [one | (fields if all(one.get(key) in of[key] for key in of) else {}) for one in lines]
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return folder


def big(
    folder: Path,
    systems: Sequence[str] = SYSTEMS,
    patterns: Sequence[str] = PATTERNS,
    rounds: int = 1,
    repeats: int = 2,
) -> Path:
    """Every system on every pattern, 12 ns to 10 ms, with every ending, failures, and a torn last line."""
    lines: list[Line] = []
    for i, system in enumerate(systems):
        for j, pattern in enumerate(patterns):
            cell = cell_name(system, pattern)
            noise = random.Random(zlib.crc32(cell.encode()))
            slower = 1e6 ** (i / max(1, len(systems) - 1)) * (1 + j / 2)
            metg = 1.2e-8 * slower * math.exp(noise.gauss(0, 0.4))
            ended = metg_line(cell, metg)
            lines += [cell_line(system, pattern), *run_lines(ended, rounds, repeats)]
            match (i * len(patterns) + j) % 23:
                case 5:
                    busy = {"code": "machine_busy", "share": 0.12}
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
                    lines.append(ended)
    return write(folder, lines, tail=b'{"schema":1,"kind":"run","ce')


def _evil(value: object) -> object:
    """The same with a script in every text, also in the names of unknown fields."""
    if isinstance(value, str):
        return value + SCRIPT
    if isinstance(value, dict):
        return {key: _evil(one) for key, one in value.items()} | {SCRIPT: SCRIPT}
    if isinstance(value, list):
        return [_evil(one) for one in value]
    return value


EVIL = "<img src=x onerror=alert(1)>\"'"
"""Before the name of a system, which holds no slash."""


def hostile(folder: Path) -> Path:
    """Results, failures, machine and study with a script in every text."""
    cell = cell_name("mpi", "stencil_1d")
    lines = []
    for line in [
        cell_line("mpi", "stencil_1d"),
        run_line(cell),
        failure_line(cell),
        metg_line(cell, 1e-6, warnings=[{"code": "careful"}]),
        cell_line("ray", "fft"),
        metg_line("ray/fft/width=16", 1e-3, "failed"),
        failure_line("ray/fft/width=16"),
        REFERENCE,
        cell_line("dask", "fft"),
        metg_line("dask/fft/width=16", 1e-4, "unheard-of"),
    ]:
        evil = _evil(line)
        assert isinstance(evil, dict)
        if "cell" in evil:
            evil["cell"] = f"{EVIL}{evil['cell']}"
        known = ("kind", "ending") if line.get("ending") != "unheard-of" else ("kind",)
        lines.append(evil | {key: line[key] for key in known if key in line})
    write(folder, lines, machine=_evil(MACHINE))
    (folder / "study.toml").write_text(f"title = '''{SCRIPT}'''\nisa = '''{SCRIPT}'''", "utf-8")
    return folder


def of_radices(folder: Path, radices: Sequence[int] = (1, 3, 5, 9)) -> Path:
    """Two systems on `nearest` with every radix, one of them never reached, and on another pattern."""
    lines = [REFERENCE]
    for system, cost in (("limit", 1e-8), ("mpi", 4e-8)):
        for radix in radices:
            pattern = f"nearest/radix={radix}"
            cell = cell_name(system, pattern)
            ending = "never_reached" if (system, radix) == ("mpi", 5) else "precise"
            lines.append(cell_line(system, pattern))
            lines.append(metg_line(cell, cost * (2 + radix), ending))
        cell = cell_name(system, "stencil_1d")
        lines += [cell_line(system, "stencil_1d"), run_line(cell), metg_line(cell, cost * 5)]
    return write(folder, lines)
