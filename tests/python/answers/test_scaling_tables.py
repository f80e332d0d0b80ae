"""The tables of scaling, and the same for programs."""

from typing import Any

import pytest
from command_line import on_terminal
from report_cells import measured, point, results

from taskgrain.answers import scaling
from taskgrain.answers.data import Results


def study(kind: str, field: str = "cores") -> Results:
    cells = []
    for cores in (1, 2):
        iterations = 64 / cores if kind == "strong" else 64
        granularity = {("strong", 2): 1.8e-6}.get((kind, cores), 3e-6)
        fields = {"pattern": "fft", "width": 8 * cores, "cores": 1, field: cores}
        curve = (point(iterations, granularity, 0.5),)
        workload = f"fft/width={8 * cores}/{field}={cores}"
        cells.append(measured("mpi", 2e-6, workload, fields=fields, cores=cores, curve=curve))
    return results(*cells, experiment=kind)


def shown(found: Results) -> str:
    return on_terminal(lambda terminal: [terminal.show(one) for one in scaling.tables(found)], 160)


def test_strong_scaling_is_shown_with_the_limit_and_where_it_is_met() -> None:
    text = shown(study("strong"))
    for words in (
        "strong scaling of fft/tasks_per_core=8", "limit of METG(50 %)", "512 iterations a step", "1 core",
        "2 cores", "24.0 ms  100 %",
        "14.4 ms  83 % (68 – 102)", "16.0 ms", "1.50 cores", "mean and standard deviation",
    ):  # fmt: skip
        assert words in text, words


def test_weak_scaling_has_no_point_to_foretell() -> None:
    text = shown(study("weak"))
    assert "weak scaling of fft/tasks_per_core=8" in text and "64 iterations a task" in text
    assert "Where the limit is met" not in text


def test_programs_get_the_same() -> None:
    (one,) = scaling.as_json(study("strong"))
    assert (one["kind"], one["system"], one["steps"], one["threshold"]) == ("strong", "mpi", 1000, 0.5)
    (size,) = one["sizes"]
    times: list[dict[str, Any]] = size["times"]
    assert [time["cores"] for time in times] == [1, 2]
    assert [time["parallel_efficiency"] for time in times] == [1.0, pytest.approx(0.8333, rel=1e-3)]
    assert times[0]["parallel_efficiency_low"] == 1.0
    assert times[1]["parallel_efficiency_low"] == pytest.approx(0.8333 * 0.9 / 1.1, rel=1e-3)
    assert size["limit_ideal"]["cores"] == pytest.approx(1.5) and size["limit_actual"]["cores"] > 1.5
    assert scaling.as_json(results()) == []


def test_nodes_are_called_nodes() -> None:
    text = shown(study("strong", "nodes"))
    for words in ("scaling of fft/tasks_per_core=8 over nodes", "1 node ", "2 nodes", "1.50 nodes, 16.0 ms"):
        assert words in text, words
    assert "apart in nodes" in text and "cores" not in text.replace("tasks_per_core", "")
    (one,) = scaling.as_json(study("strong", "nodes"))
    (size,) = one["sizes"]
    assert [time["nodes"] for time in size["times"]] == [at["nodes"] for at in one["limit"]] == [1, 2]
    assert size["limit_ideal"]["nodes"] == pytest.approx(1.5) and "cores" not in size["times"][0]


def test_where_cores_do_not_vary_nothing_is_said() -> None:
    assert shown(results()) == ""
