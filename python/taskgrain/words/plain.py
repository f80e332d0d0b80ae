"""Texts and numbers from elsewhere, made safe for a page, a terminal and JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_NUMBERS = {float, int, bool, type(None)}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def text(value: object) -> str:
    """A text without terminal colours and control characters; another value as JSON; nothing for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _CONTROL.sub("\ufffd", _ANSI.sub("", shown.replace("\r\n", "\n").replace("\r", "\n")))


def cleaned(value: T) -> T:
    """The same value with each text in it made safe, also in lists, tables and dataclasses."""
    found: Any = value
    if type(value) is str:
        found = text(value)
    elif isinstance(value, tuple | list):
        if not _NUMBERS.issuperset(map(type, value)):
            found = type(value)(map(cleaned, value))
    elif isinstance(value, Mapping):
        found = {cleaned(key): cleaned(one) for key, one in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        parts = ((name, one) for name, one in vars(value).items() if type(one) not in _NUMBERS)
        changed = {name: new for name, one in parts if (new := cleaned(one)) is not one}
        found = replace(value, **changed) if changed else value
    return found  # type: ignore[no-any-return]


def finite(value: object) -> object:
    """The same with None in the place of numbers that JSON has not, and that Python reads (as `1e999`) and
    writes all the same."""
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
