"""Graphs of any shape, for the tests of this room."""

from dataclasses import dataclass

from hypothesis import strategies as st

from taskgrain.graphs.task_graph import TaskGraph, made


@dataclass(frozen=True)
class Graph:
    before: tuple[tuple[int, ...], ...]
    durations: tuple[int, ...]
    """The durations, at least 1, as a dummy task has none."""
    outputs: tuple[int | None, ...] = ()
    """Bytes, where anybody knows them."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Tasks that depend on tasks before them, which a cycle cannot."""
    size = draw(st.integers(1, 12))
    before = tuple(
        tuple(sorted(draw(st.sets(st.integers(0, n - 1), max_size=4)))) if n else () for n in range(size)
    )
    outputs = tuple(draw(st.none() | st.integers(0, 99)) for _ in range(size))
    known = any(one is not None for one in outputs)
    return Graph(before, tuple(draw(st.integers(1, 9)) for _ in range(size)), outputs if known else ())


def made_of(graph: Graph) -> TaskGraph:
    """The same with names."""
    names = {f"t{n}": float(one) for n, one in enumerate(graph.durations)}
    before = [(f"t{n}", f"t{k}") for n, one in enumerate(graph.before) for k in one]
    return made("test", names, before, outputs={f"t{n}": one for n, one in enumerate(graph.outputs)})
