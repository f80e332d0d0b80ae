"""Programs that stand in for those of apps/: shell scripts."""

from __future__ import annotations

from pathlib import Path

LINE = (
    '{"program":"gemm","system":"x","ranks":1,"threads":1,"size":100,"block":10,"repeat":%d,'
    '"seconds":%s,"gflops":2.0,"efficiency":0.5,"tasks":8,"error":%s}'
)


def prints(*lines: str, code: int = 0, says: str = "") -> str:
    """A script that prints lines, says something on its error output, and ends with a code."""
    echo = "\n".join(f"echo '{line}'" for line in lines)
    return f"#!/bin/sh\n{echo}\necho '{says}' >&2\nexit {code}\n"


def right(seconds: float = 0.1) -> str:
    return prints(*(LINE % (repeat, seconds, "1e-15") for repeat in range(3)))


def install(folder: Path, **scripts: str) -> Path:
    """Under the names of programs, with `_` for their first `-`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in scripts.items():
        path = folder / name.replace("_", "-", 1)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
    return folder
