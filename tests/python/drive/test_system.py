"""A system: what it needs to run here, and the command that starts its driver."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from killable_study import program
from system_folder import LEAST, make

from taskgrain.drive.system import System
from taskgrain.drive.system_file import read
from taskgrain.study.workload import REFERENCE


def test_probe_says_what_is_missing(tmp_path: Path) -> None:
    text = '[probe]\nprograms = ["no-such-x"]\nfiles = ["{dir}/driver"]\npython = ["no_such_y", "no.such"]\n'
    probe = read(make(tmp_path / "it", text + 'install = "get it"\n' + LEAST)).probe()
    assert not probe.available
    assert [one.split()[0] for one in probe.missing] == ["program", "file", "Python", "Python"]
    assert probe.install == "get it"
    assert probe.missing[1].endswith("driver (not built)")
    elsewhere = read(make(tmp_path / "device", '[probe]\nfiles = ["/no/such/device"]\n' + LEAST)).probe()
    assert elsewhere.missing == ("file /no/such/device",)


def test_a_variant_can_be_another_build(tmp_path: Path) -> None:
    text = LEAST + '[variants.other]\ncommand = ["{dir}/other"]\n'
    system = read(make(tmp_path / "it", text))
    (other,) = system.variants
    assert system.probe().available
    assert other.probe().missing == (f"file {tmp_path / 'it' / 'other'} (not built)",)
    assert other.launch([0]).command == (f"{tmp_path / 'it' / 'other'}",)


def test_what_a_command_names_behind_its_driver_need_not_be_there(tmp_path: Path) -> None:
    text = '[launch]\ncommand = ["{python}", "{dir}/driver.py", "{dir}/cache"]\n'
    system = read(make(tmp_path / "it", text))
    assert system.probe().missing == (f"file {tmp_path / 'it' / 'driver.py'} (not built)",)
    (tmp_path / "it" / "driver.py").touch()
    assert system.probe().available


def test_a_module_that_breaks_when_it_is_looked_for_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_at_once").mkdir()
    (tmp_path / "breaks_at_once" / "__init__.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    probe = System("it", tmp_path, "It", python=("breaks_at_once.inner", "", "json.decoder")).probe()
    assert probe.missing == ("Python module breaks_at_once.inner", "Python module ")
    assert not probe.available


def test_the_command_is_filled_with_the_cores_that_the_system_can_use(tmp_path: Path) -> None:
    system = System(
        *("it", tmp_path, "It"),
        command=("{python}", "{dir}/driver", "{cores}"),
        env={"PLACES": "{places}"},
        reference=("{dir}/peak", "{cores}"),
        park=False,
        patience=3,
        simulated=True,
        most_cores=2,
    )
    launch = system.launch([4, 6, 8])
    assert launch.command == (sys.executable, f"{tmp_path}/driver", "2")
    assert launch.env == {"PLACES": "{4},{6}"}
    assert launch.cores == system.cores_of([4, 6, 8]) == (4, 6)
    assert (launch.park, launch.patience, launch.simulated) == (False, 3, True)
    reference = system.reference_launch([4, 6, 8])
    assert (reference.command, reference.cores) == ((f"{tmp_path}/peak", "3"), (4, 6, 8))
    assert not reference.simulated


def test_systems_in_different_folders_share_a_reference(tmp_path: Path) -> None:
    systems = [
        System(name, tmp_path / name, name, reference=("{dir}/../bin/peak",)) for name in ("one", "two")
    ]
    for system in systems:
        system.folder.mkdir()
    assert {one.reference_launch([0]).command for one in systems} == {(f"{tmp_path}/bin/peak",)}


def test_the_reference_has_the_name_of_its_program(tmp_path: Path) -> None:
    assert System("it", tmp_path, "It").reference_name == REFERENCE
    assert System("it", tmp_path, "It", reference=("{dir}/bin/peak", "x")).reference_name == "peak"


def test_options_find_the_system_again(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    assert shlex.split(System("a", folder, "A").options) == ["--systems", str(folder), "--system", "a"]
    assert System("a.fast", folder, "A", group="default").options == "--system a.fast"


def test_a_system_on_sockets_is_refused_without_a_network_to_itself(tmp_path: Path) -> None:
    make(tmp_path / "it", 'network = "TCP"\n' + LEAST)
    alone = ["unshare", "-n"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not make namespaces")
    words = program(["run", "--systems", str(tmp_path), "--system", "it"])
    done = subprocess.run([*alone, *words], capture_output=True, text=True, check=False)
    why = "no network to itself, 127.0.0.1 (Network is unreachable; ip link set lo up)"
    assert (done.returncode, done.stderr) == (2, f"taskgrain: --system: it cannot run here: {why}\n")


def test_a_simulation_is_told_its_nodes(tmp_path: Path) -> None:
    words = ("{dir}/driver", "{nodes}", "{cores}")
    system = System(*("it", tmp_path, "It"), command=words, reference=("{python}", *words), simulated=True)
    launch, reference = system.launch([4, 6], nodes=64), system.reference_launch([4, 6], 64)
    assert (launch.command[1:], launch.nodes, launch.asked, launch.on) == (("64", "2"), 64, 128, ())
    assert (reference.command[2:], system.reference_name) == (("64", "2"), "driver")
