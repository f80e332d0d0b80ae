"""Interrupts are raised once, and where they are heard."""

import importlib
import os
import signal
import time
from pathlib import Path
from types import ModuleType

import pytest

from taskgrain.words.interrupts import interruptible, uninterrupted


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


KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> ModuleType:
    name = f"of_{folder.name}"
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module(name)


def test_an_interrupt_of_an_import_is_raised_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    throws_away = f"try:\n    {KILL.replace(chr(10), '; ')}\nexcept BaseException:\n    pass\nwhole = True\n"
    before = signal.getsignal(signal.SIGALRM)
    module = None
    with pytest.raises(KeyboardInterrupt), interruptible():
        module = imported(tmp_path, monkeypatch, throws_away)
        time.sleep(10)
    assert module is not None and module.whole
    assert signal.getsignal(signal.SIGALRM) == before


def test_an_interrupt_waits_for_what_shall_not_be_interrupted() -> None:
    done = []

    @uninterrupted
    def whole() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)  # longer than the interrupt waits before it looks again
        done.append("whole")

    with pytest.raises(KeyboardInterrupt), interruptible():
        whole()
        time.sleep(10)
        done.append("more")
    assert done == ["whole"]


def test_an_interrupt_that_waits_is_raised_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        imported(tmp_path, monkeypatch, KILL)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_a_program_that_is_being_imported_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"""from taskgrain.words.interrupts import interruptible, uninterrupted
try:
    with interruptible():
        {KILL.replace(chr(10), "; ")}
        lost = True
except KeyboardInterrupt:
    heard = True
"""
    module = imported(tmp_path, monkeypatch, text)
    assert module.heard and not hasattr(module, "lost")
