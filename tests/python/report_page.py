"""A report as a browser would take it apart, for the tests that need none."""

import base64
import gzip
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from taskgrain.answers import data
from taskgrain.report.page import write


class Page(HTMLParser):
    """The page as a browser would take it apart: its tags, its text, its script blocks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.text = ""
        self._in_script = False
        self.feed(html)

    def unpacked(self, block: str) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.blocks[block])))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, text: str) -> None:
        if self._in_script:
            self.blocks[self.tags[-1][1].get("id") or f"block {len(self.blocks)}"] = text
        else:
            self.text += text


def opened(folder: Path) -> Page:
    return Page(write(data.read(folder), folder / "page.html").read_text("utf-8"))
