"""METG for the tools of CI: each format as its documentation has it, and no cell lost without a word."""

import json
from pathlib import Path
from typing import Any

import pytest
import results_folder as made
from jsonschema import validate

from taskgrain.results.export import write
from taskgrain.words.errors import UsageError

MPI, DASK, HPX, STARPU = (made.cell_name(one, "stencil_1d") for one in ("mpi", "dask", "hpx", "starpu"))
NUMBER = {"type": "number"}
WORDS = ("name", "run_name", "run_type", "time_unit")
COUNTS = ("iterations", "threads", "repetitions")
SCHEMAS: dict[str, dict[str, Any]] = {
    # README of github-action-benchmark, "customSmallerIsBetter"
    "github-action-benchmark": {
        "type": "array",
        "items": {
            "required": ["name", "unit", "value"],
            "properties": {"value": NUMBER}
            | {name: {"type": "string"} for name in ("name", "unit", "range", "extra")},
            "additionalProperties": False,
        },
    },
    # bencher.dev/docs/reference/bencher-metric-format
    "bencher": {
        "type": "object",
        "patternProperties": {
            ".+": {
                "type": "object",
                "patternProperties": {
                    ".+": {
                        "type": "object",
                        "properties": dict.fromkeys(("value", "lower_value", "upper_value"), NUMBER),
                        "required": ["value"],
                    }
                },
            }
        },
    },
    # docs/user_guide.md of Google Benchmark, and what its tools/gbench reads
    "google-benchmark": {
        "required": ["context", "benchmarks"],
        "properties": {
            "context": {
                "required": ["date", "num_cpus", "library_build_type"],
                "properties": {"json_schema_version": {"const": 1}, "num_cpus": {"type": "integer"}},
            },
            "benchmarks": {
                "type": "array",
                "items": {
                    "required": [*WORDS, *COUNTS, "real_time", "cpu_time"],
                    "properties": {"run_type": {"const": "iteration"}, "time_unit": {"const": "ns"}}
                    | {one: {"type": "integer", "minimum": 1} for one in COUNTS}
                    | dict.fromkeys(("real_time", "cpu_time", "low", "high"), NUMBER),
                },
            },
        },
    },
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One cell with all numbers, one without an interval, and two that have none."""
    known = {"overhead": 5e-7, "overhead_low": 4e-7, "overhead_high": 6e-7}
    bare = made.metg_line(DASK, 2e-6, "budget") | {"low": None, "high": None}
    lines = [made.cell_line(one, "stencil_1d") for one in ("mpi", "dask", "hpx", "starpu")]
    lines += [made.metg_line(MPI, 1e-6) | known, bare]
    lines += [made.metg_line(HPX, 1e-6, "never_reached"), made.failure_line(STARPU, "a|b\n<img>")]
    return made.write(tmp_path / "r", lines)


def export(folder: Path, kind: str) -> tuple[str, list[str]]:
    file = folder.parent / "exported"
    warnings = write(folder, "cells", kind, file)
    return file.read_text("utf-8"), warnings


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_it_is_what_the_tool_reads_and_says_what_it_leaves_out(folder: Path, kind: str) -> None:
    text, warnings = export(folder, kind)
    validate(strict(text), SCHEMAS[kind])
    assert MPI in text and not any(one in text for one in (DASK, HPX, STARPU))
    assert [one.partition(": ")[0] for one in warnings] == [DASK, HPX, STARPU]
    assert "has no METG with an interval (2.00 µs), and is left out" in warnings[0]


def test_numbers_are_nanoseconds_under_lasting_names(folder: Path) -> None:
    rows = strict(export(folder, "github-action-benchmark")[0])
    assert [(row["name"], row["value"], row["unit"]) for row in rows] == [
        (f"{MPI}/metg", 1000.0, "ns"),
        (f"{MPI}/overhead", 500.0, "ns"),
    ]
    assert [row.get("range") for row in rows] == ["980 – 1020", "400 – 600"]
    assert strict(export(folder, "bencher")[0]) == {
        MPI: {
            "metg": {"value": 1000.0, "lower_value": 980.0, "upper_value": 1020.0},
            "overhead": {"value": 500.0, "lower_value": 400.0, "upper_value": 600.0},
        },
    }
    first, _ = strict(export(folder, "google-benchmark")[0])["benchmarks"]
    assert (first["name"], first["real_time"], first["low"], first["threads"]) == (f"{MPI}/metg", 1e3, 980, 2)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_what_is_simulated_has_another_name(tmp_path: Path, kind: str) -> None:
    lines = [made.cell_line("mpi", "stencil_1d") | {"simulated": True}, made.metg_line(MPI, 1e-6)]
    text, _ = export(made.write(tmp_path / "r", lines), kind)
    assert text.count(f'"simulated/{MPI}') == text.count(MPI) > 0


def test_the_table_has_every_cell_and_no_text_breaks_it(folder: Path) -> None:
    text, warnings = export(folder, "markdown")
    head, rule, *rows = text.splitlines()
    assert (len(rows), warnings) == (4, [])
    assert {line.replace("\\|", "").count("|") for line in (head, rule, *rows)} == {head.count("|")}
    assert rows[0].startswith("| **mpi** | **stencil\\_1d/width=16** | **1.00 µs")
    assert "a\\|b \\<img\\>" in rows[3]


def test_the_table_has_the_order_of_the_terminal(tmp_path: Path) -> None:
    """The lines, and CSV, have that of the study."""
    lines = []
    for pattern, times in {"fft": (3e-6, 1e-6, 2e-6), "dom": (1e-6, 2e-6, 3e-6)}.items():
        for system, metg in zip(("mpi", "tbb", "starpu"), times, strict=True):
            name = f"{system}/{pattern}/width=16"
            lines += [made.cell_line(system, pattern), made.run_line(name), made.metg_line(name, metg)]
    text, _ = export(made.write(tmp_path / "r", lines), "markdown")
    systems = [line.replace("*", "").split(" ")[1] for line in text.splitlines()[2:]]
    assert systems == ["tbb", "starpu", "mpi", "mpi", "tbb", "starpu"]


def test_earlier_builds_are_left_out_and_counted(tmp_path: Path) -> None:
    def session(build: str) -> made.Line:
        return {
            "schema": 1,
            "kind": "session",
            "session": build,
            "systems": [{"name": "mpi", "build": build}],
        }

    once = [made.cell_line("mpi", "stencil_1d"), made.run_line(MPI), made.metg_line(MPI, 1e-6)]
    again = [made.cell_line("mpi", "stencil_1d"), made.run_line(MPI), made.metg_line(MPI, 3e-6)]
    folder = made.write(tmp_path / "r", [session("a" * 64), *once, session("b" * 64), *again])
    text, warnings = export(folder, "bencher")
    assert {name: one["metg"]["value"] for name, one in strict(text).items()} == {MPI: 3000.0}
    assert warnings == ["1 cell of earlier builds or other machines left out"]


def test_a_folder_without_a_number_is_an_error_and_no_empty_dashboard(tmp_path: Path) -> None:
    lines = [made.cell_line("mpi", "stencil_1d"), made.failure_line(MPI)]
    folder = made.write(tmp_path / "r", lines)
    for kind in SCHEMAS:
        with pytest.raises(UsageError, match="no cell has a METG"):
            export(folder, kind)
        assert not (tmp_path / "exported").exists()
    assert "failed" in export(folder, "markdown")[0]
