"""The lines of the first stores, with numbers in place of a folder's lines: they are read as logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from taskgrain.results import values
from taskgrain.study.fields import WORKLOAD

KIND = "session"
_NUMBERS = {"metg": "", "overhead": "overhead_", "floor": "floor_"}
"""How a `metg` line calls their bounds."""
Table = dict[str, Any]


def converted(table: Mapping[str, Any]) -> Table:
    """The object of a log."""
    shared, common = _table(table.get("conditions")), _table(table.get("settings"))
    settings = common | {
        key: value
        for one in _list(table.get("cells"))
        for key, value in _table(_table(one).get("settings")).items()
        if key not in WORKLOAD
    }
    cpu = {"model": shared.get("cpu"), "frequency": {"governor": shared.get("governor")}}
    names = [{"kind": "session", "session": one} for one in _list(table.get("sessions"))]
    lines = [line for one in _list(table.get("cells")) for line in _lines(_table(one), shared, common)]
    return {
        "schema": table.get("schema"), "kind": "log", "time": table.get("time"), "label": table.get("label"),
        "machine": {"kernel": shared.get("kernel"), "cpu": cpu}, "study": settings, "lines": names + lines,
    }  # fmt: skip


def _lines(cell: Table, shared: Table, common: Table) -> Iterator[Table]:
    """A cell with a session of its own, as it may have conditions of its own."""
    system, workload = values.text(cell.get("system")), values.text(cell.get("workload"))
    if not system or not workload:
        return
    name, cores = f"{system}/{workload}", values.positive(cell.get("cores"))
    conditions = shared | _table(cell.get("conditions"))
    settings = common | _table(cell.get("settings"))
    builds = {system: cell.get("build"), conditions.get("reference"): conditions.get("reference_build")}
    yield {
        "kind": "session", "machine": conditions.get("machine"), "taskgrain": conditions.get("harness"),
        "cores": conditions.get("processors"),
        "systems": [{"name": key, "build": build} for key, build in builds.items()],
    }  # fmt: skip
    fields = {WORKLOAD[key].column: value for key, value in settings.items() if key in WORKLOAD}
    yield fields | {
        "kind": "cell", "cell": name, "system": system, "reference": conditions.get("reference"),
        "threshold": settings.get("threshold"), "steps": settings.get("steps"), "cores": cell.get("cores"),
        "driver": {"version": cell.get("version")},
    }  # fmt: skip
    if (error := cell.get("error")) is not None:
        yield {"kind": "failure", "cell": name, "error": error, "message": ""}
        return
    found: Table = {"kind": "metg", "cell": name, "ending": cell.get("ending")}
    for quantity, prefix in _NUMBERS.items():
        value, low, high = _interval(cell.get(quantity))
        found |= {quantity: value, f"{prefix}low": low, f"{prefix}high": high}
    curve = []
    for one in _list(cell.get("rate")):
        value, low, high = (cores / end if cores and end else None for end in _interval(one))
        ends = {"granularity": value, "granularity_low": high, "granularity_high": low}
        curve.append(ends | {"iterations": _table(one).get("iterations")})
    yield found | {"curve": curve}


def _interval(value: object) -> tuple[float | None, ...]:
    return tuple(values.positive(_table(value).get(name)) for name in ("value", "low", "high"))


def _table(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
