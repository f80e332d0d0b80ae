"""The files that a reader can save from the page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import results_folder

from taskgrain.report import data, downloads


def table(folder: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(downloads.files(data.read(folder))["cells.csv"]))]


def test_a_row_for_each_cell_in_si_units(tmp_path: Path) -> None:
    rows = table(results_folder.big(tmp_path, ["mpi", "ray"], ["fft"]))
    assert [row["cell"] for row in rows] == ["mpi/fft/width=16", "ray/fft/width=16"]
    assert 1e-9 < float(rows[0]["metg"]) < 1e-6


def test_a_spreadsheet_takes_no_text_for_a_formula(tmp_path: Path) -> None:
    started = results_folder.cell_line("mpi", "stencil_1d") | {"system": "=1+1", "command": "@SUM(A1)"}
    (row,) = table(results_folder.write(tmp_path, [started]))
    assert row["system"] == "'=1+1"
    assert row["command"].startswith("'@SUM(A1)")


def test_study_and_machine_are_as_in_the_folder(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    files = downloads.files(data.read(folder))
    assert files["study.toml"] == (folder / "study.toml").read_text("utf-8")
    assert json.loads(files["machine.json"]) == results_folder.MACHINE
