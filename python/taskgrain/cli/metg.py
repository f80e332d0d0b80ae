"""`taskgrain metg`: METG of systems on one workload."""

from __future__ import annotations

from typing import Annotated

from taskgrain.cli.options import (
    GraphOptions,
    Measuring,
    Names,
    Text,
    equipped,
    graph_options,
    measuring_options,
    setting,
    split_names,
)
from taskgrain.study.field import flag
from taskgrain.words import numbers
from taskgrain.words.errors import UsageError


@graph_options()
@measuring_options
def metg(
    graph: GraphOptions,
    how: Measuring,
    names: Names = None,
    threshold: Annotated[Text, setting("threshold")] = None,
    precision: Annotated[Text, setting("precision")] = None,
    rank_precision: Annotated[Text, setting("rank_precision")] = None,
    repeats: Annotated[Text, setting("repeats")] = None,
    min_rounds: Annotated[Text, setting("min_rounds")] = None,
    max_rounds: Annotated[Text, setting("max_rounds")] = None,
    experiment: Annotated[Text, setting("experiment")] = None,
    at: Annotated[Text, setting("at")] = None,
) -> None:
    """Measures METG of systems on one workload, or with --at their efficiency at given task times. The search
    for METG starts at --iterations.

    METG depends on how many tasks a step has for each core. Without --width, --tasks-per-core or --like, it
    has one; `make study` measures one and eight.
    """
    from taskgrain.cli.measuring import measure
    from taskgrain.drive import catalogue
    from taskgrain.study.study import Study
    from taskgrain.study.workload import EMPTY

    if at is not None:
        # A study may have an empty text, an option may not.
        _ = numbers.durations(at, "--at") or numbers.duration(at, "--at")
    settings = graph.settings(
        threshold=threshold,
        precision=precision,
        rank_precision=rank_precision,
        budget=how.budget,
        repeats=repeats,
        min_rounds=min_rounds,
        max_rounds=max_rounds,
        experiment=experiment,
        at=at,
        launcher=how.launcher,
        hosts=how.hosts,
        hostfile=how.hostfile,
    )
    systems = catalogue.started_by(catalogue.discover(how.folders or []), settings.launcher)
    chosen = equipped(catalogue.select(systems, split_names(names)), how.env, how.quiet or how.dry_run)
    names_of = tuple(one.name for one in chosen)
    graph = graph.on(chosen)
    workloads = graph.workloads
    if at is not None and workloads[0]["kernel"] == EMPTY:
        raise UsageError("--at: needs tasks that work; give another --kernel than empty")
    named = dict.fromkeys(workloads, flag)
    study = Study(names_of, workloads, settings, named=named, settings_named=flag)
    measure(study, chosen, graph.cores, how)
