"""The places where a name or a number may go on in a new line: never inside of a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = r"(?<=[/_=+@])|(?<=\.)(?!\d)"
NAME = (r"(?<=\S )", r"(?<=/)", _WORD)
"""The places in names and titles, the best first: behind a blank, behind a slash, behind what parts words."""
NUMBER = (r"(?<=, )|(?<= )(?=\()", r"(?<=[^\d ] )(?!\d)", rf"(?<= )|{_WORD}")
"""The places in numbers: behind a comma and before an interval, between words, at last between one and its
unit."""

_NOT_COPIED = r"(?=(?:[^`]*`[^`]*`)*[^`]*$)"
SENTENCE = (rf"(?:(?<=\S )|(?<=\S  ))(?<![–≥≤≈] )(?![ –%×]|(?<=\d )[nµum]?s\b){_NOT_COPIED}",)
"""The places in sentences: between words, but not inside of a number with unit and interval, nor of what is
to be copied, which stands between backquotes."""


def parts(text: str, places: Sequence[str]) -> list[str]:
    """Returns the parts that stay whole if a text may break at all these places."""
    return [part for part in re.split("|".join(places), text) if part] if places else [text]


def folded(text: str, room: float, places: Sequence[str]) -> str:
    """The text in lines of so many characters. It breaks at the first kind of places, and a part that is
    longer at the next; one that has none is left as it is."""
    if len(text) <= room or not places:
        return text
    lines = [""]
    for part in parts(text, places[:1]):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(folded(line.rstrip(), room, places[1:]) for line in lines)
