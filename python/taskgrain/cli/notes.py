"""Notes of taskgrain itself on standard error."""

from __future__ import annotations

import math
import sys
from shutil import get_terminal_size

from taskgrain.words.breaks import SENTENCE, folded


def note(text: str) -> None:
    """Says something; on a terminal it goes on in a new line where a word has no room."""
    width = get_terminal_size().columns if sys.stderr.isatty() else math.inf
    sys.stderr.write(folded(f"taskgrain: {text}", width, SENTENCE) + "\n")
