"""Energy, from files like the kernel's: a virtual machine has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgrain.machine import energy
from taskgrain.machine.busy import BusyWatch


def write(folder: Path, zone: str, name: str, microjoules: int) -> None:
    (folder / zone).mkdir(parents=True, exist_ok=True)
    (folder / zone / "name").write_text(f"{name}\n")
    (folder / zone / "energy_uj").write_text(f"{microjoules}\n")
    (folder / zone / "max_energy_range_uj").write_text("1000000\n")


@pytest.fixture
def powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages, a part of one of them, and the whole machine, which is no package."""
    monkeypatch.setattr(energy, "POWERCAP", tmp_path)
    write(tmp_path, "intel-rapl:0", "package-0", 100)
    write(tmp_path, "intel-rapl:0:0", "core", 50)
    write(tmp_path, "intel-rapl:1", "package-1", 999_900)
    write(tmp_path, "intel-rapl:2", "psys", 7)
    return tmp_path


def test_packages_are_added_and_counters_begin_again(powercap: Path) -> None:
    start = energy.read()
    write(powercap, "intel-rapl:0", "package-0", 300)
    write(powercap, "intel-rapl:1", "package-1", 400)
    write(powercap, "intel-rapl:2", "psys", 900_000)
    assert energy.joules(start, energy.read()) == pytest.approx(700e-6)


def test_a_run_has_its_energy(powercap: Path) -> None:
    watch = BusyWatch([0])
    write(powercap, "intel-rapl:0", "package-0", 500_100)
    assert watch.end([]).joules == pytest.approx(0.5)


@pytest.mark.parametrize("broken", ["energy_uj", "name"])
def test_what_cannot_be_read_is_absent(powercap: Path, broken: str) -> None:
    start = energy.read()
    (powercap / "intel-rapl:1" / broken).write_text("x")
    assert energy.joules(start, energy.read()) is None
    assert energy.joules({}, {}) is None


def test_without_the_folder_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "POWERCAP", Path("/nowhere"))
    assert BusyWatch([0]).end([]).joules is None
