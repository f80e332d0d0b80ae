"""The results folder: nothing is lost, nothing is mixed, and every obstacle has words."""

import json
import resource
from pathlib import Path

import pytest
import zstandard

from taskgrain.results import reader
from taskgrain.results.lines import RunLine
from taskgrain.results.store import Store
from taskgrain.words.errors import InputError, OutputError, UsageError

STUDY = {"cores": 2, "budget": 10.0, "workloads": [{"pattern": "trivial", "width": 4}]}
MACHINE = {"host": "x"}


def opened(folder: Path, study: dict[str, object] = STUDY) -> Store:
    return Store(folder, study, MACHINE)


def numbered(number: int) -> RunLine:
    return RunLine(cell="c", round=number, seconds=(0.1, 1e-9))


def rounds(contents: reader.Contents) -> list[int | None]:
    return [line.round for line in contents.lines if isinstance(line, RunLine)]


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with opened(folder) as store:
        for number in range(5):
            (line,) = store.append(numbered(number))
            assert reader.read(folder).lines[-1] == line
    assert (folder / "logs").is_dir()
    assert json.loads((folder / "machine.json").read_text()) == MACHINE
    with opened(folder) as store:
        assert rounds(store.contents) == list(range(5))
        assert all(line.schema == 1 and line.time and line.time > 0 for line in store.contents.lines)


@pytest.mark.parametrize("length", range(1, 60, 7))
def test_a_torn_line_is_set_aside(tmp_path: Path, length: int) -> None:
    with opened(tmp_path) as store:
        store.append(numbered(1))
        store.append(numbered(2))
    runs = tmp_path / "runs.jsonl"
    whole = runs.read_bytes()
    runs.write_bytes(whole[: len(whole) - length])
    kept = [1, 2] if length == 1 else [1]  # without its end alone, a line is whole
    with opened(tmp_path) as store:
        assert rounds(store.contents) == kept
        assert bool(store.warnings) == (length > 1)
        store.append(numbered(3))
    found = reader.read(tmp_path)
    assert not found.warnings()
    assert rounds(found) == [*kept, 3]
    if length > 1:
        assert (tmp_path / "runs.torn").read_bytes() == store.contents.torn + b"\n"


def test_compressed_results_are_not_added_to(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append(numbered(1))
    runs = tmp_path / "runs.jsonl"
    content = runs.read_bytes()
    runs.unlink()
    compressed = tmp_path / "runs.jsonl.zst"
    compressed.write_bytes(zstandard.compress(content))
    with pytest.raises(UsageError, match=r"compressed results.*zstd -d --rm .*runs\.jsonl\.zst\), or choose"):
        opened(tmp_path)
    assert not runs.exists()
    runs.write_bytes(zstandard.decompress(compressed.read_bytes()))  # as `zstd -d` does without --rm
    with opened(tmp_path) as store:
        assert rounds(store.contents) == [1]
        assert store.warnings == ["runs.jsonl.zst is there too; runs.jsonl alone is read"]


def test_a_study_that_cannot_be_read_is_not_gone_on_with(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "study.toml").write_text("= no toml")
    with pytest.raises(UsageError, match=r"study\.toml: is not TOML: .*; mend it, or choose another"):
        opened(tmp_path)
    assert (tmp_path / "study.toml").read_text() == "= no toml"


def test_another_study_is_refused_by_field(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(UsageError, match=r"differs in cores \(2 there, 3 now\); choose another --output"):
        opened(tmp_path, STUDY | {"cores": 3})
    with pytest.raises(UsageError, match=r"differs in workloads \(1 of them there, 0 now\)"):
        opened(tmp_path, STUDY | {"workloads": []})
    other = [dict(STUDY["workloads"][0]) | {"width": 99, "fraction": 0.25}]
    with pytest.raises(UsageError, match=r"differs in workloads\[0\]\.fraction \(absent there, 0.25 now\)"):
        opened(tmp_path, STUDY | {"workloads": other})
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
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="a folder"):
        opened(tmp_path / "loop")
    with pytest.raises(UsageError, match="cannot be written"):
        opened(tmp_path / "thesis.tex" / "below")


def test_a_read_only_file_system() -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        opened(Path("/proc/taskgrain"))


def test_a_folder_stays_whole_where_its_study_has_no_room(tmp_path: Path) -> None:
    study = STUDY | {"title": "x" * 4000}
    with opened(tmp_path, study) as store:
        store.append(numbered(1))
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["study.toml"]) - 1, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"study\.toml: cannot be written"):
            opened(tmp_path, study | {"budget": 20.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before
    with opened(tmp_path, study | {"budget": 20.0}) as store:
        assert rounds(store.contents) == [1]


def test_numbers_that_are_none_are_not_written(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with pytest.raises(ValueError, match="JSON"):
            store.append(RunLine(cell="c", seconds=(float("nan"),)))
        assert (tmp_path / "runs.jsonl").read_bytes() == b""
