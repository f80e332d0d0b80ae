"""The sweeps of a folder: cells that differ in one field alone."""

from collections.abc import Sequence

from report_cells import measured, results

from taskgrain.answers.data import Cell
from taskgrain.answers.sweeps import sweeps
from taskgrain.results.lines import SessionLine


def of_width(width: int, output: int) -> Cell:
    fields = {"pattern": "fft", "width": width, "output_bytes": output}
    return measured("a", 1e-6, f"fft/width={width}/output_bytes={output}", fields=fields)


def of_cores(cores: int, width: int) -> Cell:
    fields = {"pattern": "fft", "width": width, "cores": cores}
    return measured("a", 1e-6, f"fft/width={width}/cores={cores}/graphs=4", fields=fields)


def of_nodes(nodes: int, width: int, session: Sequence[int] = (0, 1)) -> Cell:
    fields = {"pattern": "fft", "width": width, "nodes": nodes}
    name = f"fft/width={width}{f'/nodes={nodes}' if nodes > 1 else ''}"
    return measured("a", 1e-6, name, fields=fields, sessions={1: SessionLine(cores=tuple(session))})


def test_every_numeric_field_makes_sweeps_of_cells_that_differ_in_it_alone() -> None:
    cells = [of_width(width, output) for width in (4, 64) for output in (16, 4096)]
    assert [(one.field, one.name, one.values) for one in sweeps(results(*cells))] == [
        ("width", "fft/output_bytes=16", {0: 4, 2: 64}),
        ("width", "fft/output_bytes=4096", {1: 4, 3: 64}),
        ("output_bytes", "fft/width=4", {0: 16, 1: 4096}),
        ("output_bytes", "fft/width=64", {2: 16, 3: 4096}),
    ]


def test_two_fields_that_change_together_are_no_sweep() -> None:
    assert sweeps(results(of_width(4, 16), of_width(64, 4096))) == []


def test_cores_are_swept_with_the_tasks_of_each_or_with_the_width() -> None:
    cells = of_cores(1, 8), of_cores(2, 16), of_cores(3, 24), of_cores(2, 8)
    found = {(one.field, one.name): one.values for one in sweeps(results(*cells))}
    assert found == {
        ("cores", "fft/graphs=4/tasks_per_core=8"): {0: 1, 1: 2, 2: 3},
        ("cores", "fft/width=8/graphs=4"): {0: 1, 3: 2},
        ("width", "fft/cores=2/graphs=4"): {1: 16, 3: 8},
    }
    assert not [one for one in sweeps(results(of_cores(0, 8), of_cores(0, 16))) if one.field == "cores"]


def test_all_cores_are_no_number_of_cores() -> None:
    found = sweeps(results(of_cores(0, 8), of_cores(1, 8), of_cores(2, 8)))
    assert [(one.field, one.values) for one in found] == [("cores", {1: 1, 2: 2})]


def test_nodes_are_swept_with_the_tasks_of_each_core_or_with_the_width() -> None:
    """Of a session with two cores: 16 points on a node are 8 for each core."""
    cells = of_nodes(1, 16), of_nodes(2, 32), of_nodes(4, 64), of_nodes(2, 16)
    found = {(one.field, one.name): one.values for one in sweeps(results(*cells))}
    assert found == {
        ("nodes", "fft/tasks_per_core=8"): {0: 1, 1: 2, 2: 4},
        ("nodes", "fft/width=16"): {0: 1, 3: 2},
        ("width", "fft/nodes=2"): {1: 32, 3: 16},
    }


def test_tasks_of_unknown_cores_are_not_compared() -> None:
    assert sweeps(results(of_nodes(1, 16, ()), of_nodes(2, 32, ()))) == []
