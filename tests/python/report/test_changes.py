"""Which cell of the report a change is about."""

from __future__ import annotations

from report_cells import measured, results

from taskgrain.report.changes import Change, number


def test_a_change_is_found_by_system_and_workload() -> None:
    found = results(measured("mpi", 1e-6, "fft"), measured("mpi", 1e-6, "dom"))
    change = Change("mpi", "dom", "slower", "1.2 (1.1 – 1.3)", 1.2, ())
    assert number(found, change) == 1
    assert number(results(measured("mpi", 1e-6, "fft")), change) is None
