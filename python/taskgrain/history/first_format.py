"""The lines of the first stores, with numbers in place of a folder's lines: they are read as logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from taskgrain.results import values
from taskgrain.study.fields import WORKLOAD

KIND = "session"
_PREFIXES = {"metg": "", "overhead": "overhead_", "floor": "floor_"}
"""What stands before `low` and `high` in a `metg` line."""
Table = dict[str, Any]


def converted(table: Mapping[str, Any]) -> Table:
    """The object of a log."""
    shared, common = _table(table.get("conditions")), _table(table.get("settings"))
    cells = [_table(one) for one in _list(table.get("cells"))]
    lines = [{"kind": "session", "session": one} for one in _list(table.get("sessions"))]
    study = dict(common)
    for cell in cells:
        own = _table(cell.get("settings"))
        study |= own
        lines += _lines(cell, shared | _table(cell.get("conditions")), common | own)
    cpu = {"model": shared.get("cpu"), "frequency": {"governor": shared.get("governor")}}
    head = {name: table.get(name) for name in ("schema", "time", "label")}
    machine = {"kernel": shared.get("kernel"), "cpu": cpu}
    return head | {"kind": "log", "machine": machine, "study": study, "lines": lines}


def _lines(cell: Table, conditions: Table, settings: Table) -> Iterator[Table]:
    """The lines of a cell, with a session of its own, as cells may have different conditions."""
    system, workload = values.text(cell.get("system")), values.text(cell.get("workload"))
    if not system or not workload:
        return
    name, cores = f"{system}/{workload}", values.positive(cell.get("cores"))
    reference = conditions.get("reference")
    builds = (system, cell.get("build")), (reference, conditions.get("reference_build"))
    yield {
        "kind": "session", "machine": conditions.get("machine"), "taskgrain": conditions.get("harness"),
        "cores": conditions.get("processors"),
        "systems": [{"name": one, "build": build} for one, build in builds],
    }  # fmt: skip
    fields = {WORKLOAD[key].column: value for key, value in settings.items() if key in WORKLOAD}
    yield fields | {
        "kind": "cell", "cell": name, "system": system, "reference": reference, "cores": cell.get("cores"),
        "threshold": settings.get("threshold"), "steps": settings.get("steps"),
        "driver": {"version": cell.get("version")},
    }  # fmt: skip
    if cell.get("error") is not None:
        yield {"kind": "failure", "cell": name, "error": cell["error"], "message": ""}
        return
    found: Table = {"kind": "metg", "cell": name, "ending": cell.get("ending"), "curve": []}
    for quantity, prefix in _PREFIXES.items():
        found |= dict(
            zip((quantity, f"{prefix}low", f"{prefix}high"), _ends(cell.get(quantity)), strict=True)
        )
    for one in _list(cell.get("rate")):
        point = {"iterations": _table(one).get("iterations")}
        ends = zip(("granularity", "granularity_high", "granularity_low"), _ends(one), strict=True)
        point |= {key: cores / end for key, end in ends if cores and end}
        found["curve"].append(point)
    yield found


def _ends(value: object) -> list[float | None]:
    return [values.positive(_table(value).get(name)) for name in ("value", "low", "high")]


def _table(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
