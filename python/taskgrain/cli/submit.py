"""`taskgrain submit`: jobs of Slurm that measure a study, one for each number of nodes."""

from __future__ import annotations

import math
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from taskgrain.cli.options import Systems, Text, split_names, valued
from taskgrain.machine.topology import choose_cores
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, TaskgrainError, UsageError
from taskgrain.words.quantity import counted

_LEAST_SECONDS, _LEAD_SECONDS = 120.0, 60
"""The shortest job, and the time before its end that a measurement gets to end in good order."""
_MOST_RESTARTS = 100
# The job's shell hears USR1 before the time limit, as scancel and the end of a node send other signals.
_SCRIPT = """#!/bin/sh
#SBATCH --job-name={name}
#SBATCH --dependency=singleton
#SBATCH --nodes={nodes}
#SBATCH --exclusive
#SBATCH --time={minutes}
#SBATCH --signal=B:USR1@{lead}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={log}
again() {{
  kill -TERM $run; wait $run
  [ ${{SLURM_RESTART_COUNT:-0}} -lt {restarts} ] && scontrol requeue $SLURM_JOB_ID && exit
  echo "taskgrain: this job is not queued again; submit the study to go on" >&2
  exit 1
}}
trap again USR1
{command} &
run=$!
wait $run
"""


def submit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, a TOML file.")],
    time: Annotated[str, valued("--time", "TIME", "How long a job may take at a time: 2h, 1-00:00:00.")],
    nodes: Annotated[Text, valued("--nodes", "LIST", "Numbers of nodes (default: all of the study).")] = None,
    output: Annotated[
        Path | None,
        valued("--output -o", "DIR", "Folder for the results (default: results/NAME)."),
    ] = None,
    folders: Systems = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the scripts of the jobs, and submit none.")
    ] = False,
) -> None:
    """Submits a job of Slurm for each number of nodes of a study.

    The jobs run one after another, and what the time limit of one cuts off goes on when it is queued again.
    """
    from taskgrain.drive import catalogue
    from taskgrain.measure import call
    from taskgrain.results import store
    from taskgrain.study import study as studies

    # sbatch would take a number alone for minutes.
    seconds = numbers.seconds(time, "--time", low=_LEAST_SECONDS, above=False, with_unit=True)
    listed = split_names([nodes], "--nodes") if nodes else []
    wished = [numbers.integer(one, "--nodes", low=1) for one in listed] or [0]
    systems = catalogue.discover(folders or [])
    asked = studies.read(file, studies.MOST_CORES)
    cores = asked.settings.cores or max([len(choose_cores(0)), *(one.cores for one in asked.workloads)])
    made = studies.read(file, cores, systems)  # a workload may have more cores than this host
    for name in ("hosts", "hostfile"):
        if given := getattr(made.settings, name):
            raise InputError(
                made.settings_named(name), given, "none, as a job has the hosts that Slurm gives it"
            )
    alone = {name: one.one_node for name, one in systems.items() if one.one_node}
    systems = {name: replace(one, ranks="") for name, one in systems.items()}  # a job has its launcher
    chosen = catalogue.select(systems, made.systems, f"{file}: systems", made.systems_named)
    if simulated := call.simulated_alone(chosen):
        raise UsageError(
            f"{file}: systems: {simulated} simulates its nodes and needs no job; see taskgrain study"
        )
    each = [call.checked_cells(replace(made, only_nodes=one), chosen, cores) for one in wished]
    known = [
        sorted({one.workload.nodes for one in cells if one.workload.nodes == 1 or one.system not in alone})
        for cells in each
    ]
    if not any(known):
        first = next(one for one in chosen if one.plain in alone)
        raise UsageError(f"{file}: systems: {first.name} {alone[first.plain]}")
    if not dry_run and not shutil.which("sbatch"):
        raise UsageError("no program sbatch; --dry-run prints the scripts that it would get")
    folder = (output or Path("results") / file.stem).absolute()
    words = [sys.executable, "-m", "taskgrain", "study", str(file.absolute()), "--output", str(folder)]
    words += [word for one in folders or [] for word in ("--systems", str(one.absolute()))]
    words += ["--launcher", "slurm"] if made.settings.launcher == "auto" else []
    logs = folder.with_name(f"{folder.name}-jobs")  # a results folder is new at first
    store.check_folder(folder)
    for one in () if dry_run else (folder, logs):  # Slurm makes none
        store.make_folder(one)
    for number in dict.fromkeys(number for some in known for number in some):
        script = _SCRIPT.format(
            name=shlex.quote(f"taskgrain-{file.stem}"),
            nodes=number,
            minutes=math.ceil(seconds / 60.0),
            lead=_LEAD_SECONDS,
            log=shlex.quote(str(logs / f"nodes-{number}.log").replace("%", "%%")),
            restarts=_MOST_RESTARTS,
            command=shlex.join([*words, "--nodes", str(number), "--retry", "--quiet"]),
        )
        if dry_run:
            sys.stdout.write(script)
            continue
        done = subprocess.run(["sbatch"], input=script, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TaskgrainError(f"sbatch: {done.stderr.strip()}")
        sys.stdout.write(f"{done.stdout.strip()}, on {counted(number, 'node')}; its log: {logs}\n")
