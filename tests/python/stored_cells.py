"""Cells as a results folder leaves them, with any field as a test wishes."""

from collections.abc import Mapping
from typing import Any

from taskgrain.results.cell import Cell
from taskgrain.results.lines import CellLine, FailureLine, MetgLine, RatioLine
from taskgrain.words.endings import Ending

Bounds = tuple[float | None, float | None, float | None]


def stored(
    system: str = "a",
    workload: str = "fft",
    metg: float | None = 1e-6,
    *,
    cores: int | None = 2,
    ratios: Mapping[str, Bounds] | None = None,
    **fields: Any,
) -> Cell:
    """A cell that ended; METG is known within 2 %. `ratios` are those to other systems; with `error` it
    failed."""
    name = f"{system}/{workload}"
    cell = Cell(name)
    marks = {one: fields.pop(one, False) for one in ("bound", "simulated")}
    cell.take(CellLine(cell=name, system=system, cores=cores, **marks))
    if error := fields.pop("error", None):
        cell.take(FailureLine(cell=name, error=error, message=""))
    spread = {} if metg is None else {"low": 0.98 * metg, "high": 1.02 * metg}
    ending = {"ending": Ending.FAILED if error else Ending.PRECISE, "runs": 100, "rounds": 7}
    cell.take(MetgLine(cell=name, metg=metg, **(ending | spread | fields)))
    for other, (value, low, high) in (ratios or {}).items():
        cell.take(RatioLine(cell=name, to=f"{other}/{workload}", value=value, low=low, high=high))
    return cell
