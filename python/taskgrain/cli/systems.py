"""`taskgrain systems`: the systems there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from taskgrain.cli.options import Json, Systems

if TYPE_CHECKING:
    from taskgrain.drive.system import Probe


def systems(folders: Systems = None, as_json: Json = False) -> None:
    """Lists the systems; for those that cannot run here, shows what is missing and how to get it."""
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue

    found = catalogue.discover(folders or [])
    if as_json:
        print_json([catalogue.as_dict(system) for system in found.values()])
        return
    rows, lacks = [], False
    for name, system in found.items():
        probe = system.probe()
        lacks = lacks or not probe.available
        nodes = "simulated" if system.simulates_nodes else "one" if system.one_node else "several"
        runs = "graphs of nested forks" if system.nested else "yes"
        rows.append([name, system.title, system.language, nodes, runs if probe.available else _lacks(probe)])
    out = printer()
    out.table(["name", "title", "language", "nodes", "runs here"], rows, texts=5)
    if lacks:
        out.text("`taskgrain doctor` says all that is to do for a system, and what its set-up takes.")


def _lacks(probe: Probe) -> str:
    """Names the missing parts, and says in few words how to get them; a table has no room for addresses."""
    lacks = ", ".join("not built" if one.endswith("(not built)") else f"no {one}" for one in probe.missing)
    first = re.split(r"[,;(]", probe.install)[0].strip()
    return f"{lacks}: {first}" if first else lacks
