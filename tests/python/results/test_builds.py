"""Builds: each line has the name of its build, and runs of two never meet under one name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import results_folder as made

import taskgrain.results
from taskgrain.answers import data
from taskgrain.results import curves, dashboards, export, reader
from taskgrain.results.builds import Choice, opened, placed
from taskgrain.results.export import frame
from taskgrain.results.lines import Build, Line, OfCell, ReferenceLine, SessionLine
from taskgrain.results.parse import from_json
from taskgrain.words.errors import UsageError

ONE, TWO, THREE = "1" * 16, "2" * 16, "3" * 16
MPI, TBB = made.cell_name("mpi", "fft"), made.cell_name("tbb", "fft")
OLD_MPI = MPI.replace("mpi", "mpi@11111111")
PROGRAM = "taskgrain-reference"


def session(mpi: str, reference: str = ONE, **rest: Any) -> made.Line:
    builds = {"mpi": mpi, "tbb": ONE, PROGRAM: reference}
    systems = [{"name": name, "build": build} for name, build in builds.items()]
    return {"schema": 1, "kind": "session", "session": "5f", "systems": systems} | rest


def measured(granularity: float, *systems: str) -> list[made.Line]:
    """The lines of systems that are measured to their end."""
    found = [made.REFERENCE]
    for system in systems:
        cell = made.cell_name(system, "fft")
        found += [made.cell_line(system, "fft"), made.run_line(cell, 128, granularity)]
        found.append(made.metg_line(cell, granularity))
    return found


def shown(lines: list[made.Line]) -> list[str]:
    """The names of the lines about cells and references, with brackets where a line is not used."""
    found = []
    for one in placed([from_json(line) for line in lines]):
        line = one.line
        name = (
            line.cell if isinstance(line, OfCell) else line.program if isinstance(line, ReferenceLine) else ""
        )
        if name or isinstance(line, ReferenceLine):
            found.append(name or PROGRAM if one.used else f"[{name}]")
    return found


def run(system: str = "mpi") -> made.Line:
    return made.run_line(made.cell_name(system, "fft"))


def test_the_same_build_keeps_its_name() -> None:
    assert shown([session(ONE), run(), session(ONE), run()]) == [MPI, MPI]


def test_another_build_has_the_plain_name_and_the_earlier_one_its_hash() -> None:
    lines = [session(ONE), made.cell_line("mpi", "fft"), run(), run("tbb"), session(TWO), run()]
    assert shown(lines) == [OLD_MPI, OLD_MPI, TBB, MPI]
    started = placed([from_json(line) for line in lines])[1]
    assert started.earlier and started.line.to_json()["system"] == "mpi@11111111"
    assert "command" not in started.line.to_json(), "it would measure the new build"


def test_a_build_that_is_there_again_goes_on_under_its_plain_name() -> None:
    lines = [session(ONE), run(), session(TWO), run(), session(ONE), run()]
    assert shown(lines) == [MPI, MPI.replace("mpi", "mpi@22222222"), MPI]


def test_a_restart_leaves_out_all_earlier_lines_of_its_systems() -> None:
    lines = [session(ONE), run(), run("tbb"), session(TWO), run()]
    lines += [session(THREE, restarted=["mpi"]), run()]
    assert shown(lines) == [f"[{OLD_MPI}]", TBB, f"[{OLD_MPI.replace('1', '2', 8)}]", MPI]
    again = [session(ONE), run(), session(TWO), session(ONE, restarted=["mpi"]), run()]
    assert shown(again) == [f"[{OLD_MPI}]", MPI]


def test_lines_before_the_first_session_are_taken_for_the_next_build() -> None:
    lines = [made.REFERENCE, run(), session(ONE), run()]
    assert shown(lines[:2]) == [PROGRAM, MPI]
    assert shown(lines) == [PROGRAM, MPI, MPI]
    assert shown([*lines, session(TWO)]) == [PROGRAM, OLD_MPI, OLD_MPI]


def test_a_reference_has_builds_too() -> None:
    lines = [session(ONE), made.REFERENCE, made.cell_line("mpi", "fft"), session(TWO, TWO), made.REFERENCE]
    assert shown(lines) == [f"{PROGRAM}@11111111", OLD_MPI, PROGRAM]
    cell = placed([from_json(line) for line in lines])[2].line
    assert cell.to_json()["reference"] == f"{PROGRAM}@11111111"


@pytest.mark.parametrize("odd", [{}, {"systems": [{"name": "mpi"}, 3, {"build": ONE}]}, {"systems": 7}])
def test_a_session_that_says_nothing_changes_nothing(odd: Mapping[str, Any]) -> None:
    nothing = {"kind": "session", "restarted": [3]} | odd
    assert shown([session(ONE), run(), nothing, run(), session(ONE)]) == [MPI, MPI]
    assert shown([nothing, run(), session(ONE), run()]) == [MPI, MPI]


def of(table: made.Line) -> SessionLine:
    line = from_json(table)
    assert isinstance(line, SessionLine)
    return line


def stored(*lines: made.Line) -> list[Line]:
    return [from_json(line) for line in lines]


def test_the_user_is_told_of_another_build_and_chooses() -> None:
    lines = stored(session(ONE), run(), run("tbb"))
    assert opened(lines, of(session(ONE)), "refuse") == (of(session(ONE)), [])
    with pytest.raises(UsageError, match=r"builds of mpi; .*--restart .*--keep-both .*mpi@11111111"):
        opened(lines, of(session(TWO)), "refuse")
    with pytest.raises(UsageError, match=r"builds of mpi, tbb;"):
        opened(
            lines, SessionLine(systems=(Build(name="mpi", build=TWO), Build(name="tbb", build=TWO))), "refuse"
        )
    assert opened(lines, of(session(TWO)), "keep")[0].restarted == ()
    assert opened(lines, of(session(TWO, THREE)), "restart")[0].restarted == ("mpi", PROGRAM)
    for choice in ("restart", "keep"):
        chosen: Choice = choice  # type: ignore[assignment]
        assert opened(lines, of(session(ONE)), chosen)[0] == of(session(ONE)), "nothing has changed"


def test_a_build_of_which_nothing_was_measured_is_no_news() -> None:
    assert opened(stored(session(ONE), made.REFERENCE), of(session(TWO)), "refuse")[1] == []


def test_of_a_build_that_only_failed_nothing_is_kept() -> None:
    lines = stored(session(ONE), made.cell_line("mpi", "fft"), made.failure_line(MPI), run("tbb"))
    for choice in ("refuse", "keep"):
        chosen: Choice = choice  # type: ignore[assignment]
        assert opened(lines, of(session(TWO)), chosen)[0].restarted == ("mpi",)
    assert opened(lines, of(session(ONE)), "refuse")[0].restarted == ()


def test_machines_never_meet_in_a_cell_either() -> None:
    here, there = {"machine": "a" * 16}, {"machine": "b" * 16}
    old, reference = MPI.replace("mpi", "mpi@11111111.aaaaaaaa"), f"{PROGRAM}@11111111.aaaaaaaa"
    lines = [session(ONE, **here), made.REFERENCE, run(), session(ONE, **there), run()]
    assert shown(lines) == [reference, old, MPI]
    assert shown([*lines, session(ONE, **here)])[:2] == [PROGRAM, MPI], "it goes on under its plain name"
    assert shown([session(ONE), run(), *lines[:1], session(ONE), run()]) == [MPI, MPI], "not known: the same"
    newer = [*lines[:3], session(TWO, restarted=["mpi"], **there), run()]
    assert shown(newer)[1:] == [f"[{old}]", MPI]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"cpu": "EPYC"}, r"another machine \(Xeon there, EPYC here\)"),
        ({"cpu": "Xeon", "kernel": "6.2"}, r"another kernel \(6.1 there, 6.2 here\)"),
        ({}, r"another machine \(node7: other cores"),
        ({"hosts": [{"host": "n1"}, {"host": "n3"}]}, r"other hosts \(node7 there, n1, n3 here: their cores"),
    ],
)
def test_the_user_is_told_of_another_machine_and_chooses(told: Mapping[str, Any], said: str) -> None:
    before = session(ONE, machine="a", cpu="Xeon", kernel="6.1", host="node7")
    now = of(session(ONE, machine="b", **told))
    with pytest.raises(UsageError, match=said + r".*--restart .*--keep-both .*mpi@11111111\.a and so on"):
        opened(stored(before, run()), now, "refuse")
    assert opened(stored(before, run()), now, "keep")[0].restarted == ()
    assert opened(stored(before, run(), run("tbb")), now, "restart")[0].restarted == ("mpi", "tbb", PROGRAM)
    assert opened(stored(before), now, "refuse") == (now, []), "nothing was measured there"


def test_the_user_is_told_of_another_host_of_the_same_kind() -> None:
    before, now = session(ONE, host="vm"), of(session(ONE, host="runner"))
    said = "measured before on host vm, and now on runner, a machine of the same kind"
    assert opened(stored(before, run()), now, "refuse") == (now, [said])
    for lines in (stored(before), stored(session(ONE), run()), stored(session(ONE, host="runner"), run())):
        assert opened(lines, now, "refuse") == (now, [])


def test_the_user_is_told_of_unknown_builds() -> None:
    (note,) = opened(stored(run()), of(session(ONE)), "refuse")[1]
    assert "unknown builds" in note
    assert opened([], of(session(ONE)), "refuse")[1] == []


def test_no_reader_mixes_builds(tmp_path: Path) -> None:
    lines = [session(ONE), *measured(1e-6, "mpi", "tbb"), session(TWO), *measured(9e-6, "mpi")]
    folder = made.write(tmp_path, lines)
    contents = reader.read(folder)
    metgs = dict(frame(contents, "cells").select("cell", "metg").iter_rows())
    assert metgs == {OLD_MPI: 1e-6, TBB: 1e-6, MPI: 9e-6}
    runs = frame(contents, "runs").filter(frame(contents, "runs")["cell"] == MPI)
    assert runs["granularity"].min() > 8e-6
    assert frame(contents, "sessions")["build"].to_list() == [ONE, ONE, ONE, TWO, ONE, ONE]
    cells = {cell.name: cell for cell in data.read(folder).cells}
    assert {name: (cell.system, cell.metg.value, len(cell.runs)) for name, cell in cells.items()} == {
        OLD_MPI: ("mpi@11111111", 1e-6, 1), TBB: ("tbb", 1e-6, 1), MPI: ("mpi", 9e-6, 1),
    }  # fmt: skip


def test_every_reader_says_what_is_of_another_machine(tmp_path: Path) -> None:
    here, there = {"machine": "a" * 16}, {"machine": "b" * 16}
    lines = [session(ONE, **there), *measured(1e-6, "mpi", "tbb"), session(ONE, **here)]
    folder = made.write(tmp_path, [*lines, *measured(2e-6, "mpi")])
    said = "measured on another machine than the others: mpi@11111111.bbbbbbbb, tbb@11111111.bbbbbbbb"
    readers = (curves.opened(folder)[1], data.read(folder).warnings, taskgrain.results.read(folder).warnings)
    assert {*readers} == {(said,)}
    for kind in (*export.FORMATS, *dashboards.FORMATS):
        assert said in export.write(folder, "cells", kind, tmp_path / "exported"), kind
    alone = made.write(tmp_path / "alone", [*lines[:3], session(TWO, **there), *measured(2e-6, "mpi")])
    assert curves.opened(alone)[1] == (), "an earlier build of this machine"
