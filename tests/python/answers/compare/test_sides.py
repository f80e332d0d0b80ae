"""Tests of the words that name sides of a comparison, and of errors for words that name nothing."""

import shutil
from pathlib import Path

import compared_folders as made
import pytest

from taskgrain.answers.compare.sides import Side, side, sides
from taskgrain.results.measurements import Folder, opened
from taskgrain.words.errors import TaskgrainError, UsageError

FIRST, SECOND = "aaaa1111aaaa1111", "bbbb2222bbbb2222"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two systems, one of which was built again and measured anew in a second session."""
    lines = [made.session("5e551011", 0.0, {"mpi": FIRST, "limit": "cccc3333cccc3333"})]
    for system in ("mpi", "limit"):
        lines += [made.cell(system, "fft", 1.0), *made.runs(system, "fft", 1e-7, rounds=range(2))]
    lines += [made.session("5e552022", 9.0, {"mpi": SECOND}), made.cell("mpi", "fft", 10.0)]
    lines += made.runs("mpi", "fft", 2e-7, rounds=range(2))
    return made.write(tmp_path / "r", lines)


def found(one: Side) -> list[tuple[str, str | None]]:
    return [(each.system, each.build and each.build[:4]) for each in one.measurements]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("", [("limit", "cccc"), ("mpi", "bbbb")]),
        ("@mpi", [("mpi", "bbbb")]),
        ("@aaaa1111", [("mpi", "aaaa")]),
        ("@aaaa", [("mpi", "aaaa")]),
        ("@bbbb2222bbbb2222", [("mpi", "bbbb")]),
        ("@mpi@aaaa1111", [("mpi", "aaaa")]),
        ("@5e551011", [("mpi", "aaaa"), ("limit", "cccc")]),
        ("@5e551011@limit", [("limit", "cccc")]),
        ("@limit@5e5510", [("limit", "cccc")]),
    ],
)
def test_names_of_systems_sessions_and_builds(
    folder: Path, names: str, expected: list[tuple[str, str]]
) -> None:
    assert sorted(found(side(f"{folder}{names}"))) == sorted(expected)


def test_a_side_says_which_system_was_named(folder: Path) -> None:
    assert side(f"{folder}@mpi").system == "mpi"
    assert side(str(folder)).system is None
    assert side(f"{folder}@mpi,{folder}@limit").system is None
    assert side(str(folder)).cells == [("limit", "fft/width=4"), ("mpi", "fft/width=4")]


def test_several_folders_are_one_side(tmp_path: Path) -> None:
    folders = [made.measured(tmp_path / name, {"mpi": 1e-7}) for name in "abc"]
    one = side(",".join(map(str, folders)))
    assert [measurement.folder for measurement in one.of("mpi", "stencil_1d/width=4")] == folders


def test_the_same_data_do_not_count_twice(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "a", {"mpi": 1e-7})
    shutil.copytree(folder, tmp_path / "b")
    (tmp_path / "c").symlink_to(folder)
    old = made.write(tmp_path / "d", [made.cell("mpi", "fft", 1.0), *made.runs("mpi", "fft", 1e-7)])
    for other in (folder, tmp_path / "b", tmp_path / "c"):
        with pytest.raises(UsageError, match="has a session of mpi twice"):
            side(f"{folder},{other}")
    with pytest.raises(UsageError, match="twice"):
        side(f"{old},{old}")
    assert len(side(f"{folder},{old}").measurements) == 2


def test_a_folder_may_have_the_signs_in_its_name(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "a,b@c", {"mpi": 1e-7})
    assert found(side(str(folder))) == [("mpi", "aaaa")]
    plain = made.measured(tmp_path / "a@b", {"mpi": 1e-7})
    assert found(side(f"{plain}@mpi")) == [("mpi", "aaaa")]


def test_systems_of_one_folder_are_sides(folder: Path) -> None:
    first, second = sides([str(folder)], ["limit", "mpi"])
    assert (first.system, second.system) == ("limit", "mpi")
    assert first.label == f"{folder}@limit"


def test_each_folder_is_read_once(folder: Path) -> None:
    read: list[Path] = []

    def counted(place: Path) -> Folder:
        read.append(place)
        return opened(place)

    sides([str(folder), f"{folder}@5e551011"], ["limit", "mpi"], counted)
    sides([str(folder)], ["limit", "mpi"], counted)
    assert read == [folder, folder]


def test_systems_leave_out_the_others(folder: Path) -> None:
    first, second = sides([str(folder), str(folder)], ["mpi"])
    assert found(first) == found(second) == [("mpi", "bbbb")]


@pytest.mark.parametrize(
    ("words", "systems", "message"),
    [
        (["{r}"], [], "give two sides at least"),
        (["{r}"], [], "there are limit, mpi"),
        ([], [], "give two sides"),
        (["{r}"], ["mpi"], "two systems of"),
        (["{r}", "{r}x"], [], "x is not allowed; allowed: a results folder, or FOLDER@NAME"),
        (["{r}", "{tmp}"], [], "runs.jsonl"),
        (
            ["{r}", "{r}@limmit"],
            [],
            "limmit is not allowed. Did you mean limit? Allowed: mpi, limit, 5e551011",
        ),
        (["{r}", "{r}@5e55"], [], "5e55 may be session 5e551011, session 5e552022; give more digits"),
        (["{r}", "{r}@aaa"], [], "aaa is not allowed"),
        (["{r}", "{r}@mpi@limit"], [], "names two of a kind, the systems mpi and limit"),
        (["{r}", "{r}@limit@aaaa1111"], [], "aaaa1111 is not allowed"),
        (["{r}", "{r}@limit@5e552022"], [], "has no cells"),
        (["{r}", "{r},"], [], "SIDE: "),
        (["{r}", "{r}"], ["mpii"], "--system: mpii is not allowed. Did you mean mpi? Allowed: limit, mpi"),
    ],
)
def test_words_that_name_nothing(
    folder: Path, tmp_path: Path, words: list[str], systems: list[str], message: str
) -> None:
    filled = [word.format(r=folder, tmp=tmp_path) for word in words]
    with pytest.raises(TaskgrainError) as refused:
        sides(filled, systems)
    assert refused.value.exit_code == 2
    assert message in str(refused.value)


def test_what_is_odd_about_a_folder_goes_with_the_side(folder: Path) -> None:
    with (folder / "runs.jsonl").open("a") as file:
        file.write("{")
    (warning,) = side(str(folder)).warnings
    assert warning.startswith(f"{folder}: ") and "torn" in warning
