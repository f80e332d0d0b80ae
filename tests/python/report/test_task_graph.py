"""The drawing of a task graph: a circle for each task, an arrow for each dependence, time goes down."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from taskgrain._core import Run
from taskgrain.cli.graph import steps_of
from taskgrain.report.task_graph import svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(pattern: str, steps: int, width: int, title: str = "title") -> tuple[ElementTree.Element, Run]:
    run = Run(
        f'{{"op":"run","graphs":[{{"pattern":"{pattern}","steps":{steps},"width":{width}}}],"validate":"off"}}'
    )
    return ElementTree.fromstring(svg(list(steps_of(run)), width, title)), run


def numbers(element: ElementTree.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(element.attrib[name]) for name in names)


@pytest.mark.parametrize("pattern", ["trivial", "no_comm", "stencil_1d", "tree", "fft", "dom"])
def test_every_task_and_every_dependence_is_drawn(pattern: str) -> None:
    root, run = drawn(pattern, 4, 6)
    stats = run.stats(0, 1)
    assert len(root.findall(f"{SPACE}circle")) == stats["tasks"]
    assert len(root.findall(f"{SPACE}line")) == stats["dependences"]
    labels = [one.text for one in root.findall(f"{SPACE}text")]
    assert [one for one in labels if one and one.startswith("t = ")] == [f"t = {step}" for step in range(4)]


def test_an_arrow_leads_from_the_rim_of_a_circle_down_to_the_next() -> None:
    root, _ = drawn("stencil_1d", 3, 3)
    circles = [numbers(one, "cx", "cy", "r") for one in root.findall(f"{SPACE}circle")]
    lines = [numbers(one, "x1", "y1", "x2", "y2") for one in root.findall(f"{SPACE}line")]
    assert lines
    for x1, y1, x2, y2 in lines:
        assert y2 > y1
        starts = [math.dist((x1, y1), (x, y)) - r for x, y, r in circles]
        ends = [math.dist((x2, y2), (x, y)) - r for x, y, r in circles]
        assert min(map(abs, starts)) < 0.2
        assert 0 < min(ends) < 10  # room for the head


def test_everything_lies_inside_of_the_drawing() -> None:
    root, _ = drawn("tree", 4, 8)
    width, height = numbers(root, "width", "height")
    for x, y, r in (numbers(one, "cx", "cy", "r") for one in root.findall(f"{SPACE}circle")):
        assert r < x < width - r and r < y < height - r


def test_a_title_is_text_whatever_it_is() -> None:
    title = "<script>alert(1)</script> & \"'"
    root, _ = drawn("fft", 2, 2, title)
    assert [one.text for one in root.iter(f"{SPACE}title")] == [title]
    assert title in [one.text for one in root.findall(f"{SPACE}text")]
    assert not [*root.iter(f"{SPACE}script")]
