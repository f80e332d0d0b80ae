"""The names of files that are pictures, so that no other content gets such a name."""

from __future__ import annotations

from pathlib import Path

from taskgrain.words.errors import InputError

DRAWINGS = (".svg", ".png")
"""The names of pictures that taskgrain draws."""
_PICTURES = (*DRAWINGS, ".pdf", ".eps", ".ps", ".jpg", ".jpeg", ".gif", ".webp")


def refuse_picture(output: Path, allowed: str) -> None:
    """Raises `InputError` for a name that says that the file is a picture."""
    if output.suffix.lower() in _PICTURES:
        raise InputError("--output", str(output), allowed)
