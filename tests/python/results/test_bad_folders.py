"""Results folders that are full, read-only, damaged, old, taken, or from a clock that ran backwards."""

import fcntl
import json
import os
import resource
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import tomli_w
from command_line import called
from killable_study import assert_nothing_twice, finish, lines, write_study
from simulated_world import World, comparable, measure

from taskgrain.results import reader
from taskgrain.results.lines import RunLine
from taskgrain.results.store import Store
from taskgrain.words.errors import OutputError, UsageError


@pytest.mark.parametrize("name", reader.FILES)
def test_a_pipe_is_no_file_of_results(tmp_path: Path, name: str) -> None:
    """It might never end."""
    measure(tmp_path / "r", World())
    (tmp_path / "r" / name).unlink(missing_ok=True)
    if name == reader.COMPRESSED:
        (tmp_path / "r" / reader.RUNS).unlink()
    os.mkfifo(tmp_path / "r" / name)
    if name in (reader.RUNS, reader.COMPRESSED):
        with pytest.raises(UsageError, match=f"{name}: cannot be read: it is not a plain file"):
            reader.read(tmp_path / "r")
    else:
        _, odd = reader.machine(tmp_path / "r")
        found = [*odd, *reader.study(tmp_path / "r").warnings]
        assert [one.startswith(f"{name}: cannot be read: it is not a plain file") for one in found] == [True]


# -- a full disk, a read-only one -------------------------------------------------------------------------


def test_without_room_nothing_is_lost_and_the_same_command_goes_on(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    said = r"runs.jsonl: cannot be written: File too large \(ulimit -f\); what it holds is kept: once that"
    try:
        for _ in range(2):  # nor is there room to go on
            with pytest.raises(OutputError, match=f"{said} is mended, the same command goes on from here"):
                measure(tmp_path, World())
            stored = reader.read(tmp_path)
            assert not stored.torn and not stored.damaged and len(stored.lines) > 50
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    measure(tmp_path, World())
    assert reader.read(tmp_path).lines[: len(stored.lines)] == stored.lines
    assert_nothing_twice(tmp_path)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.submission
@pytest.mark.usefixtures("simulated")
def test_a_read_only_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", disk]).returncode:
        pytest.skip("may not mount")
    try:
        out = disk / "out"
        words = [str(out) if word.endswith("/out") else word for word in write_study(tmp_path)]
        finish(words)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        said = called(*words).refusal()
        assert said.endswith(f"taskgrain: {out}/runs.jsonl: cannot be written: Read-only file system\n")
        other = [str(out.with_name("other")) if word == str(out) else word for word in words]
        assert "/other: cannot be written: Read-only file system" in called(*other).refusal()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_removed_folder_is_noticed(tmp_path: Path) -> None:
    with Store(tmp_path / "out", {}, {}) as store:
        store.append(RunLine(cell="c", round=1))
        shutil.rmtree(tmp_path / "out")
        with pytest.raises(OutputError, match="was removed while it was written"):
            store.append(RunLine(cell="c", round=2))


LEFT = [(), ("runs.jsonl",), ("runs.jsonl", "logs/"), ("runs.jsonl", ".study.toml.new")]


@pytest.mark.parametrize("left", LEFT)
def test_whatever_a_kill_leaves_of_a_new_folder_opens(tmp_path: Path, left: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in left:
        (out / name).mkdir() if name.endswith("/") else (out / name).touch()
    with Store(out, {"cores": 2}, {}) as store:
        store.append(RunLine(cell="c"))
    assert tomllib.loads((out / "study.toml").read_text()) == {"cores": 2}


# -- no locks ---------------------------------------------------------------------------------------------


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(file: int, how: int) -> None:  # as a Lustre mounted without flock
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with Store(tmp_path, {}, {}) as store:
        assert "cannot be locked (Function not implemented): let no other" in store.warnings[0]


# -- odd lines --------------------------------------------------------------------------------------------

ODD: dict[str, object] = {
    "text": b"Killed\n",
    "zeros": bytes(4096) + b"\n",
    "a list": [1, 2],
    "foreign": {"event": "started", "level": "info"},
    "no numbers": b'{"kind":"run","seconds":[NaN]}\n',
    "deep": b"[" * 100_000 + b"\n",
    "long number": b'{"kind":"run","elapsed":' + b"9" * 10_000 + b"}\n",
    "elapsed for ever": b'{"kind":"cell","cell":"fast/nearest/width=4","elapsed":1e999}\n',
    "other schema": {"schema": "1.0", "kind": "run"},
    "run without times": {"kind": "run", "cell": "fast/nearest/width=4"},
    "rates of another machine": {"kind": "reference", "kernel": "compute_bound", "rates": [1.0] * 64},
    "rates without unit": {"kind": "reference", "kernel": "compute_bound", "rates": [1.0, 1.0]},
    "failure without words": {"kind": "failure", "cell": "fast/nearest/width=4"},
    "result without numbers": {"kind": "metg", "cell": "fast/nearest/width=4", "ending": "precise"},
    "unhashable": {"kind": ["run"], "cell": {}},
}


@pytest.mark.parametrize(
    "place",
    [
        "middle",
        pytest.param("first", marks=pytest.mark.submission),
        pytest.param("last", marks=pytest.mark.submission),
    ],
)
def test_odd_lines_change_nothing_and_are_told_of(tmp_path: Path, place: str) -> None:
    expected = comparable(measure(tmp_path, World()))
    runs = tmp_path / "runs.jsonl"
    content = runs.read_bytes().splitlines(True)
    odd = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in ODD.values()]
    cut = {"first": 0, "middle": len(content) // 2, "last": len(content)}[place]
    runs.write_bytes(b"".join([*content[:cut], *odd, *content[cut:]]))
    world = World()
    assert comparable(measure(tmp_path, world)) == expected
    assert world.runs == 0
    assert any("cannot be read in line" in note for note in world.notes)
    assert any("stored lines do not fit" in note for note in world.notes)


@pytest.mark.submission
@pytest.mark.parametrize("index", [0, 5, 100, -2])
def test_a_run_that_is_lost_costs_that_run_alone(tmp_path: Path, index: int) -> None:
    expected = comparable(measure(tmp_path, World()))
    runs = tmp_path / "runs.jsonl"
    content = runs.read_bytes().splitlines(True)
    numbers = [number for number, line in enumerate(content) if b'"kind": "run"' in line]
    content[numbers[index]] = b"\0" * len(content[numbers[index]]) + b"\n"
    runs.write_bytes(b"".join(content))
    world = World()
    found = comparable(measure(tmp_path, world))
    assert world.runs == 1
    for one, other in zip(found, expected, strict=True):
        assert one["metg"] == pytest.approx(other["metg"], rel=0.02)
    again = World()
    assert comparable(measure(tmp_path, again)) == found
    assert again.runs == 0


# -- other times ------------------------------------------------------------------------------------------


def test_an_older_folder_opens(tmp_path: Path) -> None:
    """Lines without a schema, and a study without the fields that came later, mean today's defaults."""
    expected = comparable(measure(tmp_path, World()))
    runs, study = tmp_path / "runs.jsonl", tmp_path / "study.toml"
    old = [json.loads(line) for line in runs.read_text().splitlines()]
    for line in old:
        del line["schema"]
        line.pop("attempts", None)
        line.pop("prepare_seconds", None)
    runs.write_text("".join(json.dumps(line) + "\n" for line in old))
    table = tomllib.loads(study.read_text())
    for name in ("isa", "experiment", "first_iterations"):
        del table[name]
    for workload in table["workloads"]:
        del workload["persistent"], workload["samples"]
    study.write_text(tomli_w.dumps(table))
    world = World()
    found = comparable(measure(tmp_path, world))
    assert world.runs == 0
    assert [one | {"schema": 1} for one in found] == expected
    study.write_text(tomli_w.dumps(table))
    assert [one | {"schema": 1} for one in comparable(measure(tmp_path, World()))] == expected
    study.write_text(tomli_w.dumps(table | {"experiment": "sweep"}))
    with pytest.raises(UsageError, match=r'differs in experiment \("sweep" there, "metg" now\)'):
        measure(tmp_path, World())
    table["threshold"] = 0.7
    study.write_text(tomli_w.dumps(table))
    with pytest.raises(UsageError, match=r"differs in threshold \(0.7 there, 0.5 now\)"):
        measure(tmp_path, World())


@pytest.mark.submission
def test_a_clock_set_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, backwards = tmp_path / "whole", tmp_path / "backwards"
    expected = comparable(measure(whole, World()))
    times = iter(range(2_000_000_000, 0, -1000))
    monkeypatch.setattr("taskgrain.results.store.time.time", lambda: float(next(times)))
    assert comparable(measure(backwards, World())) == expected
    found = lines(backwards, "run")
    assert found[0]["time"] > found[-1]["time"]
    assert [line["elapsed"] for line in found] == sorted(line["elapsed"] for line in found)
    world = World()
    assert comparable(measure(backwards, world)) == expected
    assert world.runs == 0
