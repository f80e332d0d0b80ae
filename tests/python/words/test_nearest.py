"""Tests of the names that a mistyped one is near to."""

import pytest

from taskgrain.words.nearest import nearest, question

PATTERNS = ["trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "stencil_2d", "dom", "tree", "fft"]
SYSTEMS = ["limit", "mpi", "mpi_bulk", "openmp_for", "openmp_task", "starpu", "tbb", "taskgrain_graph"]


@pytest.mark.parametrize(
    ("value", "names", "found"),
    [
        ("stencl_1d", PATTERNS, ["stencil_1d", "stencil_2d"]),
        ("Stencil-1D", PATTERNS, ["stencil_1d"]),
        ("ftt", PATTERNS, []),
        ("treee", PATTERNS, ["tree"]),
        ("stencil", PATTERNS, ["stencil_1d", "stencil_2d", "stencil_1d_periodic"]),
        ("StarPU", SYSTEMS, ["starpu"]),
        ("openmp", SYSTEMS, ["openmp_for", "openmp_task"]),
        ("mpich", SYSTEMS, ["mpi"]),
        ("xyzzy", SYSTEMS, []),
        ("", SYSTEMS, []),
        ("m", SYSTEMS, []),
        ("--", SYSTEMS, []),
        (7, SYSTEMS, []),
        ("mpi" * 100, SYSTEMS, []),
    ],
)
def test_names_near_to_a_value(value: object, names: list[str], found: list[str]) -> None:
    assert nearest(value, names) == found


def test_the_question_names_them_in_a_sentence() -> None:
    assert question("startpu", SYSTEMS) == "Did you mean starpu?"
    assert question("openmp", SYSTEMS) == "Did you mean openmp_for or openmp_task?"
    asked = question("stencil", PATTERNS)
    assert asked == "Did you mean stencil_1d, stencil_2d or stencil_1d_periodic?"
    assert question("xyzzy", SYSTEMS) == ""
