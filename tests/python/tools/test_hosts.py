from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from on_hosts import HOSTS, NOT_ALLOWED, on_hosts
from waiting import wait_until


def test_each_host_has_its_own_name_processes_and_folders_but_the_current_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("shared")
    script = """
    touch /tmp/mine /dev/shm/mine /run/mine
    hostname; ssh h2 hostname
    ssh -x -o A=b root@h2 "ls /tmp /dev/shm /run" | grep -c mine
    ssh h2 cat "$PWD/file"; echo; echo words | ssh h2 cat
    ssh h2 'echo "$TASKGRAIN_HOSTS:$WORD"'; echo "$TASKGRAIN_HOSTS:$WORD"
    """
    printed = on_hosts(2, "env", "WORD=here", "sh", "-c", script, folder=tmp_path)
    assert printed.split() == ["h1", "h2", "0", "shared", "words", ":", "h1,h2:here"]


def test_a_host_has_the_processors_and_the_rate_that_it_is_given() -> None:
    options = ("--cores", "1", "--rate", "100mbit")
    printed = on_hosts(2, "ssh", "h2", "nproc; tc qdisc show dev eth0", options=options)
    assert printed.startswith("1\n")
    assert "rate 100Mbit" in printed


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 3", 3), ("ssh h2 exit 4", 4), ("ssh h2 'kill -9 $$'", 137), ("ssh h3 true 2> /dev/null", 255)],
)
def test_the_exit_code_is_that_of_the_command(command: str, code: int) -> None:
    assert on_hosts(2, "sh", "-c", f"({command}); echo $?").split() == [str(code)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_all_hosts_end_with_the_program(number: signal.Signals, tmp_path: Path) -> None:
    on_hosts(2, "true")  # or the test is skipped
    script = 'ssh h2 "sleep 600; true" & echo; sleep 600; true'
    words = [sys.executable, str(HOSTS), "2", "--", "env", f"MARK={tmp_path}", "sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        mark = f"MARK={tmp_path}".encode()
        wait_until(lambda: having(mark))
        running.send_signal(number)
        assert running.stdout.read() == ""  # closed by all that had it, also on h2
    wait_until(lambda: not having(mark))


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("echo; ssh h2 sleep 600", 130, "\nhosts: interrupted; the hosts are gone\n"),
        ('trap "ssh h2 hostname; exit 5" INT; echo; sleep 600; true', 5, "\nh2\n"),
    ],
)
def test_ctrl_c_goes_to_the_command_which_still_has_its_hosts(command: str, code: int, said: str) -> None:
    on_hosts(2, "true")
    words = [sys.executable, str(HOSTS), "2", "--", "sh", "-c", command]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        assert first + running.stdout.read() == said
    assert running.returncode == code


def having(mark: bytes) -> list[str]:
    """The processes with this in their environment."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                found.append(process)
        except OSError:
            continue  # it has ended
    return found


def test_says_so_where_namespaces_are_not_allowed() -> None:
    on_hosts(2, "true")
    script = f"echo 0 > /proc/sys/user/max_net_namespaces && {sys.executable} {HOSTS} 2 -- true"
    done = subprocess.run(["unshare", "--map-root-user", "sh", "-c", script], capture_output=True, text=True)
    if done.stderr.startswith("unshare:"):
        pytest.skip(done.stderr)
    assert done.returncode == NOT_ALLOWED, done.stderr
    assert "does not let you make hosts: no new namespaces" in done.stderr
