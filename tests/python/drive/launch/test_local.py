"""The placeholders of a command on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.drive.launch.local import PLACEHOLDERS, fill, names_in

FOLDER = Path("/systems/it")


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("{dir}/driver", "/systems/it/driver"),
        ("-n{cores}x{nodes}", "-n3x1"),
        ("OMP_PLACES={places}", "OMP_PLACES={4},{5},{9}"),
        ("{python}", sys.executable),
        ("{dir}{dir}", "/systems/it/systems/it"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_placeholders(word: str, filled: str) -> None:
    assert fill(word, FOLDER, (4, 5, 9)) == filled


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="{"), max_size=5), st.integers() | st.lists(st.integers())
    )
)
def test_json_in_a_command_stays_as_it_is(table: dict[str, object]) -> None:
    word = json.dumps(table)
    assert names_in(word) == []
    assert fill(word, FOLDER, (0,)) == word


@given(st.lists(st.sampled_from([*(f"{{{name}}}" for name in PLACEHOLDERS), "{", "}", "{0}", "a b", "{A}"])))
def test_every_placeholder_is_filled_and_nothing_else(pieces: list[str]) -> None:
    word = "".join(pieces)
    assert set(names_in(word)) <= set(PLACEHOLDERS)
    # A folder that looks like a placeholder is no placeholder.
    filled = fill(word, Path("/{dir}"), ())
    assert filled.count("/{dir}") == word.count("{dir}")


def test_names_that_are_unknown_are_found_too() -> None:
    assert names_in("{dir}/{there} {0} {x}y") == ["dir", "there", "x"]


def test_no_cores_are_no_places() -> None:
    assert fill("{cores}:{places}", FOLDER, ()) == "0:"
