"""The kind of a system, as the catalogue has it."""

import pytest

from taskgrain.drive import catalogue
from taskgrain.report.matrix import OTHER, Kind, kinds
from taskgrain.results.lines import Build, SessionLine
from taskgrain.words.errors import UsageError


def test_a_system_is_of_the_kind_that_its_description_says() -> None:
    found = kinds(["mpi", "openmp_task", "limit"])
    assert found["mpi"] == Kind("MPI", "Several nodes, explicit parallelism")
    assert found["openmp_task"].kind == "One node, implicit parallelism"
    assert found["limit"].title == "Hand-written limit"


def test_a_build_or_a_variant_is_of_the_kind_of_its_system() -> None:
    found = kinds(["mpi@ab12cd34", "mpi.old", "openmp_task.libomp@ab12cd34"])
    assert {found[name].kind for name in ("mpi@ab12cd34", "mpi.old")} == {kinds(["mpi"])["mpi"].kind}
    assert found["openmp_task.libomp@ab12cd34"].title == "OpenMP tasks, LLVM"


def test_an_unknown_system_is_of_no_kind() -> None:
    assert kinds(["mine"]) == {"mine": Kind("mine", OTHER)}


def test_results_tell_of_a_system_that_is_in_no_catalogue() -> None:
    """Of one of `--systems`, and of one that has changed since."""
    sessions = [
        SessionLine(
            systems=(
                Build(name="mine", title="Mine", parallelism="implicit", distributed=True),
                Build(name="mpi", build="ab12"),
            )
        )
    ]
    found = kinds(["mine", "mine@ab12cd34", "mpi"], sessions)
    assert found["mine"] == found["mine@ab12cd34"] == Kind("Mine", "Several nodes, implicit parallelism")
    assert found["mpi"] == kinds(["mpi"])["mpi"]


def test_a_broken_catalogue_costs_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise UsageError("system.toml: cannot be read")

    monkeypatch.setattr(catalogue, "discover", broken)
    assert kinds(["mpi"]) == {"mpi": Kind("mpi", OTHER)}
