#!/usr/bin/env python3
"""What the systems of some groups need, read from their `system.toml`, for tools/setup.

tools/requirements.py groups               the groups there are
tools/requirements.py debian GROUP …       lines: what shows it, package, systems
tools/requirements.py pypi GROUP …         requirements of pip
tools/requirements.py pypi_alone GROUP …   the same, to be installed without what they depend on
tools/requirements.py constraints          versions that the harness needs and that these must keep to
tools/requirements.py program GROUP …      programs of systems that build what no registry has built
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SYSTEMS = REPOSITORY / "systems"
WHAT = ("groups", "debian", "pypi", "pypi_alone", "constraints", "program")


def setups() -> dict[str, dict[str, Any]]:
    """The table `setup` of each system, by name."""
    found = {}
    for file in sorted(SYSTEMS.glob("*/system.toml")):
        found[file.parent.name] = tomllib.loads(file.read_text("utf-8")).get("setup", {})
    return found


def main(what: str, *groups: str) -> None:
    chosen = {name: one for name, one in setups().items() if one.get("group", "default") in groups}
    match what:
        case "groups":
            print(*sorted({one.get("group", "default") for one in setups().values()} | {"default"}), sep="\n")
        case "debian":
            needs: dict[tuple[str, str], list[str]] = {}
            for name, one in chosen.items():
                for package, sign in one.get("debian", {}).items():
                    needs.setdefault((sign, package), []).append(name)
            for (sign, package), names in needs.items():
                print(sign, package, ",".join(names))
        case "pypi" | "pypi_alone":
            print(*sorted({word for one in chosen.values() for word in one.get(what, [])}), sep="\n")
        case "constraints":
            project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
            print(*project["dependencies"], sep="\n")
        case "program":
            print(
                *(SYSTEMS / name / one["program"] for name, one in chosen.items() if "program" in one),
                sep="\n",
            )


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WHAT:
        main(*sys.argv[1:])
    else:
        print(
            f"requirements: '{''.join(sys.argv[1:2])}' is not allowed; allowed: {', '.join(WHAT)}",
            file=sys.stderr,
        )
        sys.exit(2)
