"""Tests of the origin of numbers, and of what may stand beside them."""

from dataclasses import dataclass

from taskgrain.words.origin import MEASURED, Origin, together


@dataclass(frozen=True)
class One:
    system: str
    origin: Origin | None = MEASURED


def test_what_is_simulated_does_not_stand_beside_what_is_measured() -> None:
    mpi, tbb, unknown = One("mpi"), One("tbb", Origin(True)), One("new", None)
    kept, (said,) = together([mpi, tbb, unknown])
    assert kept == [mpi, unknown] and said.startswith("tbb: left out, as simulated")
    for alone in ([mpi, unknown], [tbb, unknown]):
        assert together(alone) == (alone, [])


def test_numbers_that_stand_together_are_as_sure_as_the_worst_simulation() -> None:
    assert Origin.of([MEASURED, Origin(True, 1.5), Origin(True, 2.0)]) == Origin(True, 2.0)
    assert Origin.of([MEASURED]) == Origin.of([]) == MEASURED
    assert "a factor of 2 for two ranks" in Origin(True, 2.0).note
