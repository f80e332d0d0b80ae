"""Reads Chakra traces (https://github.com/mlcommons/chakra) in the JSON of their `chakra_jsonizer`."""

from __future__ import annotations

from taskgrain.graphs.reading import Entry, decoded
from taskgrain.graphs.task_graph import TaskGraph, made
from taskgrain.words.errors import InputError

FORMAT = "Chakra"
_DURATION = ("durationMicros", "duration_micros")
_BEFORE = (("ctrlDeps", "ctrl_deps"), ("dataDeps", "data_deps"))
"""The names of fields in JSON, and those of protobuf, which some writers keep."""


def is_chakra(first: object, more: bool) -> bool:
    """Tells a trace from other JSON by its first object: it is a node, or `more` follows it."""
    if not isinstance(first, dict) or {"workflow", "steps"} & first.keys():
        return False
    fields = {*_DURATION, *_BEFORE[0], *_BEFORE[1]}
    return (more and "width" not in first) or bool(fields & first.keys())


def read_chakra(text: str) -> TaskGraph:
    """The nodes of a trace, one JSON object after another, with times in microseconds. What is 0 or empty is
    not written. Raises `InputError`."""
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    before = []
    objects = at = 0
    while at < len(text):
        fields, at = decoded(text, at)
        objects += 1
        node = Entry(f"node {objects}", fields)
        if not {"id", "name", "type"} & node.fields.keys():
            if objects > 1:
                raise InputError(node.place, fields, "an id, a name or a type")
            continue  # the metadata
        name = node.text("id") if "id" in node.fields else "0"
        if name in durations:
            raise InputError(f"{node.place}, id", name, "an id that no other node has")
        labels |= {name: node.text("name")} if node.get("name") else {}
        took = node.known(*_DURATION)
        durations[name] = None if took is None else took / 1e6
        before += [(name, other) for keys in _BEFORE for other in node.texts(*keys)]
    return made(FORMAT, durations, before, "s", None, labels)
