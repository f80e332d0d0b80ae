"""The exported tables: the reference page lists their columns, and their rows need only Python's own."""

import subprocess
import sys
from pathlib import Path

import docs_tables

from taskgrain.results.tables import CELL, TABLES
from taskgrain.study.fields import WORKLOAD

ROOT = Path(__file__).parents[3]


def test_a_report_needs_no_table_library() -> None:
    code = "import sys; sys.modules['polars'] = None; import taskgrain.report.page"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_reference_has_all_columns() -> None:
    text = docs_tables.on_page_markdown((ROOT / "docs/reference/export.md").read_text("utf-8"))
    assert "<!-- the" not in text
    for columns in TABLES.values():
        for one in columns:
            assert f"| `{one.name}` | {one.kind} | {one.unit} | {one.meaning}" in text


def test_every_table_of_cells_begins_with_the_workload() -> None:
    assert {one.name for one in CELL} == {"cell", "system"} | {one.column for one in WORKLOAD.values()}
    for name, columns in TABLES.items():
        assert name in ("reference", "sessions") or columns[: len(CELL)] == CELL


def test_no_table_has_a_column_twice() -> None:
    for columns in TABLES.values():
        assert len({one.name for one in columns}) == len(columns)
