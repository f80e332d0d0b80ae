"""The hosts that nodes are taken from."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from taskgrain.machine.hosts import hosts
from taskgrain.words.errors import InputError, UsageError

HERE = socket.gethostname()


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLUX_URI", "SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_HOSTS"):
        monkeypatch.delenv(name, raising=False)


def test_this_host_comes_first() -> None:
    assert hosts(f"b, {HERE},a,b") == (HERE, "b", "a")
    assert hosts() == (HERE,)


def test_a_file_of_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hosts"
    file.write_text(f"# two\nb slots=2\n{HERE}:4\n{HERE}\n", "utf-8")
    assert hosts(file=str(file)) == (HERE, "b")
    monkeypatch.setenv("PBS_NODEFILE", str(file))
    assert hosts() == (HERE, "b")


def test_names_may_have_slots_as_launchers_write_them() -> None:
    assert hosts(f"{HERE}:2,b:4,fe80::1") == (HERE, "b", "fe80::1")


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "a;b"])
def test_a_name_that_a_shell_or_ssh_would_misread_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"hosts: .* is not allowed; allowed: names or addresses"):
        hosts(f"{HERE},{name}")


def test_a_job_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "scontrol"
    program.write_text(f"#!/bin/sh\n[ \"$*\" = 'show hostnames' ] && echo b && echo {HERE}\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "some[1-2]")
    assert hosts() == (HERE, "b")
    program.unlink()
    with pytest.raises(UsageError, match=r"SLURM_JOB_NODELIST is set, but `scontrol show hostnames`"):
        hosts()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"--hosts: a, b is not allowed; .*{HERE}"):
        hosts("a,b", named=lambda name: f"--{name}")
    with pytest.raises(UsageError, match="hosts: give this or hostfile"):
        hosts("a", "b")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"hostfile: .*allowed: a file"):
        hosts(file=str(tmp_path / "pipe"))
    with pytest.raises(InputError, match=r"hostfile: .*can be read"):
        hosts(file=str(tmp_path / "none"))
