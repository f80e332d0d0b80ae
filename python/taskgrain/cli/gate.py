"""The options `--fail-on-…` of `compare` and `history`: they decide whether a check in CI passes."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import typer

from taskgrain.cli.notes import note
from taskgrain.words.errors import EXIT_FAILED
from taskgrain.words.quantity import counted


@dataclass(frozen=True)
class Gate:
    """The reasons to end a command with 1, by the options."""

    regression: bool
    undecided: bool
    missing: bool

    def judge(self, regressions: int, undecided: int, missing: int, nothing: bool = False) -> None:
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
