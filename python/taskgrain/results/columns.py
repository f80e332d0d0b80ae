"""The columns of the tables that `taskgrain export` writes; docs/reference/export.md lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from taskgrain.study.field import Field
from taskgrain.study.fields import GIVEN, WORKLOAD

Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """One column; `source` is the field of `runs.jsonl` that it is, if it has another name there."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    source: str = ""

    @property
    def field(self) -> str:
        return self.source or self.name


def _time(meaning: str) -> tuple[Column, Column]:
    return (
        Column("time", "number", "s", f"Unix time at which {meaning} was written"),
        Column("elapsed", "number", "s", "measured so far, over all calls"),
    )


_KINDS: dict[str, Kind] = {"integer": "integer", "bytes": "integer", "number": "number", "flag": "flag"}


def _of_field(field: Field) -> Column:
    return Column(field.name, _KINDS.get(field.type, "text"), field.unit, field.text.removesuffix("."))


CELL = (
    Column("cell", "text", "", "name of the cell: system, pattern, and whatever is not the default"),
    Column("system", "text", "", "system"),
    *(_of_field(one) for name, one in GIVEN.items() if name in WORKLOAD),
)
"""What every table but `reference` begins with: the cell and its workload."""

RUNS = (
    *CELL,
    *_time("the run"),
    Column("run", "integer", "", "number of the run in the folder, from 0; its samples share it"),
    Column("sample", "integer", "", "which of the run's timed repeats, from 0"),
    Column("counted", "flag", "", "false for a run that others disturbed and that was repeated"),
    Column("phase", "text", "", "bracket, measure, sweep, or floor (the empty kernel)"),
    Column("round", "integer", "", "round of the phase, from 0"),
    Column("iterations", "integer", "", "of the kernel in each task; 0: the empty kernel"),
    Column("steps", "integer", "", "time steps of the graph"),
    Column("seconds", "number", "s", "wall time of the sample"),
    Column("granularity", "number", "s", "seconds × cores ÷ tasks"),
    Column("rate", "number", "work_unit/s", "work ÷ seconds, of all cores together"),
    Column("prepare_seconds", "number", "s", "spent on the graph before the clock started"),
    Column("tasks", "integer", "", "tasks of the sample"),
    Column("dependencies", "integer", "", "dependences of the sample"),
    Column("work", "number", "work_unit", "work of the sample"),
    Column("work_unit", "text", "", "unit of work: flop, byte, iteration"),
    Column("cores", "integer", "", "cores that the system occupies"),
    Column("peak_rss_bytes", "integer", "B", "largest resident memory of the driver so far"),
    Column("busy", "number", "", "share of the cores' time that others took during the run"),
    Column("steal", "number", "", "the hypervisor's part of it"),
    Column("switches", "integer", "", "involuntary context switches of the driver's threads during the run"),
    Column("slowdown", "number", "", "how many times slower than at best the cores were around the run"),
    Column("disturbed", "flag", "", "whether others disturbed the run: by that or by `busy`"),
    Column("attempts", "integer", "", "how often the run was made because of that"),
)

CELLS = (
    *CELL,
    *_time("the cell's last line"),
    Column("cores", "integer", "", "cores that the system occupies"),
    Column("reference", "text", "", "the program that efficiency is measured against"),
    Column("threshold", "number", "", "the efficiency that METG is for"),
    Column("ending", "text", "", "as in results.md, or unfinished"),
    Column("metg", "number", "s", "METG"),
    Column("low", "number", "s", "lower end of its 95 % interval"),
    Column("high", "number", "s", "upper end of its 95 % interval"),
    Column("crossing_iterations", "number", "", "iterations of a task at METG", "iterations"),
    Column("floor", "number", "s", "granularity of the empty kernel"),
    Column("floor_low", "number", "s", "lower end of its 95 % interval"),
    Column("floor_high", "number", "s", "upper end of its 95 % interval"),
    Column("rounds", "integer", "", "complete rounds"),
    Column("runs", "integer", "", "runs that count"),
    Column("repeated_runs", "integer", "", "runs that others disturbed and that were repeated"),
    Column("disturbed_runs", "integer", "", "runs that stayed disturbed"),
    Column("peak_rate", "number", "work_unit/s", "peak of one core: what the efficiency is a share of"),
    Column("work_unit", "text", "", "unit of work: flop, byte, iteration"),
    Column("failure", "text", "", "kind of the failure that ended the cell", "error"),
    Column("failure_message", "text", "", "its message", "message"),
    Column("warnings", "text", "", "warnings, with a vertical bar between them"),
    Column("version", "text", "", "version of the system"),
    Column("compiler", "text", "", "compiler of its driver"),
    Column("flags", "text", "", "flags of that compiler"),
    Column("isa", "text", "", "instruction set of the compute kernel"),
    Column("command", "text", "", "the command that measures the cell alone"),
)

CURVE = (
    *CELL,
    Column("cores", "integer", "", "cores that the system occupies"),
    Column("iterations", "number", "", "of the kernel in each task"),
    Column("granularity", "number", "s", "median over the rounds"),
    Column("granularity_low", "number", "s", "lower end of its 95 % interval"),
    Column("granularity_high", "number", "s", "upper end of its 95 % interval"),
    Column("efficiency", "number", "", "share of the peak rate"),
    Column("efficiency_low", "number", "", "lower end of its 95 % interval"),
    Column("efficiency_high", "number", "", "upper end of its 95 % interval"),
    Column("repeats", "integer", "", "samples behind the point"),
)

REFERENCE = (
    *_time("the measurement"),
    Column("measurement", "integer", "", "number of the measurement in the folder, from 0"),
    Column("program", "text", "", "that measured: taskgrain-reference, or that of other processors"),
    Column("core", "integer", "", "position of the core among those measured on, from 0"),
    Column("rate", "number", "work_unit/s", "of the kernel alone on that core, all cores running"),
    Column("work_unit", "text", "", "unit of work: flop, byte, iteration"),
    Column("kernel", "text", "", "the kernel"),
    Column("scratch_bytes", "integer", "B", "its working set; 0: the kernel's own size"),
    Column("samples", "integer", "", "parts of the working set of a memory kernel"),
    Column("busy", "number", "", "share of the cores' time that others took"),
    Column("steal", "number", "", "the hypervisor's part of it"),
    Column("load", "number", "", "processes that ran or waited for a core, averaged over a minute"),
    Column("hertz", "integer", "Hz", "clock of the first core, where the system tells"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": RUNS,
    "cells": CELLS,
    "curve": CURVE,
    "reference": REFERENCE,
}
