"""The table of a workload's fields: the core's (include/taskgrain/fields.hpp), and those of the harness.

Readers, names of cells, flags, the JSON schema of studies, columns of exported tables and the reference come
from it. docs/how-to/add-a-field.md says how to add a field of a graph or a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from taskgrain import _core
from taskgrain.study import presets
from taskgrain.study.field import Field
from taskgrain.study.words_for_patterns import ask_for_pattern, ask_for_preset

_GIVEN = ("pattern", "width")
"""The fields that the harness has no default for: a workload says them."""


def _of_core(entry: Mapping[str, object]) -> Field:
    low, high, choices = entry["low"], entry["high"], entry["choices"]
    return Field(
        name=str(entry["name"]),
        type=entry["type"],  # type: ignore[arg-type]
        default=entry["default"],
        help=str(entry["help"]).removesuffix("."),
        low=low if isinstance(low, int | float) else 0,
        high=high if isinstance(high, int | float) else math.inf,
        choices=tuple(choices) if isinstance(choices, list) else (),
        unit=str(entry["unit"]),
        of_kernel=bool(entry["of_kernel"]),
        hint=ask_for_pattern if entry["name"] == "pattern" else None,
    )


CORE: dict[str, Field] = {one.name: one for one in map(_of_core, _core.fields())}
"""Every field of a graph and its kernel."""
OF_A_RUN = ("steps", "iterations")
"""The fields of the core that say how large a run is, not what the workload is."""
OF_THE_HARNESS = ("nodes", "cores", "graphs")
"""Fields of a workload that no graph of a request has."""
_TASKS_PER_CORE = Field(
    "tasks_per_core",
    "integer",
    1,
    "Points of a step for each core of each node, instead of the width",
    low=1,
    high=2**40,
)
_NODES = Field(
    "nodes",
    "integer",
    1,
    "Nodes that the workload is measured on, the first of the hosts",
    low=1,
    high=100_000,
)
_CORES = Field(
    "cores",
    "integer",
    0,
    "Cores of each node that the workload is measured on; 0: all of the study's",
    stored_as="asked_cores",
)
_LIKE = Field(
    "like",
    "choice",
    None,
    "Pattern and fields of an application, where they are not given; `taskgrain presets` explains them",
    choices=presets.names(),
    hint=ask_for_preset,
)
_NEIGHBOURS = Field(
    "neighbours",
    "integer",
    None,
    "Points that a task depends on besides its own, for the patterns with a radix: radix - 1",
    high=2**40,
)
_GRAPHS = Field("graphs", "integer", 1, "Copies of the graph that run at once", low=1, high=100_000)


_OWN = [
    replace(one, default=None) if one.name in _GIVEN else one
    for one in CORE.values()
    if one.name not in OF_A_RUN
]
_KERNEL = next(number for number, one in enumerate(_OWN) if one.of_kernel)
GIVEN: dict[str, Field] = {
    one.name: one
    for one in (
        *(_OWN[0], _LIKE, _OWN[1], _TASKS_PER_CORE, _NODES, _CORES, _OWN[2], _NEIGHBOURS),
        *_OWN[3:_KERNEL],
        _GRAPHS,
        *_OWN[_KERNEL:],
    )
}
"""The fields that a person may give, in the order of help and pages."""


def _named() -> dict[str, Field]:
    """Pattern and what shapes it, then how large it is, as in `nearest/radix=5/width=16/graphs=4`."""
    elsewhere = ("like", "width", "tasks_per_core", "nodes", "cores", "neighbours", "graphs")
    own = [one for one in GIVEN.values() if one.name not in elsewhere]
    place = next(number for number, one in enumerate(own) if one.name == "output_bytes")
    return {one.name: one for one in (*own[:place], GIVEN["width"], _NODES, _CORES, _GRAPHS, *own[place:])}


WORKLOAD: dict[str, Field] = _named()
"""The fields that a workload has, in the order of its name, which results folders know cells by."""
PLURALS = {"patterns": "pattern", "widths": "width"}
"""The names of a field that gets a list."""
RIVALS = ({"pattern", "patterns", "like"}, {"width", "widths", "tasks_per_core"}, {"radix", "neighbours"})
"""Keys that say the same in different ways."""


def rivals(key: str, table: Mapping[str, object]) -> list[str]:
    """The other keys of `table` that say in another way what `key` says."""
    return [other for group in RIVALS if key in group for other in sorted(group - {key}) if other in table]
