"""A study whose budget is spent: its results stand in its lines, and nothing has to be worked out again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from taskgrain.results.lines import CellLine, FailureLine, Line, MetgLine, OfCell, RatioLine, RunLine
from taskgrain.study.workload import Cell


@dataclass
class Ended:
    """How a cell ended."""

    metg: MetgLine | None = None
    failure: FailureLine | None = None
    cores: int = 0
    compared: dict[str, RatioLine] = field(default_factory=dict)
    """By the cell that it is compared with."""

    def take(self, line: OfCell) -> None:
        """Takes the next of its lines."""
        match line:
            case MetgLine():
                self.metg = line
            case FailureLine():
                self.metg, self.failure = None, line
            case RatioLine() if line.to:
                self.compared[line.to] = line
            case RunLine():
                self.metg, self.cores, self.compared = None, line.cores or 0, {}
            case CellLine() if self.failure is not None:  # it tries again
                self.metg, self.failure = None, None


def ended(lines: Sequence[Line], cells: Sequence[Cell], budget: float) -> list[Ended] | None:
    """How each cell ended; None unless the lines say it of all, and that the budget (0: none) is spent."""
    found = {cell.name: Ended() for cell in cells}
    for line in lines:
        if isinstance(line, OfCell) and line.cell in found:
            found[line.cell].take(line)
    spent = max((line.elapsed or 0.0 for line in lines), default=0.0)
    known = all(one.metg is not None and one.metg.ending for one in found.values())
    return list(found.values()) if known and 0.0 < budget <= spent else None
