"""The hosts that nodes are taken from."""

import os
import socket
from pathlib import Path

import psutil
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


@pytest.mark.parametrize(
    ("own", "listed", "here"),
    [
        ("worker.2.net", "worker.1.net,worker.2.net", "worker.2.net"),
        ("worker.2.net", "WORKER.1.NET,Worker.2.net", "Worker.2.net"),
        ("worker.2.net", "other,worker", "worker"),
        ("worker", "other.net,worker.1.net", "worker.1.net"),
        ("worker.2.net", "worker.1.net,127.0.0.1", "127.0.0.1"),
        ("worker.2.net", "worker.1.net,worker.3.net", ""),
        ("worker.2.net", "worker.ib,worker.3.net", "worker.ib"),
        ("worker.2.net", "worker.3.net,::1", "::1"),
    ],
)
def test_this_host_is_known_by_its_whole_name_first(
    own: str, listed: str, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here `worker.ib` leads to an own address; names that begin otherwise are not looked up."""
    addresses = {"worker.ib": "127.0.0.1", "worker.1.net": "192.0.2.1", "worker.3.net": "192.0.2.3"}
    known = socket.getaddrinfo

    def looked_up(name: str, port: None, flags: int = 0) -> object:
        return known(addresses.get(name, name), port, flags=socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "gethostname", lambda: own)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    if here:
        assert hosts(listed)[0] == here and len(hosts(listed)) == 2
    else:
        with pytest.raises(InputError, match=f"hosts that include this one, {own}"):
            hosts(listed)


def test_an_own_address_is_this_host() -> None:
    every = [
        card.address
        for some in psutil.net_if_addrs().values()
        for card in some
        if card.family == socket.AF_INET
    ]
    for address in every:
        assert hosts(f"a,{address}") == (address, "a")


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
