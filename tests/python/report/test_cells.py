"""The order of systems and workloads."""

from __future__ import annotations

from report_cells import measured, results


def test_systems_and_workloads_keep_the_order_of_the_study() -> None:
    found = results(measured("b", 1e-6, "fft"), measured("a", 2e-6, "dom"), measured("b", 3e-6, "dom"))
    assert found.systems == ("b", "a")
    assert found.workloads == ("fft", "dom")
    assert results().systems == ()
