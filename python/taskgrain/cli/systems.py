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
        state = "yes" if probe.available else "no " + ", no ".join(probe.missing)
        rows.append([name, system.title, system.paradigm, system.language, state])
    printer().table(["name", "title", "paradigm", "language", "runs here"], rows, texts=5, whole=1)
