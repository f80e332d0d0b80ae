"""`taskgrain doctor`: this machine, how quiet it is, and which systems can run."""

from __future__ import annotations

from dataclasses import asdict

from taskgrain.cli.options import Json, Systems


def doctor(folders: Systems = None, as_json: Json = False) -> None:
    """Shows this machine, how busy it is, and which systems can run on it."""
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.machine import facts as machine
    from taskgrain.words import quantity

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
        said = {"machine": facts, "state": now.as_dict(), "systems": listed, "groups": parts}
        print_json(said | {"warnings": [one.shown() for one in warnings]})
        return
    out, cpu = printer(), facts["cpu"]
    assert isinstance(cpu, dict)
    out.text(f"{cpu['model']}, {cpu['physical_cores']} cores, {len(cpu['available'])} hardware threads")
    out.text(f"{facts['os']}, kernel {facts['kernel']}")
    out.text(f"others take {quantity.percent(now.busy_share, 1)} of the cores")
    rows = [[str(n.core), quantity.percent(n.lost, 2), quantity.seconds(n.largest_gap, 2)] for n in now.noise]
    out.table(["core", "time lost", "largest gap"], rows)
    for name, probe in probes.items():
        missing = f"no {', no '.join(probe.missing)}"
        out.text(f"{'ok ' if probe.available else 'no '} {name}{'' if probe.available else ': ' + missing}")
        if probe.missing and probe.install:
            out.text(f"     install: {probe.install}")
    rows = [
        [
            name,
            f"{one.megabytes} MB",
            f"{one.minutes} min" if one.minutes else "",
            one.install,
            ", ".join(one.systems),
        ]
        for name, one in groups.items()
    ]
    out.table(["group", "on disk", "to build", "set up by", "systems"], rows, texts=5)
    for warning in warnings:
        out.text(f"warning: {warning.text}", "yellow")
