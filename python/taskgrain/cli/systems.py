"""`taskgrain systems`: the systems there are."""

from __future__ import annotations

from taskgrain.cli.options import Json, Systems


def systems(folders: Systems = None, as_json: Json = False) -> None:
    """Lists the systems, and shows what is missing for those that cannot run here."""
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue

    found = catalogue.discover(folders or [])
    if as_json:
        print_json([catalogue.as_dict(system) for system in found.values()])
        return
    rows = []
    for name, system in found.items():
        probe = system.probe()
        lacks = ("not built" if one.endswith("(not built)") else f"no {one}" for one in probe.missing)
        nodes = "simulated" if system.simulates_nodes else "one" if system.one_node else "several"
        rows.append(
            [name, system.title, system.language, nodes, "yes" if probe.available else ", ".join(lacks)]
        )
    printer().table(["name", "title", "language", "nodes", "runs here"], rows, texts=5)
