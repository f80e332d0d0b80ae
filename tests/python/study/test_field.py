"""A field: what it takes from a person, what it says of itself, and its schema."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.study.field import Field, flag
from taskgrain.words.errors import InputError

COUNT = Field("output_bytes", "integer", 3, "How many", low=1, high=1000)
SHARE = Field("share", "number", 0.5, "A part", high=1, above=True, below=True)
SIZE = Field("size", "bytes", 16, "Bytes of an output", low=16)
TIME = Field("budget", "seconds", 0.0, "Time for everything")
SWITCH = Field("persistent", "flag", False, "Whether it stays")
FILE = Field("dag", "text", "", "A file")
NAME = Field("experiment", "name", "metg", "What to measure")
CHOICE = Field("isa", "choice", "auto", "Instruction set", choices=("auto", "avx2"))
_BYTES = "bytes, at least 16, such as 4096, 64K, 64KiB, 1M (multiples of 1024; KB is not allowed)"
ALL = [COUNT, SHARE, SIZE, TIME, SWITCH, FILE, NAME, CHOICE]


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        (COUNT, "1e3", 1000),
        (COUNT, 2.0, 2),
        (SHARE, "0.25", 0.25),
        (SHARE, "25 %", 0.25),
        (SIZE, "64K", 65536),
        (TIME, "1.5m", 90.0),
        (TIME, "1-00:00:00", 86400.0),
        (TIME, 0, 0.0),
        (SWITCH, True, True),
        (FILE, "a b.dag", "a b.dag"),
        (NAME, "sweep", "sweep"),
        (CHOICE, "avx2", "avx2"),
    ],
)
def test_what_is_read(field: Field, value: object, read: object) -> None:
    found = field.read(value, "x")
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        (COUNT, 0, "an integer from 1 to 1000"),
        (COUNT, 1001, "an integer from 1 to 1000"),
        (SHARE, 0, "a number above 0 and below 1, such as 0.05 or 5%"),
        (SHARE, 1.0, "a number above 0 and below 1, such as 0.05 or 5%"),
        (SIZE, 15, _BYTES),
        (SIZE, "1KB", _BYTES),
        (TIME, "soon", "a time from 0 to 365d, such as 90, 10m, 2h, 1d, 1-00:00:00"),
        (SWITCH, 1, "true or false"),
        (FILE, 3, "text"),
        (NAME, "two\nlines", "text"),
        (CHOICE, "sse", "auto, avx2"),
    ],
)
def test_what_is_refused(field: Field, value: object, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        field.read(value, "here")
    assert (caught.value.field, caught.value.value, caught.value.allowed) == ("here", value, allowed)


def test_an_integer_reaches_as_far_as_the_protocol() -> None:
    wide = Field("seed", "integer", 0, "Of the random numbers")
    assert wide.read(2**63 - 1, "x") == 2**63 - 1
    with pytest.raises(InputError, match="an integer from 0 to 9223372036854775807"):
        wide.read(2**63, "x")


def test_what_a_field_says_of_itself() -> None:
    assert flag("output_bytes") == COUNT.flag == "--output-bytes"
    assert [one.metavar for one in ALL] == ["N", "X", "BYTES", "TIME", "", "FILE", "NAME", "NAME"]
    assert [one.name for one in ALL if one.is_file] == ["dag"]
    assert COUNT.text == "How many, 1 to 1000."
    assert SHARE.text == "A part, above 0 and below 1."
    assert SIZE.text == "Bytes of an output."
    assert CHOICE.text == "Instruction set; one of auto, avx2."


def test_a_schema_has_what_the_field_has() -> None:
    assert CHOICE.schema() == {"description": CHOICE.text, "default": "auto", "enum": ["auto", "avx2"]}
    assert SWITCH.schema() == {"description": SWITCH.text, "default": False, "type": "boolean"}
    number, text = SHARE.schema()["anyOf"]
    assert number == {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    assert text["type"] == "string"
    assert "default" not in replace(COUNT, default=None).schema(), "it must be given"


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 1000),
    st.floats(),
    st.floats(0, 1),
    st.text(max_size=8),
    st.from_regex(r"\A[0-9.]{1,4}(e[0-9])?( ?(%|[KMsmhd]|us|min|iB|:[0-9]{1,3}|-[0-9]{1,2})){0,2}\Z"),
    st.sampled_from(["auto", "64K", "10m", "0.5", "7"]),
)


@given(st.sampled_from(ALL), VALUES)
def test_what_is_read_is_in_range_and_in_the_schema(field: Field, value: Any) -> None:
    try:
        found = field.read(value, "x")
    except InputError as error:
        assert str(error).startswith("x: ")
        return
    validator = jsonschema.Draft7Validator(field.schema())
    assert validator.is_valid(value)
    assert validator.is_valid(found)
    assert field.read(found, "x") == found, "what was read reads the same"
    if isinstance(found, float | int):
        assert field.low <= found <= field.high
