"""Tests of the measurements of each cell in a folder: by build and session, with their conditions."""

from pathlib import Path

import compared_folders as made
import pytest

from taskgrain.results.measurements import Measurement, opened, together
from taskgrain.words.errors import UsageError

FIRST, SECOND = "aaaa1111aaaa1111", "bbbb2222bbbb2222"


def by_build(folder: Path, session: str | None = None) -> dict[str | None, Measurement]:
    return {one.build: one for one in opened(folder).of(session)}


def two_builds(folder: Path, **changes: object) -> Path:
    """A folder that went on with another build of its system."""
    return made.write(folder, [
        made.session("11111111", 100.0, {"a": FIRST}),
        made.cell("a", "fft", 101.0),
        *made.runs("a", "fft", 1e-7, time=102.0),
        made.session("22222222", 200.0, {"a": SECOND}, **changes),
        made.cell("a", "fft", 201.0),
        *made.runs("a", "fft", 2e-7, time=202.0),
    ])  # fmt: skip


def test_what_a_cell_was_measured_under(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "r", {"a": 1e-7}, build=FIRST, name="11111111", time=50.0)
    (measurement,) = opened(folder).measurements
    assert (measurement.system, measurement.workload) == ("a", "stencil_1d/width=4")
    assert measurement.build == FIRST and not measurement.earlier
    assert measurement.sessions == ("11111111",) and opened(folder).sessions == ("11111111",)
    assert (measurement.begin, measurement.end, measurement.cores) == (50.0, 59.0, 2)
    assert measurement.session.machine == "abcd1234"
    assert measurement.session.cores == (0, 1)
    assert (measurement.reference, measurement.reference_build) == ("taskgrain-reference", "feed0000feed0000")
    assert measurement.settings["threshold"] == 0.5 and measurement.settings["validate"] == "sample"
    assert measurement.settings["radix"] == 3, "the default of what the line lacks"
    assert len(measurement.samples) == 10 * (len(made.SIZES) + 1)


def test_two_builds_are_two_measurements(tmp_path: Path) -> None:
    measurements = by_build(two_builds(tmp_path / "r"))
    assert {build: one.earlier for build, one in measurements.items()} == {FIRST: True, SECOND: False}
    assert {one.system for one in measurements.values()} == {"a"}
    assert {build: one.sessions for build, one in measurements.items()} == {
        FIRST: ("11111111",),
        SECOND: ("22222222",),
    }
    assert not together(*measurements.values()), "rounds of two sessions have no number in common"


def test_one_session_alone(tmp_path: Path) -> None:
    folder = two_builds(tmp_path / "r")
    assert list(by_build(folder, "11111111")) == [FIRST]
    assert list(by_build(folder, "22222222")) == [SECOND]
    assert by_build(folder, "33333333") == {}


def test_what_was_measured_anew_does_not_count(tmp_path: Path) -> None:
    assert list(by_build(two_builds(tmp_path / "r", restarted=["a"]))) == [SECOND]


def test_a_cell_of_two_sessions_is_one_measurement(tmp_path: Path) -> None:
    builds = {"a": FIRST, "b": FIRST}
    lines = [made.session("11111111", 0.0, builds)]
    for system in builds:
        lines += [made.cell(system, "fft", 1.0), *made.runs(system, "fft", 1e-7, rounds=range(5))]
    lines.append(made.session("22222222", 100.0, builds))
    lines += made.runs("a", "fft", 1e-7, rounds=range(5, 9), time=100.0)
    first, second = opened(made.write(tmp_path / "r", lines)).measurements
    assert first.sessions == ("11111111", "22222222") and second.sessions == ("11111111",)
    assert len({one.round for one in first.samples}) == 9
    assert together(first, second)


def test_measurements_of_two_folders_are_never_together(tmp_path: Path) -> None:
    one, other = (opened(made.measured(tmp_path / name, {"a": 1e-7})).measurements[0] for name in ("r", "s"))
    assert together(one, one) and not together(one, other)


def test_a_folder_without_a_session_does_not_say_where_it_was_measured(tmp_path: Path) -> None:
    lines = [made.cell("a", "fft", 1.0), *made.runs("a", "fft", 1e-7)]
    (measurement,) = opened(made.write(tmp_path / "r", lines)).measurements
    assert (measurement.build, measurement.sessions) == (None, ())
    assert (measurement.session.machine, measurement.reference_build) == (None, None) and measurement.samples


def test_lines_before_the_first_session_are_of_its_builds(tmp_path: Path) -> None:
    lines = [made.cell("a", "fft", 1.0), *made.runs("a", "fft", 1e-7, rounds=range(3))]
    lines += [made.session("11111111", 0.0, {"a": FIRST}), *made.runs("a", "fft", 1e-7, rounds=range(3, 6))]
    assert list(by_build(made.write(tmp_path / "r", lines))) == [FIRST]


def test_the_last_rate_of_the_reference_stands_in(tmp_path: Path) -> None:
    bare = [one for one in made.runs("a", "fft", 1e-7, rounds=range(2)) if one["kind"] == "run"]
    reference = {"kind": "reference", "program": "taskgrain-reference", "kernel": "compute_bound"}
    rates = [reference | {"rates": [rate, rate, 9e9], "work_unit": "flop"} for rate in (1e9, 2e9)]
    size = len(bare) // 2
    lines = [rates[0], made.cell("a", "fft", 1.0), *bare[:size], rates[1], *bare[size:]]
    (measurement,) = opened(made.write(tmp_path / "r", lines)).measurements
    assert {one.round % 10**6: one.peak for one in measurement.samples if one.iterations} == {0: 1e9, 1: 2e9}


def test_what_is_odd_is_said_and_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder = made.measured(tmp_path / "r", {"a": 1e-7})
    (folder / "study.toml").unlink()
    (warning,) = opened(folder).warnings
    assert "study.toml" in warning
    with pytest.raises(UsageError, match=r"runs\.jsonl"):
        opened(tmp_path)


def test_processes_of_two_sessions_are_different_ones(tmp_path: Path) -> None:
    """Each session numbers its own from 1, also if it goes on with a cell of the one before it."""
    lines: list[made.Line] = []
    for number, rounds in enumerate((range(5), range(5, 10))):
        lines += [made.session(f"{number}" * 8, 0.0, {"mpi": FIRST}), made.cell("mpi", "stencil_1d", 0.0)]
        runs = made.runs("mpi", "stencil_1d", 1e-7, rounds=rounds)
        lines += [one | {"process": 1 + one.get("round", 0) % 2} for one in runs]
    (found,) = opened(made.write(tmp_path / "r", lines)).measurements
    of_round = {one.round: one.process for one in found.samples}
    assert len(of_round) == 10 and len(set(of_round.values())) == 4
