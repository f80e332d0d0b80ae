"""The table of fields, and what of the harness follows a field that the core gets."""

import json
import subprocess
import sys

from taskgrain._core import fields
from taskgrain.study.fields import CORE, GIVEN, OF_A_RUN, PLURALS, WORKLOAD, rivals

PROGRAM = """
import json, sys
from taskgrain import _core

known = _core.fields()
new = {"name": "stride", "type": "integer", "unit": "", "default": 1, "low": 1, "high": 1000,
       "help": "Samples that a kernel advances by.", "of_kernel": True, "choices": None}
_core.fields = lambda: [*known, new]

from taskgrain.cli.options import GraphOptions
from taskgrain.results.tables import CELL
from taskgrain.study.schema import schema
from taskgrain.study.study import parse
from taskgrain.study.toml import Document
from taskgrain.words.errors import InputError

made = GraphOptions({"stride": "3", "width": "4"}).workload
study = parse(Document({"patterns": ["fft"], "widths": 4, "stride": [1, 2]}), 2)
try:
    GraphOptions({"stride": "0"}).workload
    refused = ""
except InputError as error:
    refused = str(error)
print(json.dumps({
    "name": made.name, "options": made.options(), "kernel": made.kernel(), "reference": made.reference(),
    "cells": [one.name for one in study.workloads], "column": "stride" in [one.name for one in CELL],
    "schema": schema()["definitions"]["stride"]["default"], "refused": refused,
}))
"""


def test_a_new_field_of_the_core_is_known_everywhere() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["name"] == "stencil_1d/width=4/stride=3"
    assert found["options"] == "--pattern stencil_1d --width 4 --stride 3"
    assert found["kernel"]["stride"] == found["reference"]["stride"] == 3
    assert found["cells"] == ["fft/width=4", "fft/width=4/stride=2"]
    assert found["column"] and found["schema"] == 1
    assert found["refused"].startswith("--stride: 0 is not allowed; allowed: an integer from 1 to 1000")


def test_the_table_is_the_cores() -> None:
    assert list(CORE) == [one["name"] for one in fields()]
    assert set(WORKLOAD) == {*CORE, "nodes", "cores", "graphs"} - set(OF_A_RUN)
    assert set(GIVEN) == {*WORKLOAD, "like", "tasks_per_core", "neighbours"}
    assert set(PLURALS.values()) <= set(WORKLOAD)


def test_rivals_say_the_same() -> None:
    assert rivals("width", {"tasks_per_core": 1, "radix": 3}) == ["tasks_per_core"]
    assert rivals("patterns", {"pattern": 1}) == ["pattern"]
    assert rivals("radix", {"radix": 3, "width": 1}) == []
    assert rivals("like", {"pattern": 1, "radix": 3}) == ["pattern"]
    assert rivals("neighbours", {"radix": 3}) == ["radix"]
