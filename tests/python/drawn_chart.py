"""The finished drawing of a figure of the report: its marks and its texts, with their places in pixels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import vl_convert

from taskgrain.report import look
from taskgrain.report.charts.chart import Figure
from taskgrain.report.figures import drawn
from taskgrain.report.look import PAPER, VEGALITE

Item = dict[str, Any]


@dataclass(frozen=True)
class DrawnChart:
    """The marks by their kind (`symbol`, `rule`, `line`, …), apart from those of axes and the names below."""

    marks: dict[str, list[list[Item]]]
    """The marks of each kind, a list for each layer; each line is a layer of its own."""
    texts: tuple[str, ...]
    """All of them: results, titles, labels of axes, names below the plot."""
    key: dict[str, list[Item]]
    """The signs beside the names below the plot, and the names, by kind."""

    def layer(self, kind: str, place: int = 0) -> list[Item]:
        """The marks of a kind in the layer number `place` of this kind."""
        return self.marks[kind][place]


def draw(figure: Figure, width: int = 200) -> DrawnChart:
    spec = look.finish(drawn(figure, width), PAPER)
    spec["datasets"] = spec.get("datasets", {}) | figure.data
    scene = vl_convert.vegalite_to_scenegraph(spec, vl_version=VEGALITE)["scenegraph"]
    marks: dict[str, list[list[Item]]] = {}
    texts = []
    for mark in every_mark(scene):
        texts += [str(item["text"]) for item in mark["items"] if "text" in item]
        if mark.get("role") == "mark":
            marks.setdefault(mark["marktype"], []).append(mark["items"])
    below = {kind: some[-1] for kind, some in marks.items() if kind != "line"} if figure.key else {}
    for kind in below:
        marks[kind].pop()
    return DrawnChart({kind: some for kind, some in marks.items() if some}, tuple(texts), below)


def every_mark(node: Any) -> Iterator[Item]:
    """Every mark below a node of the scene that is no group."""
    if node.get("marktype", "group") != "group":
        yield node
        return
    for one in node.get("items", []):
        yield from every_mark(one)
