"""Tests of the checks whether the numbers can be trusted: the worst stands first."""

from dataclasses import replace

import pytest
from report_cells import cell, measured, results

from taskgrain.answers.data import Results
from taskgrain.report import trust
from taskgrain.results.lines import FailureLine
from taskgrain.words.warnings import Notice, notice

QUIET = measured("a", 1e-6, rounds=9)


def check(found: Results, title: str) -> trust.Check:
    (one,) = [one for one in trust.checks(found) if one.title == title]
    return one


def test_a_quiet_study_is_good_throughout() -> None:
    checks = trust.checks(results(QUIET, measured("b", 2e-6)))
    assert {one.title: one.level for one in checks} == {
        "Machine": "good", "Intervals": "good", "Cells": "good", "Validation": "good",
    }  # fmt: skip
    assert not any(one.details for one in checks)


def test_the_worst_stands_first() -> None:
    levels = [
        one.level for one in trust.checks(results(QUIET, cell("b", ending="failed", warnings=(Notice("x"),))))
    ]
    assert levels == sorted(levels, key=trust.LEVELS.index)
    assert levels[0] == "bad" and levels[-1] == "good"


@pytest.mark.parametrize(("disturbed", "level"), [(1, "good"), (4, "look"), (15, "bad")])
def test_a_disturbed_machine_is_judged_by_its_median(disturbed: int, level: str) -> None:
    found = check(results(measured("a", 1e-6, runs=20, disturbed_runs=disturbed)), "Machine")
    assert found.level == level
    assert found.details == (f"a/fft/width=4: {5 * disturbed} % of the runs disturbed",)


def test_wide_intervals_are_named_the_widest_first() -> None:
    wide, open_ = measured("wide", 1e-6, high=2e-6), measured("open", 1e-6, high=None)
    found = check(results(QUIET, QUIET, QUIET, QUIET, wide, open_), "Intervals")
    assert found.level == "look"
    assert found.said == "4 of 6 METGs are known within ±25 %; 1 interval without a bound."
    assert [line.split("/")[0] for line in found.details] == ["open", "wide"]
    assert check(results(wide), "Intervals").level == "bad"


def test_cells_without_a_number_are_named() -> None:
    found = check(results(QUIET, cell("b", ending="failed", error="crash")), "Cells")
    assert (found.level, found.said, found.details) == (
        "bad",
        "Of 2 cells, 1 failed.",
        ("b/fft/width=4: crash",),
    )
    assert check(results(QUIET, cell("b", ending="several_crossings")), "Cells").level == "look"


@pytest.mark.parametrize(
    ("mode", "level", "words"),
    [("sample", "good", "a sample"), ("full", "good", "every byte"), ("off", "look", "validation was off")],
)
def test_validation_is_as_the_study_wished(mode: str, level: str, words: str) -> None:
    found = check(results(QUIET, validate=mode), "Validation")
    assert found.level == level and words in found.said


def test_a_wrong_result_is_bad() -> None:
    failure = FailureLine(cell="b/fft/width=4", error="validation", message="got 3")
    found = check(results(replace(QUIET, problems=[failure])), "Validation")
    assert (found.level, found.details) == ("bad", ("b/fft/width=4: got 3",))


def test_warnings_of_one_kind_are_one_line_whatever_their_numbers() -> None:
    slow = [Notice("slow", {"share": share}) for share in (3, 17)]
    cells = [measured(name, 1e-6, warnings=(one,)) for name, one in zip("ab", slow, strict=True)]
    found = results(*cells, measured("c", 1e-6, warnings=(Notice("odd"),)))
    assert [(one.text, one.cells) for one in trust.warnings(found)] == [
        ("slow (share 3)", ("a/fft/width=4", "b/fft/width=4")),
        ("odd", ("c/fft/width=4",)),
    ]
    said = check(found, "Warnings")
    assert said.said == "2 kinds, on 3 of 3 cells. First of all, 2 cells: slow (share 3)"
    assert said.details == ("2 cells: slow (share 3)", "c/fft/width=4: odd")


def test_warnings_that_decide_come_before_frequent_ones_and_harmless_ones_are_nothing_to_look_at() -> None:
    harmless = notice("steps_fixed", steps=9)
    cells = [measured(name, 1e-6, warnings=(harmless,)) for name in "abc"]
    found = check(results(*cells), "Warnings")
    assert (found.level, found.said) == ("good", "1 kind, on 3 of 3 cells; none casts doubt on a number.")
    decides = notice("budget_before_first_run")
    found = check(results(*cells, cell("d", warnings=(harmless, decides))), "Warnings")
    assert (found.level, found.details[0]) == ("look", f"d/fft/width=4: {decides.text}")
    assert found.details[0] in found.said and harmless.text not in found.said


def test_what_is_odd_about_the_folder_is_said() -> None:
    found = check(replace(results(QUIET), warnings=("the last line is torn",)), "Results folder")
    assert (found.level, found.said) == ("look", "the last line is torn")


def test_a_cell_that_its_system_does_not_support_is_nothing_bad() -> None:
    found = check(results(QUIET, cell("b", ending="failed", error="unsupported")), "Cells")
    assert (found.level, found.said) == ("look", "Of 2 cells, 1 unsupported.")


def test_the_most_frequent_trouble_comes_first() -> None:
    failed, unfinished = cell(ending="failed"), cell(ending="unfinished")
    found = check(results(failed, unfinished, unfinished), "Cells")
    assert found.said == "Of 3 cells, 2 unfinished, 1 failed."
    assert check(results(failed, cell(ending="never_reached")), "Cells").said.endswith("1 never reached.")


def test_long_lists_end_with_how_many_more_there_are() -> None:
    found = check(results(*(cell(f"s{i}", ending="failed") for i in range(20))), "Cells")
    assert len(found.details) == 13 and found.details[-1] == "and 8 others"


def test_no_machine_is_called_quiet_where_all_is_simulated() -> None:
    simulated = results(measured("a", 1e-6, simulated=True))
    found = check(simulated, "Machine")
    assert (found.level, found.said) == ("look", "None was measured: the cells are simulated.")
    said = [check(one, "Intervals").said for one in (simulated, results(measured("a", 1e-6)))]
    assert ["do not say how far the simulation is" in one for one in said] == [True, False]
