"""Reads Chakra traces (https://github.com/mlcommons/chakra) in the JSON of their `chakra_jsonizer`."""

from __future__ import annotations

import re

from taskgrain.graphs.reading import Entry, decoded
from taskgrain.graphs.task_graph import TaskGraph, made
from taskgrain.words.errors import InputError

FORMAT = "Chakra"
_DURATION = ("durationMicros", "duration_micros")
_BEFORE = (("ctrlDeps", "ctrl_deps"), ("dataDeps", "data_deps"))
_WHOLE = ("int", "uint", "sint", "fixed", "sfixed")
_NUMBERS = (*(f"{kind}{bits}" for kind in _WHOLE for bits in (64, 32)), "double", "float")
_VALUES = tuple(kind + end for kind in _NUMBERS for end in ("Val", "_val"))
"""The names of fields are those in JSON, and those of protobuf, which some writers keep."""
_SIZES = ("comm_size", "tensor_size")
_TENSOR = re.compile(r"\[\d+, *\d+, *\d+, *(\d{1,15}), *(\d{1,15}), *['\"]", re.ASCII)
"""A tensor in a text: its id and that of its storage, its offset, elements, the bytes of one, its device."""


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
    outputs: dict[str, float | None] = {}
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
        if (size := _bytes(node)) is not None:
            outputs[name] = size
        before += [(name, other) for keys in _BEFORE for other in node.texts(*keys)]
    return made(FORMAT, durations, before, "s", None, labels, outputs=outputs)


def _bytes(node: Entry) -> float | None:
    """The bytes that a communication moves or a load or store has, or those of the tensors that another node
    returns."""
    for one in node.entries("attr"):
        if one.get("name") in _SIZES:
            return one.known(*_VALUES)
    tensors = _TENSOR.findall(str(node.entry("outputs").get("values")))
    return sum(float(number) * float(of_each) for number, of_each in tensors) if tensors else None
