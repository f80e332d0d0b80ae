"""The drawing of the graph of a program: a circle for each task, and a way down along each dependence."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given, settings
from program_graphs import Graph, graphs, made_of

from taskgrain.graphs.kinds import kinds
from taskgrain.graphs.steps import in_steps
from taskgrain.report.program_drawing import svg

SPACE = "{http://www.w3.org/2000/svg}"
ENDS = re.compile(r"M(\d+) ([\d.]+)C.* (\d+) ([\d.]+)$")


def numbers(element: ElementTree.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(element.attrib[name]) for name in names)


@settings(max_examples=40)
@given(graphs())
def test_each_task_is_drawn_and_ways_lead_to_it_from_what_it_reads(graph: Graph) -> None:
    steps = in_steps(made_of(graph))
    root = ElementTree.fromstring(svg(steps, "title", kinds(steps.graph), str))
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
