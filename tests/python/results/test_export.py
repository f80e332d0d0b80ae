"""Export: every number arrives, in CSV and in Parquet; what is odd in a folder is left out and said."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import results_folder as made
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.results import export, reader, values
from taskgrain.results.export import write
from taskgrain.results.tables import FORMULA, TABLES, Tables
from taskgrain.words.warnings import read_notice

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / "docs/results/2026-11-24-weak"
MPI = made.cell_name("mpi", "fft")


def lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    packed = folder / "runs.jsonl.zst"
    raw = (
        zstandard.decompress(packed.read_bytes()) if packed.exists() else (folder / "runs.jsonl").read_bytes()
    )
    found = [json.loads(line) for line in raw.splitlines()]
    return [line for line in found if line["kind"] == kind]


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return frame(folder, table).to_dicts()


def frame(folder: Path, table: str) -> pl.DataFrame:
    return export.frame(reader.read(folder), table)


def test_runs_has_every_sample() -> None:
    found = rows(MEASURED, "runs")
    stored = [line for line in lines(MEASURED, "run") for _ in line["seconds"]]
    counted = [row for row in found if row["counted"]]
    assert len(counted) == len(stored) > 1_000
    assert [row["seconds"] for row in counted] == [
        one for line in lines(MEASURED, "run") for one in line["seconds"]
    ]
    rejected = sum(len(line["seconds"]) for line in lines(MEASURED, "rejected"))
    assert len(found) - len(counted) == rejected > 0
    for row, line in zip(counted, stored, strict=True):
        assert {
            key: row[key] for key in line.keys() & row.keys() - {"seconds", "waited", "prepare_seconds"}
        } == {key: line[key] for key in line.keys() & row.keys() - {"seconds", "waited", "prepare_seconds"}}
        assert row["granularity"] == row["seconds"] * row["cores"] / row["tasks"]
        assert row["rate"] == row["work"] / row["seconds"]
        assert row["prepare_seconds"] in line["prepare_seconds"] and row["waited"] is None
    assert {row["pattern"] for row in found} == {"stencil_1d"}
    assert len({(row["run"], row["sample"]) for row in found}) == len(found)


def test_cells_and_their_curves() -> None:
    found = {row["cell"]: row for row in rows(MEASURED, "cells")}
    ended = {line["cell"]: line for line in lines(MEASURED, "metg")}
    runs = Counter(line["cell"] for line in lines(MEASURED, "run"))
    assert list(found) == [line["cell"] for line in lines(MEASURED, "cell")]
    for name, line in ended.items():
        row = found[name]
        for key in ("ending", "metg", "low", "high", "floor", "rounds", "peak_rate", "repeated_runs"):
            assert row[key] == line[key]
        assert row["crossing_iterations"] == line["iterations"]
        assert row["warnings"] == (_in_words(line["warnings"]) or None)
        assert row["runs"] == runs[name]
        assert (row["compiler"], row["work_unit"], row["failure"]) == ("GCC 12.2.0", "flop", None)
    points = [point for line in ended.values() for point in line["curve"]]
    curve = rows(MEASURED, "curve")
    shown = [{key: row[key] for key in points[0]} for row in curve]
    assert sorted(shown, key=str) == sorted(points, key=str)


def _in_words(warnings: list[object]) -> str:
    return " | ".join(said.text for one in warnings if (said := read_notice(one)))


def test_reference_has_every_rate() -> None:
    found = rows(MEASURED, "reference")
    assert [(row["measurement"], row["core"], row["rate"]) for row in found] == [
        (number, core, rate)
        for number, line in enumerate(lines(MEASURED, "reference"))
        for core, rate in enumerate(line["rates"])
    ]


@pytest.mark.parametrize("what", ["made", pytest.param("measured", marks=pytest.mark.submission)])
@pytest.mark.parametrize("table", TABLES)
def test_round_trip(tmp_path: Path, table: str, what: str) -> None:
    """polars and the csv module read back exactly what the folder holds."""
    folder = MEASURED if what == "measured" else made.big(tmp_path / "big")
    made_of_it = frame(folder, table)
    write(folder, table, None, tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet").equals(made_of_it)
    write(folder, table, None, tmp_path / "t.csv")
    back = pl.read_csv(tmp_path / "t.csv", schema=made_of_it.schema)
    assert back.with_columns(pl.col(pl.String).str.strip_prefix("'")).equals(made_of_it)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == made_of_it.height
    kinds = {column.name: column.kind for column in TABLES[table]}
    for text, row in zip(read, made_of_it.to_dicts(), strict=True):
        assert {key: value(one, kinds[key]) for key, one in text.items()} == row


def csv_of_polars(found: pl.DataFrame) -> str:
    """A second writer of the same CSV."""
    guard = pl.col(pl.String).str.replace(f"^([{re.escape(FORMULA)}])", "'${1}")
    return found.with_columns(guard).write_csv()


POWERS = st.integers(-20, 20).map(lambda exponent: 10.0**exponent)
FLOATS = st.floats(-values.HUGE, values.HUGE) | st.floats(-1e-4, 1e-4) | POWERS


class Row(Tables):
    """One row of any table."""

    def __init__(self, row: list[Any]) -> None:
        self.row = row

    def rows(self, name: str) -> Iterator[list[Any]]:
        yield self.row


@given(FLOATS, st.text(min_size=1))
def test_so_it_is_of_any_number_and_text(number: float, text: str) -> None:
    row = [number, None, text, *[None] * 6]
    schema = {one.name: pl.Float64 if one.kind == "number" else pl.String for one in TABLES["sessions"]}
    expected = csv_of_polars(pl.DataFrame([row], schema=schema, orient="row"))
    assert export.csv_text(Row(row), "sessions") == expected


def value(text: str, kind: str) -> Any:
    if text == "":
        return None
    match kind:
        case "text":
            return text.removeprefix("'")
        case "flag":
            return {"true": True, "false": False}[text]
    return float(text) if kind == "number" else int(text)


def test_values_of_another_type_are_empty_and_said(tmp_path: Path) -> None:
    odd = {
        "tasks": "many",
        "cores": True,
        "work": [1],
        "work_unit": 3,
        "busy": "much",
        "round": 2**70,
        "steps": 1.5,
    }
    run = (
        made.run_line(MPI)
        | odd
        | {"seconds": [0.5, "x", None], "prepare_seconds": 7, "dependencies": 10**400}
    )
    folder = made.write(tmp_path, [made.cell_line("mpi", "fft") | {"seed": {}, "driver": 4}, run])
    found = rows(folder, "runs")
    assert [row["seconds"] for row in found] == [0.5, None, None]
    for key in [*odd, "prepare_seconds", "dependencies", "seed", "granularity", "rate"]:
        assert [row[key] for row in found] == [None] * 3, key
    for table in TABLES:
        said = write(folder, table, "csv", tmp_path / "t.csv")
        assert said[0].startswith(
            "runs.jsonl: values that make no sense, taken as missing: cell.driver (1), "
        )


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)  # JSON has no others
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = sorted(
    {column.field for columns in TABLES.values() for column in columns} - {"cell"}
    | {"curve", "rates", "driver", "warnings", "systems", "restarted", "cores"}
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cell", "run", "rejected", "reference", "failure", "metg", "session"]),
            st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6),
        ),
        max_size=4,
    )
)
def test_any_lines_make_tables(tmp_path_factory: pytest.TempPathFactory, odd: list[tuple[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("odd")
    begun: made.Line = {"kind": "cell", "cell": "a/fft"}
    made.write(folder, [begun, *({"cell": "a/fft"} | fields | {"kind": kind} for kind, fields in odd)])
    contents = reader.read(folder)
    assert export.frame(contents, "cells").height == 1
    assert export.frame(contents, "runs").height == sum(map(samples, odd))
    for table, columns in TABLES.items():
        assert export.frame(contents, table).columns == [column.name for column in columns]
        assert export.csv_text(Tables(contents.shown), table) == csv_of_polars(export.frame(contents, table))


def samples(line: tuple[str, Any]) -> int:
    seconds = line[1].get("seconds")
    return len(seconds) if line[0] in ("run", "rejected") and isinstance(seconds, list) else 0


@pytest.mark.parametrize("start", FORMULA)
def test_formulas_in_texts_are_no_formulas(tmp_path: Path, start: str) -> None:
    evil = start + 'cmd|"/c calc"!A1'
    failure = made.failure_line(MPI, "crash", evil)
    folder = made.write(tmp_path / "r", [made.cell_line("mpi", "fft"), failure])
    write(folder, "cells", "csv", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["failure_message"] == "'" + evil
    assert not any(one.startswith(tuple(FORMULA)) for one in row.values() if one != "'" + evil)
    assert rows(folder, "cells")[0]["failure_message"] == evil  # Parquet keeps it as it is


def test_standard_output(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write(MEASURED, "cells", "parquet", None)
    assert pl.read_parquet(io.BytesIO(capsysbinary.readouterr().out)).equals(frame(MEASURED, "cells"))
    write(MEASURED, "cells", None, None)
    assert (
        capsysbinary.readouterr()
        .out.decode()
        .startswith("cell,system,pattern,width,nodes,asked_cores,radix,")
    )
