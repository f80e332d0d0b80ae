"""Processors and virtual machines, as Linux would describe them on several architectures."""

from pathlib import Path

import pytest

from taskgrain.machine import processor
from taskgrain.machine.facts import facts, fingerprint

ARM = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd atomics
CPU implementer\t: {maker}
CPU architecture: 8
CPU variant\t: 0x{variant}
CPU part\t: {part}
CPU revision\t: 1

"""
X86 = "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu sse{}\n"


def arm(part: str, variant: int = 3, maker: str = "0x41") -> str:
    return ARM.format(part=part, variant=variant, maker=maker)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processor, "_ROOT", tmp_path)
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    return tmp_path


def write(root: Path, **files: str) -> None:
    """`proc__cpuinfo` is a file in a folder."""
    for name, content in files.items():
        file = root.joinpath(*name.replace("device_tree", "device-tree").split("__"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (X86.format(""), "Example 9000"),
        (arm("0xd0c"), "Neoverse N1 r3p1"),
        (arm("0xd40", variant=1) * 4, "Neoverse V1 r1p1"),
        (arm("0xfff", maker="0x61"), "Arm, implementer 0x61, part 0xfff r3p1"),
        (arm("0xd03") * 4 + arm("0xd08") * 2, "Cortex-A53 r3p1, Cortex-A72 r3p1"),
        (arm("0xd08") + "Model\t: Raspberry Pi 4", "Cortex-A72 r3p1"),
        ("processor\t: 0\ncpu\t\t: POWER9 (raw)\n", "POWER9 (raw)"),
        ("processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n", "sifive,u74-mc"),
        ("", "aarch64"),
    ],
)
def test_the_model_of_a_processor(machine: Path, cpuinfo: str, model: str) -> None:
    write(machine, proc__cpuinfo=cpuinfo)
    assert processor.model() == model


def test_processors_of_arm_that_differ_are_other_machines(machine: Path) -> None:
    found = set()
    for cpuinfo in (arm("0xd0c"), arm("0xd0c", variant=1), arm("0xd40"), arm("0xd40", maker="0xc0")):
        write(machine, proc__cpuinfo=cpuinfo)
        found.add(fingerprint(facts()))
    assert len(found) == 4


@pytest.mark.parametrize(
    ("files", "under"),
    [
        ({"proc__cpuinfo": X86.format("")}, ""),
        ({"proc__cpuinfo": X86.format(""), "sys__class__dmi__id__sys_vendor": "QEMU"}, ""),
        ({"proc__cpuinfo": X86.format(" hypervisor")}, "unknown"),
        ({"proc__cpuinfo": X86.format(" hypervisor"), "sys__class__dmi__id__sys_vendor": "QEMU"}, "QEMU"),
        ({"proc__cpuinfo": X86.format(" hypervisor"), "sys__hypervisor__type": "xen"}, "xen"),
        ({}, ""),
        ({"sys__class__dmi__id__sys_vendor": "Ampere"}, ""),
        ({"sys__class__dmi__id__product_name": "KVM Virtual Machine"}, "KVM Virtual Machine"),
        ({"sys__class__dmi__id__sys_vendor": "Amazon EC2"}, "Amazon EC2"),
        (
            {
                "sys__class__dmi__id__sys_vendor": "Amazon EC2",
                "sys__class__dmi__id__product_name": "c7g.metal",
            },
            "",
        ),
        ({"proc__device_tree__hypervisor__compatible": "linux,kvm\0"}, "linux,kvm"),
        ({"proc__device_tree__compatible": "linux,dummy-virt\0"}, "linux,dummy-virt"),
        ({"proc__device_tree__compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0"}, ""),
        ({"sys__hypervisor__type": "xen"}, "xen"),
        ({"proc__sysinfo": "Manufacturer: IBM\nVM00 Control Program: KVM/Linux\n"}, "KVM/Linux"),
    ],
    ids=str,
)
def test_a_virtual_machine_is_seen_with_and_without_the_flag_of_x86(
    machine: Path, files: dict[str, str], under: str
) -> None:
    write(machine, **{"proc__cpuinfo": arm("0xd0c"), **files})
    assert processor.hypervisor() == under
