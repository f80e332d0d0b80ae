"""A study file together with all that it includes, as one table (docs/reference/study.md, "Includes")."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskgrain.study.fields import rivals
from taskgrain.study.toml import Document, Keys, read
from taskgrain.words.errors import InputError, UsageError

APPENDED = ("workloads", "exclude")
"""Keys whose arrays of several files are put one behind the other."""

_DEEPEST = 32
"""Files in a chain of includes."""


def read_study(file: Path) -> Document:
    """The table of `file`, without `include`. Raises `UsageError` or `InputError` with line and column."""
    return _read(file, (), set(), "")


def _read(file: Path, chain: tuple[str, ...], known: set[str], where: str) -> Document:
    chain = (*chain, str(file))
    shown = where + " includes ".join(chain)
    if len(chain) > _DEEPEST:
        raise UsageError(f"{where}{file}: is included through more than {_DEEPEST} files")
    if os.path.realpath(file) in map(os.path.realpath, chain[:-1]):
        raise UsageError(f"{shown}: is a circle")
    merged = Document({}, {}, file)
    # What two files both include counts where it comes first.
    if os.path.realpath(file) not in known:
        known.add(os.path.realpath(file))
        own = read(file, shown)
        for named, other in _included(own, file.parent):
            _merge(merged, _read(other, chain, known, f"{named}: "))
        _merge(merged, own)
    return merged


def _included(own: Document, folder: Path) -> list[tuple[str, Path]]:
    """The files that a study includes, each with what to report it as."""
    value = own.table.pop("include", [])
    keyed = enumerate(value) if isinstance(value, list) else [(None, value)]
    found = []
    for index, name in keyed:
        named = own.value("include") if index is None else own.value("include", index)
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(named, name, "the name of a file, relative to the one that includes it")
        found.append((named, folder / name))
    return found


def _merge(into: Document, later: Document) -> None:
    """Adds a file's table to the table of the files before it."""
    rest = dict(later.table)
    for key in APPENDED:
        old, new = into.table.get(key), rest.get(key)
        if isinstance(old, list) and isinstance(new, list):
            _take(into, later, (key,), len(old))
            into.table[key] = old + rest.pop(key)
    old, new = into.table.get("defaults"), rest.get("defaults")
    if isinstance(old, dict) and isinstance(new, dict):
        _replace(into, later, ("defaults",), old, rest.pop("defaults"))
    _replace(into, later, (), into.table, rest)


def _replace(
    into: Document, later: Document, base: Keys, old: dict[str, Any], new: Mapping[str, Any]
) -> None:
    """Puts what `new` has into `old`; both are the tables at `base`."""
    for key in new:
        _forget(into, (*base, key))
        for rival in rivals(key, old):
            del old[rival]
            _forget(into, (*base, rival))
    for key, value in new.items():
        old[key] = value
        _take(into, later, (*base, key))


def _forget(into: Document, keys: Keys) -> None:
    """Removes the places of `keys` and below."""
    for path in [path for path in into.places if path[: len(keys)] == keys]:
        del into.places[path]


def _take(into: Document, later: Document, keys: Keys, offset: int = 0) -> None:
    """Takes over the places of `keys` and below; the elements of an array come `offset` further."""
    for path, places in later.places.items():
        if path[: len(keys)] != keys:
            continue
        rest = path[len(keys) :]
        if offset and rest and isinstance(rest[0], int):
            rest = (rest[0] + offset, *rest[1:])
        into.places.setdefault((*keys, *rest), places)
