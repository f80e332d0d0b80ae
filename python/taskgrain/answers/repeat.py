"""The command that measures one cell of a study again, alone, in the same way."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict

from taskgrain.study.settings import Settings

_FLAGS = {"first_iterations": "--iterations"}
_SHARED = ("budget",)
"""Settings of a whole study, that say nothing of a cell."""


def command(recorded: str, study: Mapping[str, object]) -> str:
    """`recorded`, the command of the cell's workload, with the study's settings that are no defaults.

    `study` is the table of study.toml, which writes all of them out.
    """
    words = [recorded]
    for key, default in asdict(Settings()).items():
        value = study.get(key, default)
        flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
        if key in _SHARED or value == default or flag in recorded.split() or not recorded:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, str | int | float):
            words.append(f"{flag} {shlex.quote(f'{value:g}' if isinstance(value, float) else str(value))}")
    return " ".join(words)
