#!/usr/bin/env python3
"""Fills a page with what commands print.

    tools/filled_page.py PAGE...

What stands between `<!-- begin: taskgrain WORDS -->` and `<!-- end -->` becomes what the command prints.
Commands run in the root of the checkout.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PART = re.compile(r"^(<!-- begin: taskgrain ([^\n]*) -->\n).*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE)


def filled(text: str) -> str:
    """The text of a page with the parts that commands print. Raises `CalledProcessError` if one fails."""
    return _PART.sub(lambda part: f"{part[1]}\n{_printed(part[2])}\n{part[3]}", text)


def _printed(words: str) -> str:
    command = [sys.executable, "-m", "taskgrain", *shlex.split(words)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for page in map(Path, sys.argv[1:]):
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
