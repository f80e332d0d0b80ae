"""The kinds of tasks, by what each format says of a task."""

import json
from pathlib import Path

import pytest

from taskgrain.graphs.files import read
from taskgrain.graphs.kinds import kind_of, kinds

RECORDED = {"taskgrain_graph": 1, "names": ["task lu (lu.cpp:81)", "main"], "named": [0, 1, 0]}
WORKFLOW = [{"id": "a_ID01", "category": "a"}, {"id": "a_ID02", "name": "a"}, {"name": "b_7"}]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (r'digraph { x [label="POTRF(0)\n3 ms"]; y [label="\N"]; z [label=<<b>1</b>>]; y_2 }', "y POTRF z"),
        ("JobId: 1\nName: gemm\n\nJobId: 2\nName: gemm\n\nJobId: 3\n\nJobId: 4\n", "gemm task"),
        ('{"id": 1, "name": "all_reduce"} {"id": 2, "name": "all_reduce"} {"id": 3}', "all_reduce task"),
        (json.dumps({"workflow": {"tasks": WORKFLOW}}), "a b"),
        (json.dumps(RECORDED | {"before": [[], [], []]}), "task lu (lu.cpp:81)|main"),
        ("2\n0 1 0\n1 1 1 0\n", "task"),
    ],
)
def test_tasks_are_told_by_what_they_do(tmp_path: Path, text: str, names: str) -> None:
    (tmp_path / "graph").write_text(text)
    found = kinds(read(tmp_path / "graph"))
    assert [one.name for one in found] == names.split("|" if "|" in names else " ")
    assert sorted((-one.work, -one.tasks) for one in found) == [(-one.work, -one.tasks) for one in found]


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("t1", "t"),
        ("split_ID000012", "split"),
        ("GEMM(1, 2, 3)", "GEMM"),
        ("a.1-2_3", "a"),
        ("12", "task"),
        ("fft2d", "fft2d"),
    ],
)
def test_numbers_at_the_end_are_no_part_of_a_kind(label: str, kind: str) -> None:
    assert kind_of(label) == kind
