"""The options that decide verdicts, and whether a check passes."""

from pathlib import Path

import compared_folders as made
import pytest
from command_line import Command

from taskgrain.answers.compare.cells import APART, MARGIN, Question
from taskgrain.cli.gate import Judging
from taskgrain.words.errors import InputError


def test_a_margin_is_that_of_sides_measured_apart_too() -> None:
    assert Judging().question(["metg"]) == Question("metg", MARGIN, APART)
    assert Judging(by="floor", margin="10%").question(["metg", "floor"]) == Question("floor", 0.1, 0.1)
    with pytest.raises(InputError, match="--by: rate is not allowed"):
        Judging(by="rate").question(["metg"])


def test_another_host_is_compared_only_if_asked(taskgrain: Command, tmp_path: Path) -> None:
    one, other = (
        made.measured(tmp_path / host, {"mpi": overhead}, host=host)
        for host, overhead in (("a", 1e-7), ("b", 2e-7))
    )
    words = ("compare", one, other, "--fail-on-regression")
    apart, across = taskgrain(*words), taskgrain(*words, "--across-hosts")
    assert apart.code == 1 and "nothing was compared" in apart.err and "another host (a → b)" in apart.out
    assert (across.code, across.err) == (1, "taskgrain: --fail-on-regression: 1 cell slower or failed\n")
    assert "another host (a → b)" in across.out
