"""The machine in words: in one line, and everything that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from taskgrain.answers.data import Results
from taskgrain.results import hosts
from taskgrain.study.workload import REFERENCE
from taskgrain.words import quantity
from taskgrain.words.plain import text


def in_a_line(results: Results) -> str:
    """The machine in a few words: its processor, and the cores that were measured on."""
    cpu = results.machine.get("cpu")
    model = text(cpu.get("model")) if isinstance(cpu, dict) else text(cpu)
    used = sorted({cell.cores for cell in results.cells if cell.cores and cell.reference == REFERENCE})
    span = f"{used[0]} to {used[-1]} cores" if used else ""
    cores = quantity.counted(used[0], "core") if len(used) == 1 else span
    where = hosts.where(hosts.of_lines(results.lines))
    return ", ".join(part for part in (model, cores and f"{cores} used", where) if part)


def listed(value: object, path: str = "") -> list[tuple[str, str]]:
    """Nested tables as rows of a path and a text."""
    if isinstance(value, Mapping):
        start = f"{path}: " if path else ""
        return [row for key, one in value.items() for row in listed(one, start + text(key).replace("_", " "))]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [(path, "; ".join(", ".join(f"{k} {v}" for k, v in listed(one)) for one in value))]
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return [(path, ", ".join(map(_plain, value)))] if value else []
    if path == "time" and isinstance(value, float) and 0 < value < 1e11:
        return [(path, f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC")]
    if path.endswith("bytes") and isinstance(value, int):
        return [(path.removesuffix("bytes").rstrip(), quantity.size(value))]
    shown = _plain(value)
    return [(path, shown)] if shown else []


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else text(value)
