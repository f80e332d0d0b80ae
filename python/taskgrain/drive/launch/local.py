"""Processes on this machine: fills in what a command of a `system.toml` leaves open."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

# Only words are placeholders, so that a command may hold JSON and other braces.
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
PLACEHOLDERS = ("dir", "cores", "nodes", "places", "python")
"""`nodes` is for what simulates several."""


def names_in(word: str) -> list[str]:
    """The names of the placeholders that stand in a word, known or not."""
    return _PLACEHOLDER.findall(word)


def fill(word: str, folder: Path, cores: Sequence[int], nodes: int = 1) -> str:
    """The word with `{dir}`, the driver's `folder`, and what says which processors `cores` of how many nodes
    it uses."""
    values = {
        "dir": str(folder),
        "cores": str(len(cores)),
        "nodes": str(nodes),
        "places": ",".join(f"{{{core}}}" for core in cores),
        "python": sys.executable,
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], word)
