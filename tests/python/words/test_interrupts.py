"""Interrupts are raised once, and where they are heard."""

from __future__ import annotations

import importlib
import os
import signal
import time
from pathlib import Path

import pytest

from taskgrain.words.interrupts import interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_interrupt_does_not_disturb_the_first(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)
            assert signal.getsignal(number) == signal.SIG_IGN
    assert signal.getsignal(number) == before


def test_an_interrupt_of_an_import_is_raised_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    throws_away = (
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    pass\n"
    )
    (tmp_path / "deaf_while_imported.py").write_text(throws_away + "whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = None
    with pytest.raises(KeyboardInterrupt), interruptible():
        module = importlib.import_module("deaf_while_imported")
        time.sleep(10)
    assert module is not None and module.whole
