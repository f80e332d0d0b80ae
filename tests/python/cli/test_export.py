"""`taskgrain export`: tables of a results folder (results/test_export.py is about what they hold)."""

import json
from pathlib import Path

import pytest
from command_line import Command


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with one cell and a torn last line."""
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "runs.jsonl").write_text('{"kind":"cell","cell":"a/fft","system":"a"}\n{"ki')
    return folder


def test_cells_as_csv_on_standard_output(taskgrain: Command, results: Path) -> None:
    result = taskgrain("export", results)
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("cell,system,")
    assert result.out.splitlines()[1].startswith("a/fft,a,,")
    assert result.err.startswith(f"taskgrain: {results}: the last line of runs.jsonl is torn")


def test_the_name_of_the_file_says_the_format(taskgrain: Command, results: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    assert taskgrain("export", results, "--table", "runs", "-o", file).code == 0
    assert file.read_bytes()[:4] == b"PAR1"
    assert taskgrain("export", results, "-o", tmp_path / "t.json").code == 0
    (cell,) = json.loads((tmp_path / "t.json").read_text())
    assert (cell["cell"], cell["pattern"], cell["runs"]) == ("a/fft", None, 0)
    assert taskgrain("export", results, "-o", tmp_path / "t.md").code == 0
    assert (tmp_path / "t.md").read_text().startswith("| system | workload | METG ")
    other = tmp_path / "t.txt"
    result = taskgrain("export", results, "--format", "csv", "-o", other)
    assert (result.code, result.out) == (0, "")
    assert other.read_text() == taskgrain("export", results).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{tmp}",), "there is no such file"),
        (("{r}", "-o", "{tmp}/t.xlsx"), "a name that ends in one of .csv, .json, .md, .parquet; or --format"),
        (("{r}", "--table", "runs", "-o", "{tmp}/t.md"), "--table: runs is not allowed; allowed: cells, of"),
        (("{r}", "-o", "{tmp}/no/t.csv"), "t.csv: cannot be written: No such file or directory"),
        (("{r}", "--format", "csv", "-o", "{tmp}/y.parquet"), "--format: csv does not fit {tmp}/y.parquet"),
        (
            ("{r}", "--format", "html"),
            "allowed: csv, json, parquet, github-action-benchmark, bencher, google-benchmark, markdown",
        ),
        (("{r}", "--format", "bencher", "--table", "runs"), "--table: runs is not allowed; allowed: cells"),
        (("{r}", "--format", "bencher"), "no cell has a METG"),
        (("{r}", "--format", "bencher", "-o", "{tmp}/t.csv"), "--format: bencher does not fit {tmp}/t.csv"),
        (
            ("{r}", "--table", "cell"),
            "--table: cell is not allowed. Did you mean cells? Allowed: runs, cells, curve, reference",
        ),
        (("{r}", "--format", "csv", "-o", "{tmp}/r"), "cannot be written: Is a directory"),
        (("{r}", "--format", "csv", "-o", "{r}/runs.jsonl"), "a file that is not the results' own"),
        ((), "DIR"),
    ],
)
def test_refusals(
    taskgrain: Command, results: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = (results / "runs.jsonl").read_bytes()
    said = taskgrain("export", *(word.format(tmp=tmp_path, r=results) for word in words)).refusal()
    assert message.format(tmp=tmp_path) in said and said.count("\n") == 1
    assert (results / "runs.jsonl").read_bytes() == before
