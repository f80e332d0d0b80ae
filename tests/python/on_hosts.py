"""Commands on several hosts, which this machine plays: see tools/hosts."""

import subprocess
import sys
from pathlib import Path

import pytest

HOSTS = Path(__file__).resolve().parents[2] / "tools" / "hosts"
NOT_ALLOWED = 77


def on_hosts(number: int, *command: str, options: tuple[str, ...] = (), folder: Path | None = None) -> str:
    """The output of a command on the first of so many hosts. Skips the test where there can be none."""
    words = [sys.executable, str(HOSTS), str(number), *options, "--", *command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode == NOT_ALLOWED and "this machine does not let you make hosts" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
