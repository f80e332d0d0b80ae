"""Reads Chakra traces (https://github.com/mlcommons/chakra) in the JSON of their `chakra_jsonizer`."""

from __future__ import annotations

import json
import re
from typing import Any

from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

FORMAT = "Chakra"
_SPACE = re.compile(r"\s*")
_NAMES = {"durationMicros": "duration_micros", "ctrlDeps": "ctrl_deps", "dataDeps": "data_deps"}
"""The names of fields in JSON, and those of protobuf, which some writers keep."""


def is_chakra(first: object, more: bool) -> bool:
    """Tells a trace from other JSON by its first object: it is a node, or `more` follows it."""
    if not isinstance(first, dict) or {"workflow", "steps"} & first.keys():
        return False
    fields = {*_NAMES, *_NAMES.values()}
    return (more and "width" not in first) or bool(fields & first.keys())


def read_chakra(text: str) -> TaskGraph:
    """The nodes of a trace, one JSON object after another, with times in microseconds. What is 0 or empty is
    not written. Raises `InputError`."""
    decoder, at = json.JSONDecoder(), space(text, 0)
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    before = []
    objects = 0
    while at < len(text):
        try:
            node, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise InputError("JSON", str(error), "nodes of a Chakra trace") from error
        at = space(text, at)
        if not isinstance(node, dict):
            raise InputError("JSON", node, "nodes of a Chakra trace, which are objects")
        objects += 1
        if not {"id", "name", "type"} & node.keys():
            if objects > 1:
                raise InputError(f"object {objects}", [*node], "a node with an id, a name or a type")
            continue  # the metadata
        node = {name: node.get(name, node.get(other)) for name, other in _NAMES.items()} | {
            "id": node.get("id", 0),
            "name": node.get("name"),
        }
        name = str(node["id"])
        labels |= {name: str(node["name"])} if node.get("name") else {}
        if name in durations:
            raise InputError("id", name, "an id that no other node has")
        took = node["durationMicros"]
        durations[name] = None if took is None else amount(took, f"time of {name}") / 1e6
        before += [(name, str(other)) for key in ("ctrlDeps", "dataDeps") for other in _list(node, key)]
    return made(FORMAT, durations, before, "s", None, labels)


def space(text: str, at: int) -> int:
    """The place after the white space at a place."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _list(node: dict[str, Any], key: str) -> list[object]:
    found = node[key] or []
    if not isinstance(found, list):
        raise InputError(key, found, "a list of ids")
    return found
