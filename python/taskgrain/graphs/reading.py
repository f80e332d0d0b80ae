"""Reads the values of a file, of the types that its format says; errors name the place in the file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from taskgrain.graphs.task_graph import amount
from taskgrain.words.errors import InputError

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
_TEXTS = {str, int}


def wrong_at(text: str, at: int, allowed: str) -> InputError:
    """The error for a wrong value at a place of a file."""
    found = text[at : at + 40].partition("\n")[0] or "the end of the line" * (at < len(text))
    return InputError(f"line {text.count(chr(10), 0, at) + 1}", found or "the end of the file", allowed)


def _space(text: str, at: int) -> int:
    """The place after the white space at a place."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def decoded(text: str, at: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
    """The JSON value at a place, and the place after it. Raises `InputError`."""
    try:
        value, end = decoder.raw_decode(text, _space(text, at))
    except json.JSONDecodeError as error:
        raise wrong_at(text, error.pos, "JSON") from None
    except RecursionError:
        raise InputError("JSON", "so many lists and objects", "fewer within each other") from None
    except InputError:
        raise
    except ValueError:  # of an integer
        raise InputError("JSON", "a number with thousands of digits", "a shorter one") from None
    return value, _space(text, end)


class Entry:
    """An object of a JSON file, at a place that errors name. Where several keys are given, the first counts
    that has a value. What is missing, or of another type, raises `InputError`."""

    __slots__ = ("fields", "place")

    def __init__(self, place: str, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise InputError(place, fields, "an object")
        self.place = place
        self.fields: Mapping[str, Any] = fields

    def get(self, *keys: str) -> Any:
        """Any value, or None."""
        for key in keys:
            if (found := self.fields.get(key)) is not None:
                return found
        return None

    def where(self, *keys: str) -> str:
        """The place of what `get` finds, or of the first key where nothing has a value."""
        return f"{self.place}, {next((one for one in keys if self.get(one) is not None), keys[0])}"

    def wrong(self, allowed: str, *keys: str) -> InputError:
        value = self.get(*keys)
        return InputError(self.where(*keys), "nothing" if value is None else value, allowed)

    def text(self, *keys: str) -> str:
        """A text; a whole number counts as one, as in ids."""
        if type(found := self.get(*keys)) not in _TEXTS:
            raise self.wrong("a text", *keys)
        return str(found)

    def texts(self, *keys: str) -> list[str]:
        """The texts of a list, which may be missing."""
        found = self.items(*keys)
        if not _TEXTS.issuperset(map(type, found)):
            raise self.wrong("a list of texts", *keys)
        return [*map(str, found)] if found else found

    def whole(self, key: str) -> int:
        """A whole number from 0 on."""
        found = self.get(key)
        if type(found) is not int or found < 0:
            raise self.wrong("a whole number from 0 on", key)
        return found

    def wholes(self, key: str) -> list[int]:
        """The whole numbers from 0 on of a list, which may be missing."""
        found: list[int] = self.items(key)
        if not {int}.issuperset(map(type, found)) or min(found, default=0) < 0:
            raise self.wrong("a list of whole numbers from 0 on", key)
        return found

    def amount(self, *keys: str) -> float:
        """A number from 0 on, which may be a text."""
        found = self.get(*keys)
        if type(found) is float and 0.0 <= found < math.inf:
            return found  # most are
        return amount("nothing" if found is None else found, self.where(*keys))

    def known(self, *keys: str) -> float | None:
        """The same, or None where it is missing."""
        return None if self.get(*keys) is None else self.amount(*keys)

    def items(self, *keys: str) -> list[Any]:
        """A list, which is empty if it is missing."""
        found = self.get(*keys)
        if not isinstance(found, list | None):
            raise self.wrong("a list", *keys)
        return found or []

    def entry(self, key: str) -> Entry:
        """An object, which is empty if it is missing."""
        found = self.get(key)
        return Entry(f"{self.place}, {key}", {} if found is None else found)

    def entries(self, *keys: str) -> list[Entry]:
        """The objects of a list, which may be missing."""
        place = self.where(*keys)
        return [Entry(f"{place}, entry {n}", one) for n, one in enumerate(self.items(*keys), 1)]
