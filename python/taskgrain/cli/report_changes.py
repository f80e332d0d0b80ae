"""What `taskgrain compare` says of two results folders, for the report of the later one."""

from __future__ import annotations

from pathlib import Path

from taskgrain.cli import compare_table
from taskgrain.report.changes import Change, Changes
from taskgrain.results.compare.cells import Compared, Comparison, Verdict, compare
from taskgrain.results.compare.sides import sides

_ORDER: tuple[Verdict, ...] = ("slower", "faster", "undecided", "same", "not comparable")
"""What matters most comes first."""


def compared(baseline: str, folder: Path) -> tuple[Comparison, list[str]]:
    """The comparison `taskgrain compare BASELINE FOLDER`, and what is odd about the folders."""
    found = sides([baseline, str(folder)])
    return compare(found), list(dict.fromkeys(said for each in found for said in each.warnings))


def changes(baseline: str, found: Comparison) -> Changes:
    """The same for the report."""
    by = found.question.by
    beside = compare_table.ratios_beside(found, found.cells)

    def change(cell: Compared) -> Change:
        deciding = cell.ratios.get(by)
        return Change(
            cell.system,
            cell.workload,
            cell.verdict,
            compare_table.shown(deciding),
            deciding.value if deciding else None,
            tuple(compare_table.shown(cell.ratios.get(one)) for one in beside),
            cell.why,
        )

    ordered = sorted(found.cells, key=lambda cell: _ORDER.index(cell.verdict))
    return Changes(
        baseline,
        compare_table.called(by),
        tuple(map(compare_table.called, beside)),
        tuple(map(change, ordered)),
        tuple(compare_table.summary(found)),
        tuple(compare_table.remarks(found)),
    )
