"""The machine in words."""

from dataclasses import replace

from report_cells import cell, results

from taskgrain.report import page
from taskgrain.study.workload import REFERENCE


def test_a_line_has_the_processor_and_the_cores() -> None:
    of_reference = {"reference": REFERENCE}
    found = replace(
        results(cell(**of_reference), cell("b", cores=1, **of_reference)), machine={"cpu": {"model": "X9"}}
    )
    assert page.machine_in_a_line(found) == "X9, 1 to 2 cores used"
    assert page.machine_in_a_line(replace(found, machine={"cpu": "old"})) == "old, 1 to 2 cores used"
    assert page.machine_in_a_line(results()) == ""


def test_cores_of_another_reference_are_none_of_this_machine() -> None:
    assert page.machine_in_a_line(results(cell(reference="of-a-gpu"))) == ""


def test_tables_become_rows() -> None:
    machine = {
        "cpu": {"model": "X9", "l1d_bytes": 32768, "smt": False},
        "caches": [{"level": 1, "kib": 32}, {"level": 2, "kib": 512}],
        "flags": ["-O3", "-g"],
        "time": 1.7e9,
        "load": None,
    }
    assert page.listed(machine) == [
        ("cpu: model", "X9"),
        ("cpu: l1d", "32 KiB"),
        ("cpu: smt", "no"),
        ("caches", "level 1, kib 32; level 2, kib 512"),
        ("flags", "-O3, -g"),
        ("time", "2023-11-14 22:13 UTC"),
    ]
