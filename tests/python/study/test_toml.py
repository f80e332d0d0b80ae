"""The places of what is in a TOML file: right for every layout that TOML allows."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.study.toml import Keys, Place, loads, read
from taskgrain.words.errors import UsageError

FILE = Path("s.toml")


def entries(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Everything in a document, with how it is reached."""
    if keys:
        yield keys, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from entries(inner, (*keys, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from entries(inner, (*keys, index))


def following(text: str, place: Place) -> str:
    """The text at a place and behind it."""
    lines = text.split("\n")[place.line - 1 :]
    return "\n".join([lines[0][place.column - 1 :], *lines[1:]])


def parsed_at(text: str, place: Place) -> Any:
    """The value that begins at a place: the shortest text from there that is one."""
    rest = following(text, place)
    for end in range(1, len(rest) + 1):
        if rest[end : end + 1] not in ("", "\n", ",", " ", "]", "}", "\r", "#"):
            continue  # no value ends in the middle of a word
        try:
            return tomllib.loads(f"x = {rest[:end]}")["x"]
        except tomllib.TOMLDecodeError:
            continue
    raise AssertionError(f"no value begins at {place}: {rest!r}")


def check(text: str) -> None:
    """Every key and value has a place, where that key or value stands."""
    document = loads(text, FILE)
    assert document.table == tomllib.loads(text)
    text = text.replace("\r\n", "\n")
    for keys, value in entries(document.table):
        places = document.places[keys]
        name = keys[-1]
        if isinstance(name, str):
            word = re.match(r"""[A-Za-z0-9_-]+|"(\\.|[^"\\])*"|'[^']*'""", following(text, places.key))
            assert word is not None, keys
            assert tomllib.loads(f"{word[0]} = 0") == {name: 0}
        # A table may be written in several places, so only what is inside can be compared.
        if not isinstance(value, dict) and not (
            isinstance(value, list) and _is_headed(document.places, keys)
        ):
            assert parsed_at(text, places.value) == value, keys


def _is_headed(places: Any, keys: Keys) -> bool:
    """True if a list is an array of tables: its first element is where its name is."""
    return (*keys, 0) in places and places[(*keys, 0)].key == places[keys].key


LAYOUT = (Path(__file__).parents[1] / "layout.toml").read_text("utf-8")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_layout_of_toml(ends: str) -> None:
    check(LAYOUT.replace("\n", ends))


def test_places_are_those_that_an_editor_shows() -> None:
    document = loads(LAYOUT, FILE)
    assert document.value("title") == "s.toml:2:9: title"
    assert document.key("title") == "s.toml:2:1: key"
    assert document.value("lit é", "b", "c", 1, 0) == "s.toml:4:33: lit é.b.c[1][0]"
    assert document.value("a", "b", "d").startswith("s.toml:6:14: ")
    assert document.value("numbers", 1) == "s.toml:18:3: numbers[1]"
    assert document.value("w", 1, "inner", 1, "z").startswith("s.toml:33:7: ")
    assert document.key("w", 2, "last") == "s.toml:35:1: w[2].key"
    assert document.value("w", 2, "missing") == "s.toml:34:3: w[2].missing"
    assert document.value("missing") == "s.toml: missing"


KEY = st.text(
    st.characters(codec="utf-8", exclude_characters="\r"), min_size=0, max_size=4
) | st.sampled_from(["a", "b", "a-b", "1", "x.y", "é"])
SCALAR = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
    | st.dates()
    | st.sampled_from(["[x]", "a = 1\nb = 2\n", '"""', "'''", "# no", "\\", 'x"\n[t]\n"y'])
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(KEY, VALUE, max_size=4), st.data())
def test_places_where_tables_are_dotted_and_inline(table: dict[str, Any], data: st.DataObject) -> None:
    """The same tables, but written with dotted keys and inline tables, one line each, and blanks."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{name(key)} = {inline(one)}" for key, one in value.items()) + "}"
        if isinstance(value, list):
            gap = data.draw(st.sampled_from(["", " ", "\n", " # a, b ]\n "]))
            return "[" + "".join(f"{gap}{inline(one)}{gap}," for one in value) + gap + "]"
        return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")

    def name(key: str) -> str:
        return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")

    def lines(value: dict[str, Any], before: str) -> Iterator[str]:
        for key, one in value.items():
            if isinstance(one, dict) and one and data.draw(st.booleans()):
                yield from lines(one, before + name(key) + data.draw(st.sampled_from([".", " . "])))
            else:
                yield f"{data.draw(st.sampled_from(['', '  ']))}{before}{name(key)} = {inline(one)}\n"

    check("".join(lines(table, "")))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"a = 1\nb == 2\n", "s.toml:2:4: is not TOML: Invalid value"),
        (b"a = [1,\n", "s.toml:2:1: is not TOML: "),
        (b"a = 1\na = 2\n", "s.toml:2:6: is not TOML: Cannot overwrite a value"),
        (b"\xff\xfea\0", "s.toml:1:1: is not TOML: byte 0xff is not UTF-8"),
        (b"a = " + b"9" * 5000, "s.toml: is not TOML: an integer has more than 128 bits"),
        (b"a = [{b = 0x" + b"F" * 5000 + b"}]", "s.toml: is not TOML: an integer has more than 128 bits"),
        (b"#" * (2**21 + 1), "s.toml: is too large; at most 2 MiB are allowed"),
        ("é = 1\nü = ".encode() + b"'\xff'", "s.toml:2:6: is not TOML: byte 0xff is not UTF-8"),
        (b"a = " + b"[" * 100_000, "s.toml: is nested too deeply"),
        (b"a = 1\0", "s.toml:1:6: is not TOML"),
    ],
)
def test_what_is_not_toml_is_placed(tmp_path: Path, raw: bytes, words: str) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(raw)
    with pytest.raises(UsageError) as caught:
        read(file)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(words)
    assert caught.value.exit_code == 2


def test_what_only_tomllib_reads_has_values_but_no_places() -> None:
    """The grammar does not know blanks between a backslash and the line's end that it takes away."""
    document = loads('a = """x \\  \n y"""\nb = 1\n', FILE)
    assert document.table == {"a": "x y", "b": 1}
    assert document.value("b") == "s.toml: b"
