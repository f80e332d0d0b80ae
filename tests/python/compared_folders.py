"""Results folders of simulated sessions, for tests of comparisons: nothing is measured."""

import json
import random
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]

SIZES = (25, 50, 71, 100, 141, 200, 400)
TAU, WORK, CORES, STEPS, WIDTH = 1e-9, 128.0, 2, 1000, 4
PEAK = WORK / TAU
MACHINE = {
    "cpu": {
        "model": "Example CPU 9000", "architecture": "x86_64", "sockets": 1, "physical_cores": 2,
        "smt": False, "caches": [], "frequency": {"governor": "performance"},
    },
    "kernel": "6.1.0", "memory": {"bytes": 2**34},
}  # fmt: skip
STUDY = 'validate = "sample"\nisa = "auto"\nexperiment = "metg"\n'
DAY = 86400.0


def session(name: str, time: float, builds: Mapping[str, str], **changes: Any) -> Line:
    """`builds` of the systems; the reference is always the same unless the changes say otherwise."""
    reference = changes.pop("reference", "feed0000feed0000")
    both = {**builds, "taskgrain-reference": reference}
    return {
        "schema": 1, "kind": "session", "time": time, "session": name, "machine": "abcd1234", "boot": "b",
        "cores": [0, 1], "systems": [{"name": key, "build": build} for key, build in both.items()],
    } | changes  # fmt: skip


def cell(system: str, pattern: str, time: float, **changes: Any) -> Line:
    return {
        "schema": 1, "kind": "cell", "time": time, "cell": f"{system}/{pattern}/width=4", "system": system,
        "pattern": pattern, "width": 4, "kernel": "compute_bound", "steps": 0, "threshold": 0.5,
        "cores": CORES, "reference": "taskgrain-reference",
    } | changes  # fmt: skip


def runs(
    system: str,
    pattern: str,
    overhead: float,
    *,
    rounds: Sequence[int] = range(10),
    noise: float = 0.01,
    time: float = 0.0,
    seed: object = 0,
    clock: float = 1.0,
) -> list[Line]:
    """Rounds of all sizes and of the empty kernel, of a system with so much overhead a task. The reference is
    measured before each."""
    dice = random.Random(zlib.crc32(f"{system} {pattern} {seed}".encode()))
    found: list[Line] = []
    for number in rounds:
        found.append({
            "schema": 1, "kind": "reference", "time": time + number, "program": "taskgrain-reference",
            "kernel": "compute_bound", "scratch_bytes": 0, "samples": 16, "nodes": 1, "asked_cores": 0,
            "rates": [clock * PEAK] * CORES, "work_unit": "flop", "busy": 0.0,
        })  # fmt: skip
        for size in (*SIZES, 0):
            tasks = STEPS * WIDTH
            seconds = tasks * (overhead + size * TAU) / CORES * (1.0 + noise * dice.gauss(0.0, 1.0)) / clock
            found.append({
                "schema": 1, "kind": "run", "time": time + number, "cell": f"{system}/{pattern}/width=4",
                "phase": "measure" if size else "floor", "round": number, "iterations": size, "steps": STEPS,
                "seconds": [seconds], "prepare_seconds": [], "tasks": tasks, "work": WORK * size * tasks,
                "work_unit": "flop", "cores": CORES, "busy": 0.0,
            })  # fmt: skip
    return found


def write(folder: Path, lines: Sequence[Line], machine: object = MACHINE, study: str = STUDY) -> Path:
    folder.mkdir(parents=True)
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (folder / "machine.json").write_text(json.dumps(machine), "utf-8")
    (folder / "study.toml").write_text(study, "utf-8")
    return folder


def measured(
    folder: Path,
    overheads: Mapping[str, float],
    *,
    build: str = "aaaa1111aaaa1111",
    patterns: Sequence[str] = ("stencil_1d",),
    name: str = "",
    time: float = 0.0,
    noise: float = 0.01,
    machine: object = MACHINE,
    study: str = STUDY,
    clock: float = 1.0,
    **changes: Any,
) -> Path:
    """A folder of one session: systems by the overhead of their tasks, all of one build."""
    name = name or f"{zlib.crc32(str(folder).encode()):08x}"
    lines = [session(name, time, dict.fromkeys(overheads, build), **changes)]
    for pattern in patterns:
        for system, overhead in overheads.items():
            lines.append(cell(system, pattern, time))
            seed = "/".join(folder.parts[-2:])
            lines += runs(system, pattern, overhead, noise=noise, time=time, seed=seed, clock=clock)
    return write(folder, lines, machine, study)
