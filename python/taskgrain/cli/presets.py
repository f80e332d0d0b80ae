"""`taskgrain presets`: workloads in the words of applications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from taskgrain.cli import complete
from taskgrain.cli.options import Json
from taskgrain.study import presets as known
from taskgrain.study.field import flag
from taskgrain.study.words_for_patterns import ask_for_preset
from taskgrain.words import numbers
from taskgrain.words.errors import InputError


def presets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The preset to explain; without it all are listed.",
            autocompletion=complete.one_of(known.names()),
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Lists what --like takes: workloads in the words of applications. With a name it explains one."""
    from taskgrain.cli.printer import print_json, printer

    if name is not None and name not in known.names() and (asked := ask_for_preset(name)):
        raise InputError("NAME", name, known.names(), asked=asked)
    chosen = known.names() if name is None else (numbers.text(name, "NAME", known.names()),)
    found = [known.read(one) for one in chosen]
    if as_json:
        print_json([as_dict(one) for one in found])
        return
    out = printer()
    if name is None:
        rows = [[one.name, one.title, options(one.fields)] for one in found]
        out.table(["name", "title", "is the same as"], rows, texts=3)
        out.text("`taskgrain presets NAME` explains one; --like NAME uses it in run, metg, graph and advise.")
    else:
        (one,) = found
        out.text(one.title, "bold")
        out.text(" ".join(one.text.split()))
        out.whole(f"--like {one.name} is the same as {options(one.fields)}")


def as_dict(one: known.Preset) -> dict[str, Any]:
    return {"name": one.name, "title": one.title, "text": one.text, "fields": dict(one.fields)}


def options(fields: Mapping[str, Any]) -> str:
    """The flags that say the same."""
    return " ".join(f"{flag(key)} {value}" for key, value in fields.items())
