#!/usr/bin/env python3
"""Fills pages with what commands print, results hold and sources say: `make docs-tables`.

    tools/filled_page.py [PAGE...]

Without pages it takes README.md and all of docs. It replaces what stands between one of these and
`<!-- end -->`:

- `<!-- begin: taskgrain WORDS -->`: what the command prints, in the root of the checkout
- `<!-- begin: results -->`: a row for each folder of docs/results, the newest first
- `<!-- begin: result FOLDER COLUMN... [FIELD=VALUE,...]... -->`: a row for each system of a folder of
  docs/results, bounds last, and for each of its workloads the columns of `taskgrain export`: times such as
  `metg`, `overhead` and `floor` with their intervals. `system=mpi,limit` and the like choose rows.
- `<!-- begin: patterns -->`: what people call each pattern, and the presets that have it
- `<!-- begin: programs PROBLEM... -->`: lines of code and constructs of the programs in these folders of apps

The block after `<!-- excerpt: FILE -->` becomes the text of a file of the checkout. After
`<!-- excerpt: FILE, from TEXT -->` it becomes the statement in it whose first line begins with TEXT: with
what is indented below, and what closes it. `from TEXT to TEXT` also has what follows, up to the next
statement that begins with the second text.
"""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from taskgrain import _core
from taskgrain.productivity import tokens
from taskgrain.productivity.constructs import find, pattern
from taskgrain.productivity.count import lines_of_code
from taskgrain.study import presets
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
_PART = re.compile(r"^(<!-- begin: ([^\n]*) -->\n).*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE)
_EXCERPT = re.compile(
    r"^(?P<head>(?P<indent> *)<!-- excerpt: (?P<said>[^\n]+) -->\n(?P=indent)(?P<fence>```+)[^\n`]*\n)"
    r".*?^(?P=indent)(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
_SAID = re.compile(r"(?P<file>[^,]+)(?:, from (?P<first>.+?)(?: to (?P<last>.+))?)?")
_SEQUENCE = ("rt::*", ".data", ".block", ".together", ".home", ".task", ".reduce", ".loop", ".trace", ".wait")
_CONSTRUCTS = [pattern(text, "constructs") for text in ("MPI_*", "KSP*", "Mat*", "PC*", "Vec*", *_SEQUENCE)]
Row = dict[str, str]


def filled(text: str) -> str:
    """The text of a page with its parts as they must be. Raises `CalledProcessError` if a command fails."""
    text = _PART.sub(lambda part: f"{part[1]}\n{_made(*shlex.split(part[2]))}\n{part[3]}", text)
    return with_excerpts(text)


def with_excerpts(text: str) -> str:
    """The text of a page with its excerpts as their files are. Raises `ValueError` for what is not there."""

    def block(found: re.Match[str]) -> str:
        shown = textwrap.indent(excerpt(found["said"]), found["indent"])
        return f"{found['head']}{shown}{found['indent']}{found['fence']}"

    return _EXCERPT.sub(block, text)


def excerpt(said: str) -> str:
    """The text that `FILE` or `FILE, from TEXT to TEXT` names."""
    place = _SAID.fullmatch(said)
    if place is None or not (ROOT / place["file"]).is_file():
        raise ValueError(f"excerpt: '{said}' is not allowed; allowed: FILE or FILE, from TEXT to TEXT")
    text = (ROOT / place["file"]).read_text("utf-8")
    if place["first"] is None:
        return text
    lines = text.splitlines(keepends=True)
    begun = [k for k, line in enumerate(lines) if line.lstrip().startswith(place["first"])]
    if len(begun) != 1:
        raise ValueError(f"excerpt: {len(begun)} lines of {place['file']} begin with '{place['first']}'")
    first = last = begun[0]
    while place["last"] and not lines[last].lstrip().startswith(place["last"]):
        last += 1
        if last == len(lines):
            raise ValueError(
                f"excerpt: no line of {place['file']} after '{place['first']}' begins with '{place['last']}'"
            )
    return textwrap.dedent("".join(lines[first : _end(lines, last)]))


def _end(lines: Sequence[str], at: int) -> int:
    """The end of the statement that begins in this line: what is indented below it, and what closes it."""

    def depth(line: str) -> int:
        return len(line) - len(line.lstrip())

    below = at + 1
    while below < len(lines) and (lines[below].isspace() or depth(lines[below]) > depth(lines[at])):
        below += 1
    if below > at + 1 and lines[below : below + 1] and lines[below].lstrip()[0] in ")]}":
        return below + 1
    while lines[below - 1].isspace():
        below -= 1
    return below


def _made(kind: str, *words: str) -> str:
    match kind:
        case "taskgrain":
            return _printed(*words)
        case "results":
            return _table(("result", "study", "machine", "cells"), map(_facts, _folders()))
        case "result":
            return _result(*words)
        case "patterns":
            return _table(("pattern", "also called", "presets"), map(_words, _core.also_called().items()))
        case "programs":
            return _table(("program", "lines of code", "constructs"), map(_counts, _programs(words)))
    raise ValueError(
        f"begin: '{kind}' is not allowed; allowed: taskgrain, results, result, patterns, programs"
    )


def _printed(*words: str) -> str:
    command = [sys.executable, "-m", "taskgrain", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(one)} |\n" for one in lines)


def _folders() -> list[Path]:
    return sorted((one.parent for one in RESULTS.glob("*/machine.json")), reverse=True)


@cache
def _cells(folder: str) -> list[Row]:
    return list(csv.DictReader(_printed("export", str(RESULTS / folder)).splitlines()))


def _facts(folder: Path) -> list[str]:
    machine = json.loads((folder / "machine.json").read_text("utf-8"))
    cpu = machine["cpu"]
    caches = ", ".join(
        f"L{one['level']} {quantity.size(one['bytes'])}" for one in cpu["caches"] if one["level"] > 1
    )
    name = cpu["model"].replace("(R)", "").replace(" Processor", "")
    cells = _cells(folder.name)
    return [
        f"[{folder.name}]({folder.name}/runs.jsonl.zst)",
        tomllib.loads((folder / "study.toml").read_text("utf-8")).get("title", ""),
        f"{name}, {cpu['physical_cores']} cores, {caches}, {machine['taskgrain']['isa']}",
        f"{len({one['system'] for one in cells})} × {len({_workload(one) for one in cells})}",
    ]


def _workload(row: Row) -> str:
    return row["cell"].removeprefix(f"{row['system']}/")


def _result(folder: str, *words: str) -> str:
    chosen = {key: values.split(",") for key, _, values in (one.partition("=") for one in words) if values}
    columns = [one for one in words if "=" not in one]
    cells = _cells(folder)
    if unknown := [one for one in (*chosen, *columns) if one not in cells[0]]:
        raise ValueError(f"{folder}: {', '.join(unknown)} is no column; there are {', '.join(cells[0])}")
    rows = [one for one in cells if all(one[key] in values for key, values in chosen.items())]
    if not rows:
        raise ValueError(f"{folder}: no cell has {' '.join(words)}")
    by = {(one["system"], _workload(one)): one for one in rows}
    workloads = list(dict.fromkeys(_workload(one) for one in rows))
    shared = set.intersection(*(set(one.split("/")) for one in workloads))
    places = [(one, column) for one in workloads for column in columns]

    bounds = {one["system"] for one in rows if one["bound"] == "true"}

    def size(system: str) -> tuple[bool, list[float], str]:
        values = [float(by.get((system, one), {}).get(column) or math.inf) for one, column in places]
        return system in bounds, values, system

    def title(workload: str, column: str) -> str:
        own = "/".join(one for one in workload.split("/") if one not in shared or len(workloads) == 1)
        return f"{own or workload}, {column}" if len(columns) > 1 else own or workload

    return _table(
        ["system", *(title(*one) for one in places)],
        (
            [
                f"`{system}`{' (bound)' * (system in bounds)}",
                *(_shown(by.get((system, one), {}), column) for one, column in places),
            ]
            for system in sorted({one["system"] for one in rows}, key=size)
        ),
    )


def _words(pattern: tuple[str, str]) -> list[str]:
    name, words = pattern
    found = [one for one in presets.names() if presets.read(one).fields["pattern"] == name]
    return [f"`{name}`", words, ", ".join(f"`{one}`" for one in found)]


def _programs(problems: Iterable[str]) -> list[Path]:
    return [file for one in problems for file in sorted((ROOT / "apps" / one).glob("*.cpp"))]


def _counts(file: Path) -> list[str]:
    source = tokens.read(file, "programs")
    constructs = {name for name, _ in find(source, _CONSTRUCTS)}
    return [f"`{file.parent.name}/{file.stem}`", str(len(lines_of_code(source))), str(len(constructs))]


def _shown(row: Row, column: str) -> str:
    bounds = ("low", "high") if column == "metg" else (f"{column}_low", f"{column}_high")
    if row and bounds[0] not in row:
        return row[column] or quantity.NOTHING
    known = (float(row[one]) if row.get(one) else None for one in (column, *bounds))
    return quantity.interval(Interval(*known))


def pages() -> list[Path]:
    """All pages that may have a part to fill."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def main() -> int:
    for page in map(Path, sys.argv[1:] or pages()):
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
