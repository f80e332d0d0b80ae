"""The reader of results folders: whatever is odd about one is left out and counted, for whoever reads it."""

import json
from pathlib import Path

import pytest
import results_folder as made
import zstandard

from taskgrain.answers import data
from taskgrain.results import export, reader
from taskgrain.results.lines import CellLine, MetgLine, RunLine
from taskgrain.results.store import Store
from taskgrain.words.errors import UsageError

MPI = made.cell_name("mpi", "fft")
GOOD = [made.cell_line("mpi", "fft"), made.run_line(MPI), made.metg_line(MPI, 1e-6)]


def compress(folder: Path) -> Path:
    """Compresses the lines of a folder in its place."""
    runs = folder / "runs.jsonl"
    (folder / "runs.jsonl.zst").write_bytes(zstandard.compress(runs.read_bytes()))
    runs.unlink()
    return folder


def said(folder: Path) -> list[str]:
    found = reader.read(folder)
    return found.notes()


def test_lines_study_and_machine(tmp_path: Path) -> None:
    folder = made.write(tmp_path, GOOD)
    found = reader.read(folder)
    assert [type(line) for line in found.lines] == [CellLine, RunLine, MetgLine]
    assert [line.to_json() for line in found.lines] == GOOD
    assert found.warnings() == []
    assert reader.study(folder).table == {"title": "example study", "threshold": 0.5}
    assert reader.machine(folder) == (made.MACHINE, [])


def test_a_torn_last_line(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "r", GOOD, tail=b'{"schema":1,"kind":"run","ce\xff')
    assert said(folder) == ["the last line of runs.jsonl is torn (29 bytes); it is skipped"]
    assert len(reader.read(folder).lines) == 3


def test_a_last_line_without_its_end_is_whole(tmp_path: Path) -> None:
    folder = made.write(tmp_path, GOOD[:2], tail=json.dumps(GOOD[2]).encode())
    assert len(reader.read(folder).lines) == 3
    assert reader.read(folder).warnings() == []


DAMAGED = {
    "text": b"Killed",
    "zeros": bytes(4096),
    "no UTF-8": b'{"kind":"run","cell":"\xff"}',
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "deep in a table": b'{"kind":"metg","warnings":' + b"[" * 900 + b"]" * 900 + b"}",
    "a number too long": b'{"kind":"run","elapsed":' + b"9" * 10_000 + b"}",
}


def test_damaged_lines(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "r", GOOD, tail=b"\n".join([*DAMAGED.values(), b"", b" ", b""]))
    assert said(folder) == ["runs.jsonl cannot be read in line 4, 5, 6, 7, 8, …; skipped"]
    assert reader.read(folder).damaged == (4, 5, 6, 7, 8, 9, 10)
    assert [line.to_json() for line in reader.read(folder).lines] == GOOD


def test_foreign_lines(tmp_path: Path) -> None:
    foreign: list[made.Line] = [{"event": "started"}, {"kind": "new", "cell": MPI}, {"kind": "run"}]
    foreign += [GOOD[2] | {"schema": schema} for schema in ("1.0", None, True, -1, 1.5, {})]
    folder = made.write(tmp_path / "r", [*foreign, *GOOD])
    assert said(folder) == ["runs.jsonl: lines of no known kind, left out: 9"]
    assert [line.to_json() for line in reader.read(folder).unknown] == foreign


def test_values_that_make_no_sense(tmp_path: Path) -> None:
    odd = made.run_line(MPI) | {"tasks": "many", "seconds": [float("nan"), float("inf"), -1.0]}
    folder = made.write(tmp_path / "r", [*GOOD, odd, odd])
    assert said(folder) == [
        "runs.jsonl: values that make no sense, taken as missing: run.seconds (6), run.tasks (2)"
    ]


def test_runs_of_a_cell_that_neither_begins_nor_ends(tmp_path: Path) -> None:
    stray, result = made.run_line("mpi/nowhere/width=4"), made.metg_line("mpi/dom/width=4", 1e-6)
    crash: made.Line = {"schema": 1, "kind": "crash", "cell": "mpi/nowhere/width=4"}
    folder = made.write(tmp_path / "r", [*GOOD, stray, crash, stray, result])
    assert said(folder) == ["runs.jsonl: lines of unknown cells, left out: mpi/nowhere/width=4 (3)"]
    assert [cell.name for cell in data.read(folder).cells] == [MPI, "mpi/dom/width=4"]
    contents = reader.read(folder)
    assert export.frame(contents, "cells")["cell"].to_list() == [MPI, "mpi/dom/width=4"]
    assert set(export.frame(contents, "runs")["cell"]) == {MPI}
    assert len(reader.read(folder).lines) == 7  # a study that goes on may know the cell


def test_a_file_without_lines_is_a_study_without_results(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "r", [])
    assert said(folder) == []
    assert data.read(folder).cells == ()
    assert export.frame(reader.read(folder), "cells").height == 0


NEWER = "was written by a newer taskgrain (schema 99; this one knows up to 1)"


def test_a_newer_schema_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    new = [line | {"schema": 99, "more": [1]} for line in GOOD]
    folder = made.write(tmp_path / "r", [GOOD[0], *new, {"schema": 99, "kind": "new"}])
    assert said(folder) == [
        f"runs.jsonl: line 2 {NEWER}: parts may be missing",
        "runs.jsonl: lines of no known kind, left out: 1",
    ]
    assert data.read(folder).cells[0].metg.value == 1e-6
    assert export.frame(reader.read(folder), "cells")["metg"].to_list() == [1e-6]
    before = (folder / "runs.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"line 2 was written by a newer taskgrain .*: upgrade taskgrain"):
        Store(folder, reader.study(folder).table, {})
    assert (folder / "runs.jsonl").read_bytes() == before


def test_compressed_lines_mean_the_same(tmp_path: Path) -> None:
    folder = made.big(tmp_path / "r", ["mpi", "ray"], ["fft", "dom"])
    plain, table = reader.read(folder), export.frame(reader.read(folder), "runs")
    compress(folder)
    found = reader.read(folder)
    assert (found.lines, found.raw, found.torn) == (plain.lines, plain.raw, plain.torn)
    assert found.warnings() == ["the last line of runs.jsonl.zst is torn (28 bytes); it is skipped"]
    assert export.frame(found, "runs").equals(table)
    assert data.read(folder).contents.raw == plain.raw


def test_compressed_in_parts(tmp_path: Path) -> None:
    folder = made.write(tmp_path, GOOD)
    one, two = (folder / "runs.jsonl").read_bytes(), b'{"kind":"cell","cell":"a/fft"}\n'
    (folder / "runs.jsonl").unlink()
    (folder / "runs.jsonl.zst").write_bytes(zstandard.compress(one) + zstandard.compress(two))
    assert reader.read(folder).raw == one + two
    assert reader.read(folder).warnings() == []


@pytest.mark.parametrize("how", ["cut", "changed", "another file"])
def test_damaged_compression(tmp_path: Path, how: str) -> None:
    folder = compress(made.write(tmp_path / "r", [*GOOD, *made.run_lines(GOOD[2], 2000)]))
    file = folder / "runs.jsonl.zst"
    raw = file.read_bytes()
    assert len(raw) > 400_000
    half = len(raw) // 2
    damaged = {
        "cut": raw[:half],
        "changed": raw[:half] + bytes(1000) + raw[half + 1000 :],
        "another file": b"text",
    }
    file.write_bytes(damaged[how])
    found = reader.read(folder)
    assert len(found.lines) > 1000 if how != "another file" else not found.lines
    lost = f"runs.jsonl.zst is damaged: what follows {len(found.raw)} bytes of lines is lost"
    assert lost in said(folder)


def test_both_files(tmp_path: Path) -> None:
    folder = compress(made.write(tmp_path, GOOD))
    made.write(folder, GOOD[:1])
    assert len(reader.read(folder).lines) == 1
    assert reader.read(folder).warnings() == ["runs.jsonl.zst is there too; runs.jsonl alone is read"]


def test_what_is_missing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"runs\.jsonl: there is no such file; is .* a results folder"):
            reader.read(folder)
    (tmp_path / "runs.jsonl").mkdir()
    with pytest.raises(UsageError, match=r"runs\.jsonl: cannot be read: Is a directory"):
        reader.read(tmp_path)
    assert reader.study(tmp_path).warnings == ("study.toml: cannot be read: No such file or directory",)
    assert reader.study(tmp_path).table == {}
    assert reader.machine(tmp_path)[1] == [
        "machine.json: cannot be read: No such file or directory; the machine is not known"
    ]


def test_a_damaged_study_and_machine(tmp_path: Path) -> None:
    folder = made.write(tmp_path, GOOD, machine=[1])
    (folder / "study.toml").write_bytes(b"name = '\xff'\n= no toml")
    found = reader.study(folder)
    assert (found.table, found.text) == ({}, "name = '\ufffd'\n= no toml")
    assert found.warnings[0].startswith("study.toml: is not TOML: ")
    assert reader.machine(folder) == ({}, ["machine.json: is not a JSON object; the machine is not known"])
    made.write(folder, GOOD, machine={"a": [float("inf"), {"b": float("nan")}], "c": 1.5})
    assert reader.machine(folder) == ({"a": [None, {"b": None}], "c": 1.5}, [])
