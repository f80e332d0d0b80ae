"""The rows of the exported tables, which need no library but Python's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import results_folder

from taskgrain.results import reader
from taskgrain.results.columns import TABLES
from taskgrain.results.export import frame
from taskgrain.results.tables import Tables


def test_rows_are_what_is_exported(tmp_path: Path) -> None:
    contents = reader.read(results_folder.big(tmp_path, ["mpi", "ray"]))
    for name in TABLES:
        rows = [
            [one or None if isinstance(one, str) else one for one in row]
            for row in Tables(contents).rows(name)
        ]
        assert rows == [list(row) for row in frame(contents, name).iter_rows()]


def test_a_report_needs_no_table_library() -> None:
    code = "import sys; sys.modules['polars'] = None; import taskgrain.report.downloads"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
