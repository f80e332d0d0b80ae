"""The check of the rooms: what imports up, what has no tests, and how docstrings and comments begin."""

from pathlib import Path

import check_rooms
import pytest

TEST = "def test_it() -> None:\n    assert 1\n"
LARGE = "x = 1\n" * check_rooms.LARGE


class House:
    """A package with rooms and its tests."""

    def __init__(self, folder: Path) -> None:
        self.package, self.tests = folder / "package", folder / "tests"
        self.tests.mkdir()
        self.module("words/errors.py")
        self.module("drive/launch/local.py", "from taskgrain.words.errors import InputError\n")

    def module(self, name: str, text: str = "", test: str | None = TEST) -> None:
        """A module, with its tests unless these are None."""
        file = self.package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        for folder in [one for one in file.parents if one.is_relative_to(self.package)]:
            (folder / "__init__.py").touch()
        if test is not None:
            mirror = self.tests / Path(name).parent / f"test_{Path(name).name}"
            mirror.parent.mkdir(parents=True, exist_ok=True)
            mirror.write_text(test)

    def complaints(self) -> list[str]:
        found = check_rooms.complaints(self.package, self.tests)
        return [line.removeprefix(f"{self.package}/").replace(str(self.tests), "TESTS") for line in found]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_the_project_is_as_it_should_be() -> None:
    assert list(check_rooms.complaints(check_rooms.PACKAGE, check_rooms.TESTS)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from taskgrain.drive.tree import spawn\n", "1: words imports taskgrain.drive.tree, which lies"),
        (
            "import json\nimport taskgrain.cli.app\n",
            "2: words imports taskgrain.cli.app, which lies above it",
        ),
        ("from taskgrain import report\n", "1: words imports taskgrain.report, which lies above it"),
        ("def f():\n    from taskgrain.study import x\n", "2: words imports taskgrain.study, which lies"),
        ("from . import errors\n", "1: imports relatively; name the room"),
        ("from .errors import InputError\n", "1: imports relatively; name the room"),
    ],
)
def test_an_import_that_goes_up(house: House, text: str, words: str) -> None:
    house.module("words/numbers.py", text)
    assert house.complaints()[0].startswith(f"words/numbers.py:{words}")


@pytest.mark.parametrize(
    "text", ["from taskgrain.words import errors\n", "from taskgrain import _core\n", "import drive.cli\n"]
)
def test_imports_that_are_allowed(house: House, text: str) -> None:
    house.module("words/numbers.py", text)
    assert house.complaints() == []


def test_a_room_that_has_no_floor(house: House) -> None:
    house.module("helpers/all.py")
    assert house.complaints() == [f"helpers: has no floor; allowed: {', '.join(check_rooms.ROOMS)}"]


def test_a_large_module_without_tests(house: House) -> None:
    house.module("drive/tree.py", LARGE, test=None)
    house.module("drive/launch/slurm.py", LARGE, test=None)
    house.module("drive/session.py", LARGE, test="import pytest\n")
    house.module("machine/errors.py", LARGE, test=None)  # those of words/errors.py are not its own
    assert house.complaints() == [
        "drive/launch/slurm.py: has 80 lines and no tests in TESTS/drive/launch/test_slurm.py",
        "drive/session.py: has 80 lines and no tests in TESTS/drive/test_session.py",
        "drive/tree.py: has 80 lines and no tests in TESTS/drive/test_tree.py",
        "machine/errors.py: has 80 lines and no tests in TESTS/machine/test_errors.py",
    ]


def test_a_smaller_module_may_be_tested_through_its_room(house: House) -> None:
    house.module("drive/tree.py", LARGE.removesuffix("x = 1\n"), test=None)
    assert house.complaints() == []


def test_a_docstring_begins_with_a_verb_or_a_noun(house: House) -> None:
    house.module("words/numbers.py", '"""Reads numbers."""\n\nONE = 1\n"""What is one."""\n')
    assert house.complaints() == ["words/numbers.py:4: begin with a verb, or a noun with its article"]


def test_a_comment_of_a_header_begins_with_a_verb_or_a_noun(tmp_path: Path) -> None:
    header = tmp_path / "numbers.hpp"
    header.write_text("/// Numbers,\n/// of which there is one.\nint one;\n  /// Whether it is.\nbool is;\n")
    complaint = f"{header}:4: begin with a verb, or a noun with its article"
    assert list(check_rooms.comments_without_noun([header])) == [complaint]
