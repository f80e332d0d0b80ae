"""Presets: each file is whole, explains itself, and is a workload that the core accepts."""

import json

import pytest

from taskgrain._core import Run
from taskgrain.study import presets
from taskgrain.study.fields import GIVEN
from taskgrain.study.study import workload
from taskgrain.study.workload import Workload

NAMES = presets.names()


def made(**table: object) -> Workload:
    return workload(table, 2, str)


def test_the_applications_that_there_are() -> None:
    assert list(NAMES) == sorted(NAMES)
    wanted = {"halo-1d", "halo-2d", "halo-3d", "sweep", "fft", "multigrid", "tree-reduction", "map-reduce"}
    assert {*wanted, "training-step", "particle-exchange"} <= set(NAMES)
    assert GIVEN["like"].choices == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_explains_itself_and_is_a_workload(name: str) -> None:
    one = presets.read(name)
    assert (one.name, one.file.name) == (name, f"{name}.toml")
    assert one.title and not one.title.endswith(".")
    assert one.text.endswith(".") and one.text.count(". ") >= 2 and "\n" not in one.text
    assert "pattern" in one.fields and one.fields.keys() <= GIVEN.keys() - {"like"}
    found = made(like=name)
    assert found == made(**one.fields)
    graphs = found.request(1, 8)[:1]
    assert Run(json.dumps({"op": "run", "graphs": graphs, "validate": "off"})).tasks > 0


def test_what_is_given_beside_a_preset_counts() -> None:
    assert made(like="halo-2d").name == "stencil_2d/width=16/output_bytes=4096"
    assert made(like="halo-2d", width=9, output_bytes="64K").name == "stencil_2d/width=9/output_bytes=65536"
    assert made(like="particle-exchange", radix=5)["radix"] == 5
    assert made(like="particle-exchange", neighbours=2)["radix"] == 3
