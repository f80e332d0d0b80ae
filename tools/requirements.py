#!/usr/bin/env python3
"""Reads the requirements of the systems of some groups from their `system.toml`, for tools/setup.

tools/requirements.py groups               the groups there are
tools/requirements.py debian GROUP …       lines: what shows it, package, systems
tools/requirements.py pypi GROUP …         requirements of pip
tools/requirements.py pypi_alone GROUP …   the same, to be installed without what they depend on
tools/requirements.py project [EXTRA …]    what the harness needs of pip
tools/requirements.py program GROUP …      programs of systems that build what no registry has built
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SYSTEMS = REPOSITORY / "systems"
WHAT = ("groups", "debian", "pypi", "pypi_alone", "project", "program")


def setups() -> dict[str, dict[str, Any]]:
    """The table `setup` of each system, by name."""
    found = {}
    for file in sorted(SYSTEMS.glob("*/system.toml")):
        found[file.parent.name] = tomllib.loads(file.read_text("utf-8")).get("setup", {})
    return found


def lines(what: str, *groups: str) -> Iterable[str]:
    """The lines that are printed for `what`."""
    chosen = {name: one for name, one in setups().items() if one.get("group", "default") in groups}
    match what:
        case "groups":
            return sorted({one.get("group", "default") for one in setups().values()} | {"default"})
        case "debian":
            needs: dict[tuple[str, str], list[str]] = {}
            for name, one in chosen.items():
                for package, sign in one.get("debian", {}).items():
                    needs.setdefault((sign, package), []).append(name)
            return [f"{sign} {package} {','.join(names)}" for (sign, package), names in needs.items()]
        case "project":
            project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
            extras = (project["optional-dependencies"][extra] for extra in groups)
            return [*project["dependencies"], *(one for extra in extras for one in extra)]
        case "program":
            return [str(SYSTEMS / name / one["program"]) for name, one in chosen.items() if "program" in one]
        case _:
            return sorted({word for one in chosen.values() for word in one.get(what, [])})


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WHAT:
        for line in lines(*sys.argv[1:]):
            print(line)
    else:
        print(
            f"requirements: '{''.join(sys.argv[1:2])}' is not allowed; allowed: {', '.join(WHAT)}",
            file=sys.stderr,
        )
        sys.exit(2)
