"""apps/measure.py: how a program is waited for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

APPS = Path(__file__).resolve().parents[3] / "apps"

# What another thread gets does not end the main thread's wait; nor does what comes just before it.
MISSED = f"""
import signal, sys, threading, time
sys.path.insert(0, {str(APPS)!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
import measure

def interrupt():
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt).start()
measure.run(["sleep", "1000"], 1000)
"""


def test_an_interrupt_just_before_a_wait_is_not_missed() -> None:
    done = subprocess.run([sys.executable, "-c", MISSED], capture_output=True, text=True)
    assert done.stderr.endswith("KeyboardInterrupt\n")
