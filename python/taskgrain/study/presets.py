"""Workloads in the words of applications: each is a file of the folder `presets`.

`title` and `text` explain it; all other keys are fields of a workload, as a study gives them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "presets"


@dataclass(frozen=True)
class Preset:
    name: str
    title: str
    text: str
    """The explanation of what the application does, and what of it is a task and an output."""
    fields: Mapping[str, Any]
    """The fields of a workload, as in a study."""
    file: Path


def names() -> tuple[str, ...]:
    """The names of all presets, in the order of the alphabet."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


@cache
def read(name: str) -> Preset:
    """A preset of `names`."""
    file = FOLDER / f"{name}.toml"
    table = tomllib.loads(file.read_text("utf-8"))
    title, text = table.pop("title"), table.pop("text")
    return Preset(name, title, " ".join(text.split()), table, file)
