"""Reads Chakra traces (https://github.com/mlcommons/chakra) in the JSON of their `chakra_jsonizer`."""

from __future__ import annotations

import json
import re
from typing import Any

from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

FORMAT = "Chakra"
_SPACE = re.compile(r"\s*")
BEGIN = re.compile(r'\{\s*\}\s*\{|\{\s*"(attr|version|id|type)":')
"""Metadata, which may be empty, or a node. No other format begins so."""


def read_chakra(text: str) -> TaskGraph:
    """The nodes of a trace, one JSON object after another, with times in microseconds. What is 0 or empty is
    not written. Raises `InputError`."""
    decoder, at = json.JSONDecoder(), 0
    durations: dict[str, float | None] = {}
    before = []
    while at < len(text):
        try:
            node, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise InputError("JSON", str(error), "nodes of a Chakra trace") from error
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if not isinstance(node, dict):
            raise InputError("JSON", node, "nodes of a Chakra trace, which are objects")
        if not {"id", "name", "type"} & node.keys():
            continue  # the metadata
        name = str(node.get("id", 0))
        if name in durations:
            raise InputError("id", name, "an id that no other node has")
        durations[name] = amount(node.get("durationMicros", 0), f"time of {name}") / 1e6
        before += [(name, str(other)) for key in ("ctrlDeps", "dataDeps") for other in _list(node, key)]
    return made(FORMAT, durations, before, "s")


def _list(node: dict[str, Any], key: str) -> list[object]:
    found = node.get(key, [])
    if not isinstance(found, list):
        raise InputError(key, found, "a list of ids")
    return found
