"""Cells compared: within a session, across sessions, and why not."""

import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import compared_folders as made
import pytest
from results_folder import change

from taskgrain.answers.compare.cells import QUANTITIES, Compared, Comparison, Question, compare
from taskgrain.answers.compare.sides import sides
from taskgrain.estimate.sessions import USUAL_OF_ONE

OLD, NEW = "aaaa1111aaaa1111", "bbbb2222bbbb2222"
CELL = "mpi/stencil_1d/width=4"


def compared(*words: object, systems: Sequence[str] = (), question: Question | None = None) -> Comparison:
    return compare(sides([str(word) for word in words], systems), question)


def only(found: Comparison) -> Compared:
    (cell,) = found.cells
    return cell


def repeated(
    folder: Path, overhead: float, build: str, times: int = 4, scatter: float = 0.02, first: float = 0.0
) -> str:
    """A side: so many days of one build, each a folder, each with its own state of the machine."""
    dice = random.Random(folder.name)
    found = [
        made.measured(
            folder / str(day),
            {"mpi": overhead * (1.0 + scatter * dice.gauss(0.0, 1.0))},
            build=build,
            time=(first + day) * made.DAY,
        )
        for day in range(times)
    ]
    return ",".join(map(str, found))


@pytest.mark.parametrize(
    ("times", "verdict"), [(1.0, "same"), (1.2, "slower"), (0.8, "faster"), (2.0, "slower")]
)
def test_systems_of_one_session(tmp_path: Path, times: float, verdict: str) -> None:
    folder = made.measured(tmp_path / "r", {"limit": 1e-7, "mpi": times * 1e-7})
    cell = only(compared(folder, systems=["limit", "mpi"]))
    assert (cell.verdict, cell.together, cell.why) == (verdict, True, "")
    assert (cell.system, cell.against, cell.workload) == ("mpi", "limit", "stencil_1d/width=4")
    assert set(cell.ratios) == set(QUANTITIES)
    for quantity in ("metg", "overhead", "floor"):
        assert cell.ratios[quantity].value == pytest.approx(times, rel=0.05)
    assert cell.iterations in made.SIZES
    work = cell.iterations * made.TAU
    expected = (work + 1e-7) / (work + times * 1e-7)
    for quantity in ("rate", "efficiency"):
        assert cell.ratios[quantity].value == pytest.approx(expected, rel=0.02)
        assert (cell.ratios[quantity].low or 9.0) <= expected * 1.01
    assert cell.regression == (verdict == "slower")


@pytest.mark.parametrize("by", QUANTITIES)
def test_any_quantity_may_decide(tmp_path: Path, by: Any) -> None:
    folder = made.measured(tmp_path / "r", {"limit": 1e-7, "mpi": 2e-7})
    assert only(compared(folder, systems=["limit", "mpi"], question=Question(by))).verdict == "slower"
    assert only(compared(folder, systems=["mpi", "limit"], question=Question(by))).verdict == "faster"


def test_the_margin_decides_what_is_the_same(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "r", {"limit": 1e-7, "mpi": 1.2e-7}, noise=0.002)
    words, systems = [folder], ["limit", "mpi"]
    assert only(compared(*words, systems=systems, question=Question(margin=0.05))).verdict == "slower"
    assert only(compared(*words, systems=systems, question=Question(margin=0.2))).verdict == "undecided"
    assert only(compared(*words, systems=systems, question=Question(margin=0.3))).verdict == "same"


def test_many_cells_have_wider_intervals(tmp_path: Path) -> None:
    patterns = [f"stencil_1d{number or ''}" for number in range(10)]
    one, ten = (
        made.measured(tmp_path / str(count), {"a": 1e-7, "b": 1e-7}, patterns=patterns[:count], noise=0.05)
        for count in (1, 10)
    )
    single, several = (compared(folder, systems=["a", "b"]) for folder in (one, ten))
    assert single.confidence == pytest.approx(0.95)
    assert several.confidence == pytest.approx(0.995)
    assert compared(ten, systems=["a", "b"], question=Question(looks=5)).confidence == pytest.approx(0.999)

    def width(found: Comparison) -> float:
        return median(cell.ratios["metg"].factor for cell in found.cells) - 1.0

    assert len(several.cells) == 10
    assert width(several) > 1.15 * width(single)


def test_two_builds_across_sessions_with_the_scatter_of_sessions(tmp_path: Path) -> None:
    old, new = (
        repeated(tmp_path / name, overhead, build, first=first)
        for name, overhead, build, first in (("old", 1e-7, OLD, 0.0), ("new", 1.4e-7, NEW, 4.0))
    )
    cell = only(compared(old, new))
    assert (cell.verdict, cell.together, cell.sessions) == ("slower", False, (4, 4))
    assert cell.ratios["metg"].value == pytest.approx(1.4, rel=0.05)
    assert cell.between is not None and cell.between.own == 6
    assert cell.between.deviation is not None and 0.03 < cell.between.deviation < 0.06
    assert only(compared(new, old)).verdict == "faster"


def test_hosts_of_one_kind_are_compared_where_the_user_says_so(tmp_path: Path) -> None:
    one, other, again = (
        made.measured(tmp_path / name, {"limit": 1e-7, "mpi": overhead}, host=host)
        for name, overhead, host in (("one", 1e-7, "a"), ("other", 2e-7, "b"), ("again", 2e-7, "a"))
    )
    cells_of = compared(one, other, systems=["mpi"]), compared(one, again, systems=["mpi"])
    apart, alike = map(only, cells_of)
    assert (apart.verdict, alike.verdict) == ("not comparable", "slower")
    assert apart.why == "measured on another host (a → b); --across-hosts compares hosts of one kind"
    across = only(compared(one, other, systems=["mpi"], question=Question(across_hosts=True)))
    assert across.verdict == "slower" and "measured on another host (a → b)" in across.notes
    assert only(compared(f"{one},{other}", systems=["limit", "mpi"])).why == "", (
        "both sides took turns on each"
    )


def test_one_new_session_against_repeated_old_ones(tmp_path: Path) -> None:
    old = repeated(tmp_path / "old", 1e-7, OLD, times=5)
    new = repeated(tmp_path / "new", 1.5e-7, NEW, times=1, first=5.0)
    cell = only(compared(old, new))
    assert (cell.verdict, cell.sessions) == ("slower", (1, 5))
    assert cell.between is not None and cell.between.own == 4
    assert {"floor", "rate", "efficiency"} <= cell.ratios.keys()


def test_the_scatter_may_come_from_a_third_side(tmp_path: Path) -> None:
    first = repeated(tmp_path / "old", 1e-7, OLD, times=1)
    again = repeated(tmp_path / "again", 1e-7, OLD, times=4, first=1.0)
    new = repeated(tmp_path / "new", 2e-7, NEW, times=1, first=5.0)
    by_side = {cell.contender: cell for cell in compared(first, new, again).cells}
    assert by_side[new].verdict == "slower"
    assert by_side[new].between is not None and by_side[new].between.own == 4
    same = by_side[again]
    assert same.between is not None and same.between.own == 3, "without the side that is asked about"
    assert same.notes == ("the build is the same on both sides",)


@pytest.mark.parametrize(("times", "verdict"), [(1.0, "same"), (1.12, "undecided"), (1.7, "slower")])
def test_one_session_of_each_side_tells_the_same_within_a_quarter(
    tmp_path: Path, times: float, verdict: str
) -> None:
    one = repeated(tmp_path / "one", 1e-7, OLD, times=1, scatter=0.0)
    other = repeated(tmp_path / "other", times * 1e-7, NEW, times=1, scatter=0.0, first=1.0)
    cell = only(compared(one, other))
    assert (cell.verdict, cell.between) == (verdict, USUAL_OF_ONE)
    strict = only(compared(one, other, question=Question(apart=0.05))).verdict
    assert strict == ("undecided" if verdict == "same" else verdict), "the margin of one's own counts"


def test_systems_of_several_sessions_are_compared_within_each(tmp_path: Path) -> None:
    folders = []
    for day in range(4):
        state = 1.0 + 0.5 * day  # of the machine, for both systems alike
        systems = {"limit": state * 1e-7, "mpi": state * 1.3e-7}
        folders.append(made.measured(tmp_path / "r" / str(day), systems, time=day * made.DAY, noise=0.005))
    cell = only(compared(",".join(map(str, folders)), systems=["limit", "mpi"]))
    assert (cell.verdict, cell.together, cell.sessions) == ("slower", True, (4, 4))
    assert cell.ratios["metg"].value == pytest.approx(1.3, rel=0.05)
    assert cell.between is not None and cell.between.freedom == 3
    assert cell.between.deviation < 0.1, "the states of the machine are in neither ratio"


def test_sessions_of_two_machines_are_not_one_side(tmp_path: Path) -> None:
    first = made.measured(tmp_path / "a", {"limit": 1e-7, "mpi": 1e-7})
    second = made.measured(tmp_path / "b", {"limit": 1e-7, "mpi": 1e-7}, cores=[0, 3])
    cell = only(compared(f"{first},{second}", systems=["limit", "mpi"]))
    assert cell.why.startswith("other processors")


@pytest.mark.parametrize("by", ["metg", "overhead", "floor", "rate", "efficiency"])
def test_sessions_are_compared_at_one_clock(tmp_path: Path, by: Any) -> None:
    old, new = (
        made.measured(tmp_path / name, {"mpi": 1e-7}, build=build, clock=clock)
        for name, build, clock in (("old", OLD, 1.0), ("new", NEW, 0.7))
    )
    cell = only(compared(old, new, question=Question(by)))
    assert cell.ratios[by].value == pytest.approx(1.0, rel=0.03)
    assert cell.clock == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"machine": {**made.MACHINE, "kernel": "6.2"}}, ""),
        ({"reference": "f00df00df00df00d"}, "another build of the reference"),
        ({"cores": [0, 2]}, "other processors"),
        ({"study": 'isa = "avx2"\n'}, "other settings (isa: auto, avx2)"),
    ],
    ids=str,
)
def test_other_conditions_are_not_comparable(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    old = repeated(tmp_path / "old", 1e-7, OLD)
    new = made.measured(tmp_path / "new", {"mpi": 2e-7}, build=NEW, time=4 * made.DAY, **changes)
    cell = only(compared(old, new))
    assert cell.why.startswith(why)
    assert cell.verdict == ("not comparable" if why else "slower"), "the session's line names the machine"


def test_days_are_not_judged_by_one_hour(tmp_path: Path) -> None:
    old = [
        made.measured(tmp_path / f"old{hour}", {"mpi": 1e-7}, build=OLD, time=hour * 600.0)
        for hour in range(4)
    ]
    new = made.measured(tmp_path / "new", {"mpi": 2e-7}, build=NEW, time=9 * made.DAY)
    cell = only(compared(",".join(map(str, old)), new))
    assert cell.between == USUAL_OF_ONE, "the sessions of one hour do not tell"
    assert "9 days apart" in cell.notes[0]
    alone = only(compared(old[0], new))
    assert (alone.between, alone.notes) == (USUAL_OF_ONE, ()), "there are no such sessions"
    assert cell.ratios["metg"].factor == pytest.approx(alone.ratios["metg"].factor, rel=0.2), "as one session"


def test_several_builds_on_one_side_are_not_comparable(tmp_path: Path) -> None:
    old = [made.measured(tmp_path / build, {"mpi": 1e-7}, build=build) for build in (OLD, NEW)]
    new = made.measured(tmp_path / "new", {"mpi": 1e-7}, build=NEW)
    assert "several builds" in only(compared(",".join(map(str, old)), new)).why


def ended(folder: Path, **systems: made.Line | None) -> Path:
    """A session of systems with the same overhead and last lines of their own; None: with no more."""
    lines = [made.session("11111111", 0.0, dict.fromkeys(systems, OLD))]
    for system, last in systems.items():
        lines += [made.cell(system, "stencil_1d", 0.0)]
        lines += [
            one
            for one in made.runs(system, "stencil_1d", 1e-7)
            if last is None or last.get("ending") != "never_reached" or one.get("iterations", 0) <= 71
        ]
        lines += [{"cell": f"{system}/stencil_1d/width=4", **last}] if last else []
    return made.write(folder, lines)


def test_a_side_that_failed_is_a_regression(tmp_path: Path) -> None:
    failure = {"kind": "failure", "error": "crash", "message": "it did"}
    folder = ended(tmp_path / "r", a=None, b=failure)
    cell = only(compared(folder, systems=["a", "b"]))
    assert (cell.verdict, cell.failed, cell.regression) == ("not comparable", True, True)
    assert cell.why == f"failed in {folder}@b (crash)"
    turned = only(compared(folder, systems=["b", "a"]))
    assert (turned.verdict, turned.regression) == ("not comparable", False)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ([], "not measured in {}"),
        ([{"kind": "crash", "message": "it was killed"}], "tried in {}, but no run counts (it was killed)"),
        ([{"kind": "metg", "ending": "budget"}], "tried in {}, but no run counts (out of time)"),
    ],
)
def test_a_side_that_was_tried_was_measured(tmp_path: Path, last: list[made.Line], why: str) -> None:
    lines = [made.session("11111111", 0.0, dict.fromkeys("ab", OLD)), made.cell("a", "stencil_1d", 0.0)]
    lines += [*made.runs("a", "stencil_1d", 1e-7), made.cell("b", "stencil_1d", 0.0)]
    folder = made.write(tmp_path / "r", lines + [{"cell": "b/stencil_1d/width=4"} | one for one in last])
    for order in ("ab", "ba"):
        assert only(compared(folder, systems=[*order])).why == why.format(f"{folder}@b")


def test_a_metg_beyond_all_sizes_has_one_bound(tmp_path: Path) -> None:
    known = {"kind": "metg", "ending": "precise", "metg": 2e-7, "low": 1.9e-7, "high": 2.1e-7, "rounds": 10}
    never = {"kind": "metg", "ending": "never_reached", "metg": None, "low": 1.0, "high": None, "rounds": 10}
    folder = ended(tmp_path / "r", a=known, b=never)
    cell = only(compared(folder, systems=["a", "b"]))
    assert (cell.verdict, cell.ratios["metg"].value, cell.ratios["metg"].high) == ("slower", None, None)
    assert cell.ratios["metg"].low == pytest.approx(1.0 / (2.1e-7**2 / 2e-7))
    assert only(compared(folder, systems=["b", "a"])).verdict == "faster"


def test_cells_that_one_side_lacks_are_counted(tmp_path: Path) -> None:
    first = made.measured(tmp_path / "a", {"mpi": 1e-7}, patterns=["stencil_1d", "fft"])
    second = made.measured(tmp_path / "b", {"mpi": 1e-7, "limit": 1e-7}, patterns=["fft"])
    found = compared(first, second)
    assert [cell.workload for cell in found.cells] == ["fft/width=4"]
    assert found.unmatched == ((str(first), 1), (str(second), 1))
    other = made.measured(tmp_path / "c", {"x": 1e-7})
    assert compared(first, other).cells == ()


def test_a_copy_of_a_folder_is_no_other_session(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "a", {"mpi": 1e-7})
    copy = shutil.copytree(folder, tmp_path / "b")
    assert "the same session" in only(compared(folder, copy)).why
    old, new = repeated(tmp_path / "old", 1e-7, OLD), repeated(tmp_path / "new", 2e-7, NEW, first=4.0)
    again = shutil.copytree(tmp_path / "old" / "0", tmp_path / "copy")
    cell = compared(old, new, again).cells[0]
    assert cell.between is not None and cell.between.own == 6, "the copy adds nothing"


def test_another_version_of_taskgrain_is_noted(tmp_path: Path) -> None:
    old = repeated(tmp_path / "old", 1e-7, OLD)
    new = made.measured(tmp_path / "new", {"mpi": 2e-7}, build=NEW, time=4 * made.DAY, taskgrain="9.9")
    assert only(compared(old, new)).notes == ("another version of taskgrain measured the other side",)


def test_other_numbers_of_cores_are_noted(tmp_path: Path) -> None:
    lines = [made.session("11111111", 0.0, {"a": OLD, "b": OLD})]
    for system, cores in (("a", 2), ("b", 1)):
        lines += [made.cell(system, "stencil_1d", 0.0, cores=cores)]
        lines += [one | {"cores": cores} for one in made.runs(system, "stencil_1d", 1e-7)]
    cell = only(compared(made.write(tmp_path / "r", lines), systems=["a", "b"]))
    assert cell.notes[0] == "b uses 1 of the cores, a 2"


def simulated(folder: Path) -> Path:
    """The folder, whose cells of `mpi` are simulated."""
    return change(folder, {"simulated": True}, system=["mpi"])


def test_sessions_of_a_simulation_do_not_scatter(tmp_path: Path) -> None:
    """What they differ by is what their rounds leave open, and needs no words about other sessions."""
    folders = [made.measured(tmp_path / name, {"mpi": 2e-7}) for name in "ab"]
    measured = only(compared(*folders))
    found = only(compared(*map(simulated, folders)))
    assert found.verdict == "same" and found.between is None and measured.between
    narrow, wide = (math.log(one.ratios["metg"].high / one.ratios["metg"].low) for one in (found, measured))
    assert narrow < 0.2 * wide and narrow < 0.05


def test_simulated_systems_are_named(tmp_path: Path) -> None:
    folder = simulated(made.measured(tmp_path / "r", {"limit": 1e-7, "mpi": 2e-7}))
    found = only(compared(folder, systems=["limit", "mpi"]))
    notes = found.notes
    assert found.origin.simulated and "mpi is simulated: no machine was measured" in notes
    assert not any("limit is" in one for one in notes)
