#!/usr/bin/env python3
"""Checks the rooms of python/taskgrain, and the comments of the runtime.

A room imports only from itself and from the rooms below it. Each module of 80 lines and more has a test
module of its own name: the tests of python/taskgrain/drive/session.py are in
tests/python/drive/test_session.py. Smaller ones may be tested through their room. A docstring begins with a
verb, or a noun with its article, and so does each `///` of the sources in COMMENTED. Says what is not so on
standard error, and ends with 1 if there is anything.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "python" / "taskgrain", ROOT / "tests" / "python"
ROOMS = (
    *("cli", "history", "productivity", "report", "measure", "drive", "answers", "results"),
    *("estimate", "study", "graphs", "system", "machine", "words"),
)
"""The rooms from the top floor down."""
LARGE = 80
"""The lines from which on a module needs a test module of its own."""
NO_BEGINNING = (
    *("What ", "Whether ", "That ", "Those ", "How ", "Why ", "Where ", "When ", "Which ", "Who "),
    *("Of ", "From ", "By ", "In ", "On ", "At ", "As ", "For ", "With ", "Within ", "Between ", "So "),
    *("Under ", "After ", "Before ", "Until ", "Without ", "Below ", "Across ", "Into ", "To "),
)
"""The first words of comments in which a clause or a preposition stands before, or for, the noun."""
COMMENTED = ("include/taskgrain/rt/**/*.hpp", "src/rt/**/*.hpp", "src/rt/**/*.cpp")
"""The C++ sources whose `///` begin as docstrings do."""


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


def complaints(package: Path, tests: Path) -> Iterator[str]:
    """One line for each thing that is not as it should be."""
    yield from imports_that_go_up(package)
    yield from modules_without_tests(package, tests)
    yield from docstrings_without_noun(package)


def modules_without_tests(package: Path, tests: Path) -> Iterator[str]:
    """One line for each large module without a test module."""
    for module in sorted(package.glob("*/**/*.py")):
        mirror = tests / module.relative_to(package).with_name(f"test_{module.name}")
        lines = len(module.read_text("utf-8").splitlines())
        if lines >= LARGE and module.name != "__init__.py" and not has_tests(mirror):
            yield f"{module}: has {lines} lines and no tests in {mirror}"


def docstrings_without_noun(package: Path) -> Iterator[str]:
    """One line for each docstring, also of a variable, that begins with a clause."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
            said = node.value if isinstance(node, ast.Expr) else None
            if isinstance(said, ast.Constant) and str(said.value).startswith(NO_BEGINNING):
                yield f"{file}:{said.lineno}: begin with a verb, or a noun with its article"


def comments_without_noun(sources: Iterable[Path]) -> Iterator[str]:
    """One line for each block of `///` that begins with a clause."""
    for file in sorted(sources):
        before = ""
        for number, line in enumerate(map(str.strip, file.read_text("utf-8").splitlines()), start=1):
            begins = line.startswith("/// ") and not before.startswith("///")
            if begins and line.removeprefix("/// ").startswith(NO_BEGINNING):
                yield f"{file}:{number}: begin with a verb, or a noun with its article"
            before = line


def has_tests(file: Path) -> bool:
    nodes = ast.walk(ast.parse(file.read_text("utf-8"), str(file))) if file.exists() else ()
    return any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in nodes)


def imports_that_go_up(package: Path) -> Iterator[str]:
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
    sources = [file for glob in COMMENTED for file in ROOT.glob(glob)]
    found = [*complaints(PACKAGE, TESTS), *comments_without_noun(sources)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
