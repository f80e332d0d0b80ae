"""Control groups that lie below a folder, as they lie on machines and in containers."""

from pathlib import Path

import pytest

from taskgrain.machine import cgroups


def made_cgroups(
    root: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: dict[str, object], top: str = "/"
) -> None:
    """Version 2 lies at /v2, version 1 at /v1/memory and /v1/cpu; `top` is what lies at the top of each."""
    mounts = [
        ("v2", "cgroup2", "rw"),
        ("v1/memory", "cgroup", "rw,memory"),
        ("v1/cpu", "cgroup", "cpu,cpuacct"),
    ]
    lines = [f"31 22 0:28 {top} /{at} rw shared:9 - {kind} {kind} {of}" for at, kind, of in mounts]
    files = {"proc/self/cgroup": own, "proc/self/mountinfo": "\n".join(["22 1 8:1 / /", *lines])} | files
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    monkeypatch.setattr(cgroups, "_ROOT", root)
    cgroups.found.cache_clear()
