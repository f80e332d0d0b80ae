"""The ratios that a study ends with: who is compared with whom, and that it happens once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from killable_study import OVERHEADS
from simulated_world import World, measure

TABLE = {"patterns": ["stencil_1d", "nearest"], "widths": [4]}


def ratios(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "ratio"]


def test_every_cell_is_compared_with_the_best_of_its_workload(tmp_path: Path) -> None:
    measure(tmp_path, World(), table=TABLE)
    found = ratios(tmp_path)
    assert [(line["cell"], line["to"]) for line in found] == [
        (f"slow/{pattern}/width=4", f"fast/{pattern}/width=4") for pattern in ("stencil_1d", "nearest")
    ]
    for line in found:
        assert line["value"] == pytest.approx(OVERHEADS["slow"] / OVERHEADS["fast"], rel=0.05)
        assert line["low"] <= line["value"] <= line["high"] and line["rounds"] >= 5


def test_what_is_compared_is_not_compared_again(tmp_path: Path) -> None:
    measure(tmp_path, World(), table=TABLE)
    before = (tmp_path / "runs.jsonl").read_bytes()
    states = measure(tmp_path, World(), table=TABLE)
    assert (tmp_path / "runs.jsonl").read_bytes() == before
    assert [len(state.stored.ratios) for state in states] == [0, 1, 0, 1]


def test_a_bound_is_not_the_best_and_all_are_compared_with_it(tmp_path: Path) -> None:
    world = World()
    world.bounds = {"fast"}
    measure(tmp_path, world, table={"patterns": ["nearest"], "widths": [4]})
    found = [(line["cell"], line["to"]) for line in ratios(tmp_path)]
    fast, slow = "fast/nearest/width=4", "slow/nearest/width=4"
    assert found == [(fast, slow), (slow, fast)]


def test_a_failed_cell_is_compared_with_none(tmp_path: Path) -> None:
    world = World()
    world.faults = {("fast", "nearest"): "validation"}
    measure(tmp_path, world, table=TABLE)
    assert [line["cell"] for line in ratios(tmp_path)] == ["slow/stencil_1d/width=4"]
