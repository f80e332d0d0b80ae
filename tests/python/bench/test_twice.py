"""Tests of the comparison of two studies."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import results_folder
import zstandard

SYSTEMS = ("taskgrain_ptg", "taskgrain_graph", "limit")
FILE = Path(__file__).parents[3] / "bench" / "twice.py"


def twice(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FILE), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def study(folder: Path, *values: float) -> Path:
    """Cells with these METGs, each with an interval of a tenth to either side, and a ratio to the first."""
    folder.mkdir()
    names = [results_folder.cell_name(f"s{k}", "fft") for k in range(len(values))]
    lines = []
    for name, value in zip(names, values, strict=True):
        ends = {"low": 0.9 * value, "high": 1.1 * value}
        lines.append(results_folder.metg_line(name, value) | ends)
        ratio = value / values[0]
        lines.append(
            {"schema": 1, "kind": "ratio", "time": 1.0, "cell": name, "to": names[0], "value": ratio,
             "low": 0.8 * ratio, "high": None, "rounds": 9}
        )  # fmt: skip
    return results_folder.write(folder, lines)


def test_differences_widths_and_overlaps(tmp_path: Path) -> None:
    done = twice(study(tmp_path / "a", 1e-6, 2e-6, 4e-6), study(tmp_path / "b", 1e-6, 2.2e-6, 6e-6))
    *lines, verdict = done.stdout.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert rows["METG"] == ["10.0%", "32.5%", "1.50x", "24.0%", "10.0%", "2", "of", "3"]
    assert rows["ratio"] == ["10.0%", "32.5%", "1.50x", "24.0%", "inf%", "3", "of", "3"], (
        "a missing bound is infinite"
    )
    assert verdict == "2 of 3 ratios within 25 %; 1 of 1 workloads have a winner, 0 a false one"


def test_a_winner_that_is_slower_in_the_first_study_is_false(tmp_path: Path) -> None:
    done = twice(study(tmp_path / "a", 1e-6, 2e-6), study(tmp_path / "b", 2e-6, 1e-6))
    assert done.stdout.splitlines()[-1].endswith("1 of 1 workloads have a winner, 1 a false one")
    (tmp_path / "none").mkdir()
    done = twice(results_folder.write(tmp_path / "none", []), tmp_path / "b")
    assert done.stdout.splitlines()[-1].endswith("1 of 0 workloads have a winner, 0 a false one")


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    done = twice(tmp_path / "none", tmp_path)
    assert done.returncode == 2 and str(tmp_path / "none") in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_study_estimated_again_differs_by_what_its_runs_do(tmp_path: Path) -> None:
    """The runs of one system take 1.25 times as long: its METG grows with them, and its ratios."""
    folder = FILE.parents[1] / "docs" / "results" / "2026-11-27-default"
    sides = tmp_path / "as it was", tmp_path / "slower"
    with zstandard.open(folder / "runs.jsonl.zst", "rt") as file:
        every = [
            line
            for line in map(json.loads, file)
            if line.get("cell", "taskgrain_ptg/").split("/")[0] in SYSTEMS
        ]
    for side, times in zip(sides, (1.0, 1.25), strict=True):
        side.mkdir()
        for name in ("study.toml", "machine.json"):
            shutil.copy(folder / name, side)
        with (side / "runs.jsonl").open("w") as file:
            for line in every:
                if line["kind"] == "run" and line["cell"].startswith("taskgrain_ptg/"):
                    line = line | {"seconds": [times * one for one in line["seconds"]]}
                print(json.dumps(line), file=file)
    _, *rows = twice("--again", *sides).stdout.splitlines()
    found = {row[:18].strip(): row[18:].split() for row in rows}
    assert list(found) == ["METG", "work", "overhead", "to taskgrain_graph", "to limit"]
    for kind in ("METG", "to taskgrain_graph", "to limit"):
        assert 1.25 < float(found[kind][2].rstrip("x")) < 2.0, kind
    assert found["METG"][0] == "0.0%", "most cells are of the other systems"
