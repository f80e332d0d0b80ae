"""The columns of the tables: the reference page lists them all, and their fields exist."""

from __future__ import annotations

from pathlib import Path

import docs_tables

from taskgrain.results import lines
from taskgrain.results.columns import CELL, TABLES, Column
from taskgrain.study.fields import WORKLOAD

ROOT = Path(__file__).parents[3]


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


def test_a_column_that_is_a_field_says_what_the_field_says() -> None:
    (column,) = [one for one in TABLES["cells"] if one.name == "crossing_iterations"]
    field = lines.fields(lines.MetgLine)["iterations"]
    assert column == Column("crossing_iterations", "number", field.unit, field.meaning, "iterations")
