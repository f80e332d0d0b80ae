"""The results folder: nothing is lost, nothing is mixed, and every obstacle has words."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from taskgrain.results.store import Store, read_lines
from taskgrain.words.errors import InputError, UsageError

STUDY = {"cores": 2, "budget": 10.0, "workloads": [{"pattern": "trivial", "width": 4}]}
MACHINE = {"host": "x"}


def opened(folder: Path, study: dict[str, object] = STUDY) -> Store:
    return Store(folder, study, MACHINE)


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with opened(folder) as store:
        for number in range(5):
            line = store.append("run", {"cell": "c", "seconds": [0.1, 1e-9], "number": number})
            assert read_lines(folder / "runs.jsonl").lines[-1] == line
    assert (folder / "logs").is_dir()
    assert json.loads((folder / "machine.json").read_text()) == MACHINE
    with opened(folder) as store:
        assert [line["number"] for line in store.contents.lines] == list(range(5))
        assert all(
            line["schema"] == 1 and line["kind"] == "run" and line["time"] > 0
            for line in store.contents.lines
        )


@pytest.mark.parametrize("length", range(1, 60, 7))
def test_a_torn_line_is_set_aside(tmp_path: Path, length: int) -> None:
    with opened(tmp_path) as store:
        store.append("run", {"number": 1})
        store.append("run", {"number": 2})
    runs = tmp_path / "runs.jsonl"
    whole = runs.read_bytes()
    cut = len(whole) - length
    runs.write_bytes(whole[:cut])
    first_end = whole.index(b"\n") + 1
    kept = whole[:cut].count(b"\n") + (cut == len(whole) - 1)
    with opened(tmp_path) as store:
        assert len(store.contents.lines) == kept
        assert bool(store.contents.warnings()) == (cut not in (len(whole) - 1, first_end))
        store.append("run", {"number": 3})
    lines = read_lines(runs)
    assert not lines.torn
    assert not lines.damaged
    assert (
        [line["number"] for line in lines.lines] == [1, 2, 3][:kept] + [3] * (kept < 3)
        if kept < 2
        else [1, 2, 3]
    )
    if store.contents.torn:
        assert (tmp_path / "runs.torn").read_bytes() == store.contents.torn + b"\n"


def test_a_damaged_line_is_reported_and_skipped(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append("run", {"number": 1})
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(b"\x00\xffrubbish\n[1]\n" + runs.read_bytes())
    with opened(tmp_path) as store:
        assert [line["number"] for line in store.contents.lines] == [1]
        assert "line 1, 2" in store.contents.warnings()[0]


def test_a_newer_schema_is_refused_and_an_older_opened(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append("run", {})
    runs = tmp_path / "runs.jsonl"
    runs.write_text(runs.read_text() + '{"schema":0,"kind":"run"}\n{"kind":"run","new_field":1}\n')
    with opened(tmp_path) as store:
        assert len(store.contents.lines) == 3
    runs.write_text(runs.read_text() + '{"schema":2,"kind":"run"}\n')
    with pytest.raises(
        UsageError, match=r"line 4 was written by a newer taskgrain \(schema 2; .* up to 1\): upgrade"
    ):
        opened(tmp_path)


def test_a_second_harness_is_kept_out(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from taskgrain.results.store import Store\n"
        f"Store(Path(sys.argv[1]), {STUDY!r}, {{}})"
    )
    with opened(tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert "another taskgrain is writing here" in done.stderr
    opened(tmp_path).close()


def test_another_study_is_refused_by_field(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(UsageError, match=r"differs in cores \(2 there, 3 now\); choose another --output"):
        opened(tmp_path, STUDY | {"cores": 3})
    with pytest.raises(UsageError, match=r"differs in workloads"):
        opened(tmp_path, STUDY | {"workloads": []})
    with pytest.raises(UsageError, match=r"differs in new \(absent there, 1 now\)"):
        opened(tmp_path, STUDY | {"new": 1})
    opened(tmp_path, STUDY | {"budget": 99.0}).close()


def test_foreign_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="a new or empty folder"):
        opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="a folder"):
        opened(tmp_path / "thesis.tex")
    with pytest.raises(UsageError, match="cannot be written"):
        opened(tmp_path / "thesis.tex" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(UsageError, match="cannot be written: Permission denied"):
        opened(tmp_path / "out")


def test_a_read_only_file_system() -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        opened(Path("/proc/taskgrain"))


def test_numbers_that_are_none_are_not_written(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with pytest.raises(ValueError, match="JSON"):
            store.append("run", {"seconds": [float("nan")]})
        assert (tmp_path / "runs.jsonl").read_bytes() == b""
