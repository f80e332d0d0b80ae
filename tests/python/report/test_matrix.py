"""Systems against workloads: ratios to the best, how sure they are, and the kinds of the systems."""

import pytest
from report_cells import cell, measured, results

from taskgrain.answers.data import Cell
from taskgrain.drive import catalogue
from taskgrain.report import matrix
from taskgrain.report.matrix import OTHER, Entry, Kind, kinds
from taskgrain.results.lines import Build, SessionLine
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval


def entries(*cells: Cell) -> dict[str, Entry]:
    return {one.cell.system: one for one in matrix.of(results(*cells)).entries}


FIRST = measured("limit", 1e-6)


def slower(system: str, times: float, low: float | None, high: float | None) -> Cell:
    return measured(system, times * 1e-6, ratios={FIRST.name: Interval(times, low, high)})


def test_a_winner_is_called_best_and_the_others_by_their_ratio() -> None:
    found = entries(FIRST, slower("mpi", 2.0, 1.9, 2.1), slower("dask", 5000.0, 4800.0, 5200.0))
    assert [found[name].text for name in ("limit", "mpi", "dask")] == ["best", "2.0 ×", "5 000 ×"]
    assert [found[name].place for name in ("limit", "mpi", "dask")] == ["best", "behind", "behind"]
    assert [found[name].shade for name in ("limit", "mpi", "dask")] == [0, 2, 5]
    assert all(one.sure for one in found.values())


def test_a_tie_is_marked_and_one_that_nobody_can_tell_is_asked() -> None:
    found = entries(FIRST, slower("near", 1.05, 0.98, 1.12), slower("open", 300.0, 0.5, None))
    assert (found["limit"].text, found["near"].text, found["open"].text) == ("= 1.0 ×", "= 1.1 ×", "? 300 ×")
    assert {one.place for one in found.values()} == {"tie"}
    assert [found[name].sure for name in ("limit", "near", "open")] == [True, True, False]


def test_a_ratio_without_common_rounds_is_not_sure() -> None:
    found = entries(FIRST, measured("mpi", 4e-6))
    assert found["mpi"].ratio == Interval(4.0)
    assert (found["mpi"].text, found["mpi"].place, found["mpi"].sure) == ("4.0 ×", "behind", False)


def test_a_system_that_leaves_cores_unused_has_no_shade() -> None:
    found = entries(FIRST, measured("serial", 0.5e-6, cores=1))
    assert (found["serial"].text, found["serial"].place, found["serial"].shade) == ("0.50 ×", "apart", None)
    assert found["limit"].text == "best"


def test_a_bound_stands_below_what_can_be_chosen() -> None:
    shown = results(measured("limit", 0.5e-6, bound=True), measured("mpi", 1e-6))
    found = matrix.of(shown)
    assert [(kind, [row.system for row in rows]) for kind, rows in found.groups] == [
        ("Several nodes, explicit parallelism", ["mpi"]),
        (matrix.BOUNDS, ["limit"]),
    ]
    best, limit = found.entries
    assert (best.place, limit.place, limit.text, limit.shade) == ("best", "bound", "0.50 ×", None)
    assert found.columns[0].best == ("mpi",)


def test_what_has_no_number_has_a_word() -> None:
    never = cell("slow", ending="never_reached", low=9e-6)
    found = entries(FIRST, never, cell("ray", ending="failed", error="crash"))
    assert (found["slow"].text, found["slow"].place) == ("> 9.0 ×", "behind")
    assert (found["ray"].text, found["ray"].place, found["ray"].ratio) == ("crash", "unknown", None)


def test_rows_are_grouped_by_kind_and_have_a_place_for_every_workload() -> None:
    found = matrix.of(
        results(
            *(
                measured("mpi", 1e-6, "fft"),
                measured("limit", 2e-6, "fft"),
                measured("nobody's", 3e-6, "dom"),
            ),
        )
    )
    assert [column.workload for column in found.columns] == ["fft", "dom"]
    assert [(kind, [row.system for row in rows]) for kind, rows in found.groups] == [
        ("Several nodes, explicit parallelism", ["mpi"]),
        ("One node, explicit parallelism", ["limit"]),
        ("Not in the catalogue", ["nobody's"]),
    ]
    for _, rows in found.groups:
        assert all(len(row.entries) == 2 for row in rows)


def test_the_best_of_each_workload_is_drawn_then_the_quickest() -> None:
    found = results(
        *(measured("a", 1e-6, "fft"), measured("b", 2e-6, "fft"), measured("c", 3e-6, "fft")),
        measured("slow", 9e-3, "dom"),
    )
    assert matrix.drawn(found, matrix.of(found), 3) == ["a", "slow", "b"]


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
