"""The processors of a machine, and the company that lends it, as Linux tells it on each architecture."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from taskgrain.machine.kernel_files import read_text

_ROOT = Path("/")
_NAMES = {
    ("0x41", "0xd03"): "Cortex-A53",
    ("0x41", "0xd08"): "Cortex-A72",
    ("0x41", "0xd0b"): "Cortex-A76",
    ("0x41", "0xd0c"): "Neoverse N1",
    ("0x41", "0xd40"): "Neoverse V1",
    ("0x41", "0xd49"): "Neoverse N2",
    ("0x41", "0xd4f"): "Neoverse V2",
    ("0x46", "0x001"): "Fujitsu A64FX",
    ("0x48", "0xd01"): "Kunpeng 920",
    ("0xc0", "0xac3"): "AmpereOne",
}
"""The usual ones of Arm, by implementer and part; all others are called by these numbers."""
_LENT = (
    *("KVM", "QEMU", "OpenStack", "KubeVirt", "Amazon EC2", "Google Compute Engine", "Alibaba Cloud ECS"),
    *("VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen", "Bochs", "Parallels", "BHYVE"),
    *("Hyper-V", "Virtual Machine", "Apple Virtualization"),
)
"""The beginnings of the firmware's texts in virtual machines."""
_BOARDS = ("linux,dummy-virt", "qemu,pseries")
"""The names in device trees of machines that do not exist."""


def model() -> str:
    """The model of the processors; of Arm with its revision, of several kinds each once."""
    told = read_text(_ROOT / "proc/cpuinfo")
    if arm := dict.fromkeys(filter(None, map(_of_arm, told.split("\n\n")))):
        return ", ".join(arm)
    for name in ("model name", "Model Name", "Model", "cpu model", "cpu", "uarch"):
        if found := _value(name, told):
            return found
    return platform.processor() or platform.machine()


def _value(name: str, told: str) -> str:
    match = re.search(rf"^{name}\s*:[ \t]*(.*)$", told, re.MULTILINE)
    return match[1].strip() if match else ""


def _of_arm(told: str) -> str:
    """The name of an Arm processor that has none, or one that stands for many; empty for another."""
    names = ("implementer", "part", "variant", "revision")
    maker, part, variant, revision = (_value(f"CPU {name}", told) for name in names)
    if not part:
        return ""
    known = _NAMES.get((maker, part), f"Arm, implementer {maker}, part {part}")
    return f"{known} r{variant.removeprefix('0x')}p{revision}"


def hypervisor() -> str:
    """Returns the hypervisor that this machine runs on; empty if there is none. Only x86 tells it in
    /proc/cpuinfo: elsewhere the device tree and the firmware do, where systemd-detect-virt looks."""
    told = read_text(_ROOT / "proc/cpuinfo")
    kind = read_text(_ROOT / "sys/hypervisor/type")
    if flags := _value("flags", told):
        lent = "hypervisor" in flags.split()
        return (kind or _firmware("sys_vendor") or "unknown") if lent else ""
    tree = _ROOT / "proc/device-tree"
    words = read_text(tree / "hypervisor/compatible"), read_text(tree / "compatible")
    under, boards = (word.strip("\0").split("\0") for word in words)
    board = next((one for one in boards if one in _BOARDS), "")
    mainframe = _value("VM00 Control Program", read_text(_ROOT / "proc/sysinfo"))
    return kind or under[0] or board or mainframe or _lender()


def _firmware(name: str) -> str:
    return read_text(_ROOT / "sys/class/dmi/id" / name)


def _lender() -> str:
    """The company that lends the machine, by the texts of the firmware."""
    product = _firmware("product_name")
    if product.endswith(".metal"):  # Amazon lends whole machines, too
        return ""
    texts = product, *map(_firmware, ("sys_vendor", "board_vendor", "bios_vendor"))
    return next((one for one in texts if one.startswith(_LENT)), "")
