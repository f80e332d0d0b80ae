"""Errors that are made on purpose in copies of sources."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    what: str
    changes: tuple[tuple[str, str], ...] = ()
    test: str = ""  # in which it is looked for

    def text(self) -> str:
        """The file with the changes; a mutation that does not apply any more ends the program."""
        text = (ROOT / self.file).read_text()
        for old, new in self.changes:
            if text.count(old) != 1:
                sys.exit(f"{self.name}: {text.count(old)} times in {self.file}: {old}")
            text = text.replace(old, new)
        return text


def read(file: Path) -> list[Mutation]:
    """The mutations of a list, with an empty line between two of them.

    The first line of each is its name, the test if there are several, and the file; the second says what is
    wrong then. What stands behind - in the lines below it is replaced by what stands behind + below that.
    """
    found = []
    for block in file.read_text().split("\n\n"):
        head, what, *lines = block.strip("\n").split("\n")
        name, *test, changed = head.split()
        texts = ["\n".join(line[1:] for line in part) for _, part in groupby(lines, lambda line: line[0])]
        found.append(Mutation(name, changed, what, tuple(zip(texts[::2], texts[1::2], strict=True)), *test))
    return found


def main(
    about: str | None,
    mutations: Sequence[Mutation],
    found: Callable[[Mutation, int], Sequence[int | str | None]],
) -> None:
    """Tries those that are asked for, and prints the schedules or the test that `found` each, from so many
    first seeds. None is an error: nothing has found it."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *(one.name for one in mutations)])
    parser.add_argument("--starts", type=int, default=3)
    options = parser.parse_args()
    for mutation in mutations:
        mutation.text()
    missed = False
    for mutation in mutations:
        if options.names and mutation.name not in options.names:
            continue
        by = found(mutation, options.starts)
        missed |= None in by
        text = ", ".join("not found" if one is None else str(one) for one in by)
        print(f"{mutation.name:<30} {text:<24} {mutation.what}", flush=True)
    sys.exit("a mutation was not found" if missed else 0)
