"""Drawings of task graphs: a circle for each task, an arrow or a way for each dependence, time goes down."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from program_graphs import Graph, graphs, made_of

from taskgrain._core import Run
from taskgrain.cli.graph import steps_of
from taskgrain.graphs.kinds import kinds
from taskgrain.graphs.steps import in_steps
from taskgrain.report.drawings import of_pattern, of_program

SPACE = "{http://www.w3.org/2000/svg}"
ENDS = re.compile(r"M(\d+) ([\d.]+)C.* (\d+) ([\d.]+)$")


def drawn(pattern: str, steps: int, width: int, title: str = "title") -> tuple[ElementTree.Element, Run]:
    run = Run(
        f'{{"op":"run","graphs":[{{"pattern":"{pattern}","steps":{steps},"width":{width}}}],"validate":"off"}}'
    )
    return ElementTree.fromstring(of_pattern(list(steps_of(run)), width, title)), run


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


@settings(max_examples=40)
@given(graphs())
def test_each_task_is_drawn_and_ways_lead_to_it_from_what_it_reads(graph: Graph) -> None:
    steps = in_steps(made_of(graph))
    root = ElementTree.fromstring(of_program(steps, "title", kinds(steps.graph), str))
    at: dict[int, tuple[float, float]] = {}
    areas: dict[int, float] = {}
    for circle in root.findall(f"{SPACE}circle"):
        title = circle.find(f"{SPACE}title")
        if title is not None:
            x, y, radius = numbers(circle, "cx", "cy", "r")
            at[int(title.text or "")], areas[int(title.text or "")] = (x, y), radius
    assert sorted(at) == [*range(len(graph.before))]
    assert len({*at.values()}) == len(at), "each has a place of its own"
    longest = max(areas, key=areas.__getitem__)
    assert graph.durations[longest] == max(graph.durations)
    width, height = numbers(root, "width", "height")
    assert all(0 < x < width and 0 < y < height for x, y in at.values())
    ways: dict[tuple[float, float], set[tuple[float, float]]] = {}
    for path in root.findall(f"{SPACE}path"):
        found = ENDS.match(path.attrib["d"])
        assert found
        x, y, to_x, to_y = map(float, found.groups())
        assert y < to_y
        ways.setdefault((to_x, to_y), set()).add((x, y))
    places = {*at.values()}

    def read_by(place: tuple[float, float]) -> set[tuple[float, float]]:
        """The tasks from which ways lead there, past points that are no tasks."""
        return {task for one in ways.get(place, ()) for task in ({one} if one in places else read_by(one))}

    for task, before in enumerate(steps.graph.before):
        assert read_by(at[task]) == {at[one] for one in before}
