"""Later results against earlier ones, for the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from taskgrain.answers.compare.cells import Compared, Comparison, Verdict, compare
from taskgrain.answers.compare.sides import sides
from taskgrain.answers.data import Results
from taskgrain.results.measurements import Folder, opened

Changes = Mapping[str, Comparison]
"""Results against others, by the words that name these."""
_ORDER: tuple[Verdict, ...] = ("slower", "faster", "undecided", "same", "not comparable")
"""The most important comes first on the page."""


def since(baseline: str, results: Results) -> tuple[Comparison, list[str]]:
    """The comparison `taskgrain compare BASELINE FOLDER` with results that were read, and what is odd about
    the folders."""

    def read(folder: Path) -> Folder:
        return results if folder == results.folder else opened(folder)

    found = sides([baseline, str(results.folder)], read=read)
    return compare(found), list(dict.fromkeys(said for each in found for said in each.warnings))


def ordered(found: Comparison) -> list[Compared]:
    """Its cells as the page shows them."""
    return sorted(found.cells, key=lambda cell: _ORDER.index(cell.verdict))
