"""The fenced blocks of a page in Markdown, and what the page says of each."""

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,})\s*(?P<language>[^\s`]*)(?P<rest>[^`]*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"^\s*<!-- (not run|own system|excerpt|output|checkout)(?:: *(.*?))? *-->\s*$")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    """Line of its fence, from 1."""
    title: str = ""
    """The file that it is."""
    comments: dict[str, str] = field(default_factory=dict)
    """The comments right before it: `not run`, `own system`, `excerpt`, `output` and `checkout`."""


def blocks(text: str) -> list[Block]:
    """All blocks of a page, in order. Raises ValueError for one that does not end."""
    found: list[Block] = []
    lines = text.splitlines()
    comments: dict[str, str] = {}
    at = 0
    while at < len(lines):
        if comment := _COMMENT.match(lines[at]):
            comments[comment[1]] = comment[2] or ""
        elif fence := _FENCE.match(lines[at]):
            ends = [k for k in range(at + 1, len(lines)) if lines[k].strip() == fence["fence"]]
            if not ends:
                raise ValueError(f"line {at + 1}: the block does not end")
            title = _TITLE.search(fence["rest"])
            body = textwrap.dedent("\n".join(lines[at + 1 : ends[0]])) + "\n"
            found.append(Block(fence["language"], body, at + 1, title[1] if title else "", comments))
            comments, at = {}, ends[0]
        elif lines[at].strip():
            comments = {}
        at += 1
    return found


def pages(root: Path) -> list[Path]:
    """README.md and all of docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
