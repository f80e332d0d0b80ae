"""A TOML file and where in it each key and value stands, so that an error can say line and column.

tomllib makes the values, but knows a position only for an error of syntax; the grammar of tree-sitter, which
editors use, knows the position of everything. What the two disagree on costs a position, never a value.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from taskgrain.words.errors import UsageError

Keys = tuple[str | int, ...]
"""The way to a value: `("workloads", 0, "radix", 2)`."""
_MOST_BYTES = 2**21
"""The most bytes of a file that a person writes; one of 10,000 workloads has less."""
_MOST_BITS = 128
"""The most bits of an integer: what is larger has no place in a message, and Python refuses to print some."""
_SYNTAX = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")


class Place(NamedTuple):
    """The place of something; `line` and `column` (of characters) count from 1."""

    file: Path
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Places(NamedTuple):
    """The places of one entry. An array's element is its own key; a table has that of its first header."""

    key: Place
    value: Place


@dataclass
class Document:
    """A table, which may come from several files, and the places of its entries."""

    table: dict[str, Any]
    places: dict[Keys, Places] = field(default_factory=dict)
    file: Path | None = None

    def value(self, *keys: str | int) -> str:
        """Returns the place that a bad value is reported with: `s.toml:3:9: workloads[0].radix`.

        A value that is not there gets the place of the table that it should be in.
        """
        return self._where(keys, 1) + shown(keys)

    def key(self, *keys: str | int) -> str:
        """Returns the place that a bad key is reported with: `s.toml:3:1: workloads[0].key`."""
        return self._where(keys, 0) + shown((*keys[:-1], "key"))

    def file_of(self, *keys: str | int) -> Path | None:
        """The file that a value comes from."""
        return near.value.file if (near := self._near(keys)) else self.file

    def _where(self, keys: Keys, which: int) -> str:
        place = near[which] if (near := self._near(keys)) else self.file
        return f"{place}: " if place else ""

    def _near(self, keys: Keys) -> Places | None:
        """The places of an entry, or of the innermost table or array around it that has any."""
        around = (self.places.get(keys[:length]) for length in range(len(keys), 0, -1))
        return next((found for found in around if found), None)


def shown(keys: Keys) -> str:
    """`("workloads", 0, "radix")` as `workloads[0].radix`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def read(file: Path, called: str = "", *, placed: bool = True) -> Document:
    """A TOML file. Raises `UsageError` naming it, with line and column where it is not TOML.

    `called` is what a file that cannot be read is reported as, if not by its name. Without `placed` only the
    file is known of a place, which is five times quicker.
    """
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MOST_BYTES + 1 if placed else -1)
    except OSError as error:
        raise UsageError(f"{called or file}: cannot be read: {error.strerror}") from None
    if placed and len(raw) > _MOST_BYTES:
        raise UsageError(f"{called or file}: is too large; at most {_MOST_BYTES >> 20} MiB are allowed")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return loads(raw.decode("utf-8"), file, placed=placed)
    except UnicodeDecodeError as error:
        before = raw[: error.start].split(b"\n")
        place = Place(file, len(before), len(before[-1].decode("utf-8")) + 1)
        raise UsageError(f"{place}: is not TOML: byte 0x{raw[error.start]:02x} is not UTF-8") from None


def loads(text: str, file: Path, *, placed: bool = True) -> Document:
    """The same from the text of `file`."""
    text = text.replace("\r\n", "\n")
    try:
        table = tomllib.loads(text)
        _refuse_huge(table)
        return Document(table, _Index(text, file).places if placed else {}, file)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_syntax_error(str(error), text, file)) from None
    except RecursionError:
        raise UsageError(f"{file}: is nested too deeply") from None
    except ValueError:  # of Python, for thousands of digits; or of `_refuse_huge`
        raise UsageError(f"{file}: is not TOML: an integer has more than {_MOST_BITS} bits") from None


def _refuse_huge(value: object) -> None:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _refuse_huge(one)
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError


def _syntax_error(message: str, text: str, file: Path) -> str:
    if not (match := _SYNTAX.fullmatch(message)):
        return f"{file}: is not TOML: {message}"
    lines = text.split("\n")
    place = Place(file, int(match["line"] or len(lines)), int(match["column"] or len(lines[-1]) + 1))
    return f"{place}: is not TOML: {match['what']}"


class _Index:
    """The places of all keys of a document that tomllib has found to be valid."""

    def __init__(self, text: str, file: Path) -> None:
        self.places: dict[Keys, Places] = {}
        self._file = file
        self._lines = text.encode().split(b"\n")
        self._last: dict[Keys, int] = {}
        """The last element so far of every array of tables: the one that a later header goes into."""
        parser = Parser(Language(tree_sitter_toml.language()))
        root = parser.parse(text.encode()).root_node
        for node in () if root.has_error else root.named_children:
            if node.type == "pair":
                self._pair((), node)
            elif node.type in ("table", "table_array_element"):
                base = self._header(node.named_children[0], array=node.type == "table_array_element")
                for one in node.named_children[1:]:
                    if one.type == "pair":
                        self._pair(base, one)

    def _place(self, node: Node) -> Place:
        row, column = node.start_point
        return Place(self._file, row + 1, len(self._lines[row][:column].decode()) + 1)

    def _header(self, header: Node, *, array: bool) -> Keys:
        base: Keys = ()
        parts = list(_parts(header))
        for number, (name, node) in enumerate(parts, start=1):
            place = self._place(node)
            base = (*base, name)
            self.places.setdefault(base, Places(place, place))
            if array and number == len(parts):
                self._last[base] = self._last.get(base, -1) + 1
            if base in self._last:
                base = (*base, self._last[base])
                self.places.setdefault(base, Places(place, place))
        return base

    def _pair(self, base: Keys, pair: Node) -> None:
        key, value = (node for node in pair.named_children if node.type != "comment")
        for name, node in _parts(key):
            base = (*base, name)
            last = self._place(node)
            self.places.setdefault(base, Places(last, last))
        self.places[base] = Places(last, self._place(value))
        self._inside(base, value)

    def _inside(self, base: Keys, value: Node) -> None:
        inner = [node for node in value.named_children if node.type != "comment"]
        if value.type == "array":
            for index, node in enumerate(inner):
                place = self._place(node)
                self.places[(*base, index)] = Places(place, place)
                self._inside((*base, index), node)
        elif value.type == "inline_table":
            for node in inner:
                self._pair(base, node)


def _parts(key: Node) -> Iterator[tuple[str, Node]]:
    """The names of a dotted key, each with its place."""
    if key.type == "dotted_key":
        for part in key.named_children:
            yield from _parts(part)
    else:
        text = (key.text or b"").decode()
        yield next(iter(tomllib.loads(f"{text} = 0"))), key
