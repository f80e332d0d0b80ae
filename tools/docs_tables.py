"""Fills pages with what the program says of itself, its commands, fields and headers: a hook of MkDocs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parents[1]
_HEADER = re.compile(r"^\[`[^`]+`\]\((?:\.\./)+(include/[^)]+)\)$", re.MULTILINE)
"""A line that is nothing but a link to a header."""


def _row(parameter: Any) -> str:
    """A row of the table of options."""
    if parameter.param_type_name == "argument":
        name = f"`{_metavar(parameter)}`"
    else:
        name = ", ".join(f"`{name}`" for name in parameter.opts)
        name += f" {parameter.metavar}" if parameter.metavar else ""
    return f"| {name} | {(parameter.help or '').replace('|', chr(92) + '|')} |"


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _command(name: str, command: Any) -> str:
    groups: dict[str, list[str]] = defaultdict(list)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    for parameter in command.params:
        panel = "Arguments" if parameter in arguments else parameter.rich_help_panel or "Options"
        groups[panel].append(_row(parameter))
    usage = " ".join(["taskgrain", name, *map(_metavar, arguments), "[OPTIONS]"])
    parts = [f"## {name}", command.help, f"```text\n{usage}\n```"]
    for title, rows in groups.items():
        parts.append(f"| {title.lower()} | |\n| --- | --- |\n" + "\n".join(rows))
    if command.epilog:
        parts.append(f"{command.epilog.replace('Example: ', 'Example: `', 1)}`")
    return "\n\n".join(parts)


def commands() -> str:
    from taskgrain.cli.app import app

    group: Any = typer.main.get_command(app)
    return "\n\n".join(_command(name, command) for name, command in group.commands.items())


def fields(table: Mapping[str, Any]) -> str:
    rows = [
        f"| `{one.name}` | {'' if one.default is None else f'`{json.dumps(one.default)}`'} | {one.text} |"
        for one in table.values()
    ]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows])


def presets() -> str:
    from taskgrain.cli.presets import options
    from taskgrain.study.presets import names, read

    rows = [
        f"| `{one.name}` | {one.title}. {one.text} | `{options(one.fields)}` |" for one in map(read, names())
    ]
    return "\n".join(["| preset | what it is | the same as |", "| --- | --- | --- |", *rows])


def columns(table: Sequence[Any]) -> str:
    """A table of the columns of an exported table, in Markdown."""
    rows = []
    for one in table:
        source = f" (`{one.source}` there)" if one.source else ""
        rows.append(f"| `{one.name}` | {one.kind} | {one.unit} | {one.meaning}{source} |")
    return "\n".join(["| column | type | unit | meaning |", "| --- | --- | --- | --- |", *rows])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    from taskgrain.results.tables import CELL, TABLES
    from taskgrain.study.fields import GIVEN
    from taskgrain.study.settings import SETTINGS

    marks: dict[str, Callable[[], str]] = {
        "<!-- the commands -->": commands,
        "<!-- the settings -->": partial(fields, SETTINGS),
        "<!-- the presets -->": presets,
        "<!-- the fields -->": partial(fields, GIVEN),
    }
    for name, table in {"every table": CELL, **TABLES}.items():
        own = [one for one in table if name in ("every table", "reference", "sessions") or one not in CELL]
        marks[f"<!-- the columns of {name} -->"] = partial(columns, own)
    for mark, made in marks.items():
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return with_headers(markdown)


def with_headers(markdown: str) -> str:
    """The page with each header in the place of the line that links to it: the site has no sources."""

    def shown(link: re.Match[str]) -> str:
        header = ROOT / link[1]
        return f"```{'c' if header.suffix == '.h' else 'cpp'}\n{header.read_text('utf-8')}```"

    return _HEADER.sub(shown, markdown)
