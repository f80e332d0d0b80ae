#!/usr/bin/env python3
"""Checks that the rooms of python/taskgrain import downwards only: a room knows those below it and no other.

    tools/check_rooms.py [FOLDER]

Prints each import that goes up, and ends with 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "taskgrain"
ROOMS = (
    *("cli", "report", "measure", "results", "estimate"),
    *("drive", "study", "system", "machine", "words"),
)
"""From the top floor down."""


def imported(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each module of the package that a module imports."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["."]
        else:
            continue
        yield from ((node.lineno, name) for name in names)


def complaints(package: Path) -> Iterator[str]:
    """One line for each import that goes up, and for each room that has no floor."""
    for folder in sorted(one for one in package.iterdir() if (one / "__init__.py").exists()):
        if folder.name not in ROOMS:
            yield f"{folder}: has no floor; allowed: {', '.join(ROOMS)}"
            continue
        above = ROOMS[: ROOMS.index(folder.name)]
        for file in sorted(folder.rglob("*.py")):
            found = dict.fromkeys(imported(ast.parse(file.read_text("utf-8"), str(file))))
            for line, name in found:
                if name == ".":
                    yield f"{file}:{line}: imports relatively; name the room"
                elif name.startswith("taskgrain.") and name.split(".")[1] in above:
                    yield f"{file}:{line}: {folder.name} imports {name}, which lies above it"


def main() -> int:
    found = list(complaints(Path(sys.argv[1]) if sys.argv[1:] else PACKAGE))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
