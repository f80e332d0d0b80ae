"""`taskgrain study`: measures a study file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from taskgrain.cli.options import Measuring, Text, equipped, measuring_options, valued
from taskgrain.machine.topology import choose_cores
from taskgrain.study.field import flag
from taskgrain.study.settings import SETTINGS
from taskgrain.study.variables import suffix
from taskgrain.words import numbers
from taskgrain.words.errors import InputError


def _schema(wished: bool) -> None:
    if wished:
        from taskgrain.study.schema import schema_text

        sys.stdout.write(schema_text())
        raise typer.Exit


@measuring_options
def study(
    how: Measuring,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, a TOML file.")],
    schema: Annotated[
        bool,
        typer.Option("--schema", callback=_schema, is_eager=True, help="Print the JSON schema of studies."),
    ] = False,
    cores: Annotated[
        Text, valued("--cores", "N", "Cores to use, if the study does not say so itself.")
    ] = None,
    nodes: Annotated[Text, valued("--nodes", "N", "Measure only what is on so many nodes now.")] = None,
) -> None:
    """Measures a study. If an earlier call was stopped, it continues there."""
    from taskgrain.cli.measuring import measure
    from taskgrain.drive import catalogue
    from taskgrain.study import study as studies

    wished = numbers.integer(0 if cores is None else cores, "--cores")
    systems = catalogue.discover(how.folders or [])
    made = studies.read(file, wished or studies.MOST_CORES, systems)
    simulated = all(name in systems and systems[name].simulates_nodes for name in made.systems)
    there = max([len(choose_cores(0)), *(one.cores for one in made.workloads if simulated)])
    made = studies.read(file, wished or there, systems)
    own = made.settings.cores
    everywhere = [one.cores for one in made.workloads]
    said = own or (max(everywhere) if all(everywhere) else 0)
    if said and wished not in (0, said):
        raise InputError("--cores", wished, f"{said}, the most that {file} gives as `cores`")
    if how.budget is not None:
        seconds = numbers.seconds(how.budget, "--budget", above=False)
        made = replace(made, settings=replace(made.settings, budget=seconds))
    if nodes is not None:
        made = replace(made, only_nodes=numbers.integer(nodes, "--nodes", low=1))
    named = made.settings_named("launcher")
    given = {"launcher": how.launcher, "hosts": how.hosts, "hostfile": how.hostfile}
    over = {name: SETTINGS[name].read(one, flag(name)) for name, one in given.items() if one is not None}
    if "launcher" in over:
        named = "--launcher"
    if {"hosts", "hostfile"} & over.keys():  # either takes the place of both
        over = {"hosts": "", "hostfile": "", **over}
    made = replace(made, settings=replace(made.settings, **over))
    systems = catalogue.started_by(systems, made.settings.launcher, named)
    chosen = catalogue.select(systems, made.systems, f"{file}: systems", made.systems_named)
    asked = made.settings_named("cores") if own else "--cores"
    used = choose_cores(own or wished or (there if simulated else 0), named=asked, simulated=simulated)
    chosen = [one.with_variables(env, suffix(env)) for one in chosen for env in made.env]
    chosen = equipped(chosen, how.env, how.quiet or how.dry_run)
    measure(made, chosen, used, replace(how, output=how.output or Path("results") / file.stem))
