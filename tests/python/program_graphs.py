"""Graphs of any shape, for the tests of this room."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from taskgrain.graphs.task_graph import TaskGraph, made


@dataclass(frozen=True)
class Graph:
    before: tuple[tuple[int, ...], ...]
    durations: tuple[int, ...]
    """At least 1, as a dummy task has none."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Tasks that depend on tasks before them, which a cycle cannot."""
    size = draw(st.integers(1, 12))
    before = tuple(
        tuple(sorted(draw(st.sets(st.integers(0, n - 1), max_size=4)))) if n else () for n in range(size)
    )
    return Graph(before, tuple(draw(st.integers(1, 9)) for _ in range(size)))


def made_of(graph: Graph) -> TaskGraph:
    """The same with names."""
    names = {f"t{n}": float(one) for n, one in enumerate(graph.durations)}
    return made("test", names, [(f"t{n}", f"t{k}") for n, one in enumerate(graph.before) for k in one])
