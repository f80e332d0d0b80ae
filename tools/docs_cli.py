"""Fills the page of the command line with what the program says of itself: a hook of MkDocs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import typer

MARK = "<!-- the commands -->"


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
    """All commands, in Markdown."""
    from taskgrain.cli.app import app

    group: Any = typer.main.get_command(app)
    return "\n\n".join(_command(name, command) for name, command in group.commands.items())


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown
