"""The options of `compare` and `history` that decide verdicts, and whether a check in CI passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Text, options_of, valued
from taskgrain.words import numbers
from taskgrain.words.errors import EXIT_FAILED
from taskgrain.words.quantity import counted

if TYPE_CHECKING:
    from taskgrain.answers.compare.cells import Question
    from taskgrain.estimate.quantities import Quantity


@dataclass(frozen=True)
class Judging:
    """The options, as they were given."""

    by: Annotated[
        str,
        valued(
            "--by",
            "NAME",
            "Quantity that decides the verdict: metg, overhead, floor, rate; in `compare` also efficiency "
            "(default metg).",
        ),
    ] = "metg"
    margin: Annotated[
        Text, valued("--margin", "SHARE", "What differs by less is the same: 0.05, 5% (default 5%).")
    ] = None
    across_hosts: Annotated[
        bool,
        typer.Option(
            "--across-hosts", help="Also judge what was measured on different hosts of one kind of machine."
        ),
    ] = False
    regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="End with 1 if a cell became slower by more than the margin, or failed, or if nothing was "
            "compared.",
        ),
    ] = False
    undecided: Annotated[
        bool,
        typer.Option(
            "--fail-on-undecided",
            help="End with 1 if nobody can say of something whether it became slower.",
        ),
    ] = False
    missing: Annotated[
        bool, typer.Option("--fail-on-missing", help="End with 1 if a cell is gone that was there before.")
    ] = False

    def question(self, quantities: Sequence[Quantity]) -> Question:
        """The question about one of the quantities. Raises `InputError`."""
        from taskgrain.answers.compare.cells import APART, MARGIN, Question

        by = next(one for one in quantities if one == numbers.text(self.by, "--by", quantities))
        if self.margin is None:
            return Question(by, MARGIN, APART, across_hosts=self.across_hosts)
        share = numbers.real(self.margin, "--margin", high=1.0, below=True)
        return Question(by, share, share, across_hosts=self.across_hosts)

    def judge(self, regressions: int, undecided: int, missing: int, *, nothing: bool) -> None:
        """Ends with 1 if a gate that the user set has found something, and says why. A check that passes says
        what it did not see; `nothing`: there was nothing to see. Call it when the answer is printed."""
        sys.stdout.flush()
        verdicts = f"{counted(undecided, 'cell')} without a verdict"
        lacking = f"{counted(missing, 'cell')} missing"
        found = [
            ("regression", regressions, f"{counted(regressions, 'cell')} slower or failed"),
            ("regression", nothing, "nothing was compared"),
            ("undecided", undecided, verdicts),
            ("missing", missing, lacking),
        ]
        failed = [f"--fail-on-{one}: {said}" for one, number, said in found if getattr(self, one) and number]
        for said in failed:
            note(said)
        if failed:
            raise typer.Exit(EXIT_FAILED)
        if not self.regression:
            return
        unseen = [f"{said} (--fail-on-{one} fails)" for one, number, said in found[2:] if number]
        if unseen:
            note(f"--fail-on-regression: none is shown, but {' and '.join(unseen)}")


judging_options = options_of(Judging, "judging")
"""Gives a command these options; it gets them as its parameter `judging`."""
