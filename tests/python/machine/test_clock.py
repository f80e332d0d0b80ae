"""The clock that all seconds are read from."""

from pathlib import Path

import pytest

from taskgrain.machine import clock, topology


@pytest.mark.parametrize(
    ("source", "known", "said"),
    [
        ("tsc", "tsc hpet acpi_pm", ""),
        ("kvm-clock", "kvm-clock tsc", ""),
        ("arch_sys_counter", "arch_sys_counter", ""),
        ("hpet", "tsc hpet acpi_pm", "by hpet, and a look at the clock takes"),
        ("acpi_pm", "hpet acpi_pm", "Quicker ones here: none."),
        ("", "", ""),
    ],
)
def test_a_slow_clock_is_named_wherever_something_is_measured(
    source: str, known: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "_SOURCES", tmp_path)
    if source:
        (tmp_path / "current_clocksource").write_text(source + "\n")
        (tmp_path / "available_clocksource").write_text(known + " \n")
    assert clock.source() == source
    found = [one.text for one in topology.notices((0,)) if one.code == "clock_source"]
    assert [said in one for one in found] == ([True] if said else [])
