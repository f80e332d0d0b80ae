"""`taskgrain doctor`: shows what a measurement here will use, how good it will be, and what is in the way."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from taskgrain.cli.options import Json, Systems
from taskgrain.words import quantity

if TYPE_CHECKING:
    from taskgrain.cli.printer import Printer
    from taskgrain.drive.catalogue import Group
    from taskgrain.drive.system import Probe
    from taskgrain.machine.facts import State
    from taskgrain.words.warnings import Notice

_LABEL = 13
_MUCH = 0.3
"""Share of the cores that others take from which on many cells have no number: docs/explanation/ruler.md."""
_IN_THE_WAY = {
    "machine_busy": "other programs",
    "core_interrupted": "interruptions",
    "clock_governor": "the frequency governor",
    "clock_source": "a slow clock",
    "short": "low limits",
    "virtual_machine": "a virtual machine",
}
"""Warnings in few words."""


def doctor(folders: Systems = None, as_json: Json = False) -> None:
    """Shows what will be measured here, how well, and what is in the way."""
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.machine import facts as machine

    found = catalogue.discover(folders or [])
    packages = dict.fromkeys(name for one in found.values() for name in one.versions)
    facts, now = machine.facts(packages), machine.state()
    warnings = machine.warnings(facts, now)
    probes = {name: system.probe() for name, system in found.items()}
    groups = catalogue.groups(found.values())
    if as_json:
        listed = {
            name: {"available": one.available, "missing": list(one.missing)} for name, one in probes.items()
        }
        parts = {name: asdict(one) for name, one in groups.items()}
        said = {"machine": facts, "state": asdict(now), "systems": listed, "groups": parts}
        print_json(said | {"warnings": [one.shown() for one in warnings]})
        return
    out = printer()
    _answers(out, facts, now, probes, warnings)
    rows = [[str(n.core), quantity.percent(n.lost, 2), quantity.seconds(n.largest_gap, 2)] for n in now.noise]
    out.table(["core", "time lost", "largest gap"], rows)
    _systems(out, probes, groups)
    for warning in warnings:
        _lines(out, f"warning: {warning.text}", "  ", "yellow")


def _lines(out: Printer, text: str, indent: str, style: str = "") -> None:
    """A paragraph that fits the terminal; all lines but the first are indented."""
    width = max(out.width, len(indent) + 20)
    for line in textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        out.text(line, style)


def _answers(
    out: Printer,
    facts: Mapping[str, Any],
    now: State,
    probes: Mapping[str, Probe],
    warnings: Sequence[Notice],
) -> None:
    """Answers the first questions of a newcomer."""
    able = sum(one.available for one in probes.values())
    cpu = facts["cpu"]
    for label, text in (
        ("measures on", _processors(cpu)),
        ("can run", f"{able} of {len(probes)} systems"),
        ("how well", _how_well(now)),
        ("in the way", _in_the_way(cpu, warnings)),
        ("processor", cpu["model"]),
        ("system", f"{facts['os']}, kernel {facts['kernel']}, clock {facts['clock_source'] or 'not known'}"),
    ):
        _lines(out, f"{label:{_LABEL}}{text}", " " * _LABEL)


def _processors(cpu: Mapping[str, Any]) -> str:
    """The processors of a measurement by default, and why these."""
    from taskgrain.machine.topology import as_list

    chosen, every = cpu["default"], len(cpu["available"])
    why = [f"one of each of {quantity.counted(cpu['physical_cores'], 'core')}"] if cpu["smt"] else []
    why += [f"the {next(iter(cpu['kinds']))} cores"] if cpu["kinds"] else []
    why += [f"a quota allows {cpu['limit']:g}"] if cpu["limit"] is not None and cpu["limit"] < every else []
    number = "processor" if every == 1 else "processors"
    of = f"{len(chosen)} of {every} {number} ({as_list(chosen)})"
    return f"{of}: {', '.join(why)}" if why else of


def _how_well(now: State) -> str:
    """The precision that can be expected, by what docs/explanation/ruler.md has measured."""
    from taskgrain.machine.busy import BUSY_SHARE

    worst = max((one.lost for one in now.noise), default=0.0)
    took = f"others take {quantity.percent(now.busy_share, 1)} of the cores"
    if now.busy_share > _MUCH:
        return f"badly: {took}; many cells get no number"
    if now.busy_share > BUSY_SHARE or worst > BUSY_SHARE:
        return f"roughly: {took}; METG may be 20 % off"
    return f"well: {took}; METG should repeat within 5 %"


def _in_the_way(cpu: Mapping[str, Any], warnings: Sequence[Notice]) -> str:
    found, limit = (
        [words for code, words in _IN_THE_WAY.items() if code in {one.code for one in warnings}],
        cpu["limit"],
    )
    if limit is not None and limit < len(cpu["available"]):
        found.append(f"a quota of {limit:g} {'core' if limit == 1 else 'cores'}")
    return f"{', '.join(found)}{' (more below)' if warnings else ''}" if found else "nothing"


def _systems(out: Printer, probes: Mapping[str, Probe], groups: Mapping[str, Group]) -> None:
    """The systems that can run; then the others by what they need; then the groups that can be set up."""
    able = [name for name, one in probes.items() if one.available]
    _lines(out, f"can run: {', '.join(able) or 'none'}", "  ")
    absent: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name, one in probes.items():
        if not one.available:
            built = all(what.endswith("(not built)") for what in one.missing)
            lacks = "not built" if built else f"no {', no '.join(one.missing)}"
            first, _, then = one.install.partition(", ")  # says once what many need to do after it
            absent.setdefault((lacks, then), {}).setdefault(first, []).append(name)
    for (lacks, then), needs in absent.items():
        _lines(out, f"absent, {lacks}{f'; {then}' if then else ''}:", "  ")
        for first, names in needs.items():
            _lines(out, f"  {', '.join(names)}{f': {first}' if first else ''}", "      ")
    if groups:
        out.text("\ngroups of systems, each set up by `make setup GROUPS=NAME`:")
    for name, group in groups.items():
        minutes = f"{group.minutes} min" if group.minutes else ""
        head = f"{name:11} {group.megabytes:5} MB {minutes:>6}  "
        _lines(out, head + ", ".join(group.systems), " " * len(head))
