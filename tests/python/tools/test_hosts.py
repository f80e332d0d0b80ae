import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_process import marked
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("0",), "argument N: 0 is not allowed; allowed: 1 to 250"),
        (("2", "--cores", "0"), "argument --cores: 0 is not allowed; allowed: 1 to "),
        (("2", "--cores", "99999"), "argument --cores: 99999 is not allowed; allowed: 1 to "),
        (("2", "--rate", "fast"), "argument --rate: fast is not allowed; allowed: 10kbit to 500gbit"),
        (("2", "--rate", "501gbit"), "argument --rate: 501gbit is not allowed; allowed: 10kbit to 500gbit"),
        (
            ("2", "--domain", "a/b"),
            "argument --domain: 'a/b' is not allowed; allowed: letters, digits, - and .",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(options: tuple[str, ...], said: str) -> None:
    done = subprocess.run([HOSTS, *options, "--", "echo", "made"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    usage, error = done.stderr.splitlines()
    assert usage.endswith("-- COMMAND [ARGUMENTS...]") and said in error


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
)
def test_all_hosts_end_with_the_program(number: signal.Signals, code: int, tmp_path: Path) -> None:
    on_hosts(2, "true")  # or the test is skipped
    script = 'ssh h2 "echo; sleep 600; true"; true'
    words = [sys.executable, str(HOSTS), "2", "--", "env", f"MARK={tmp_path}", "sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        mark = f"MARK={tmp_path}"
        assert marked(mark)
        running.send_signal(number)
        assert running.stdout.read() == ""  # closed by all that had it, also on h2
    assert running.returncode == code
    wait_until(lambda: not marked(mark))


DEEP = [
    pytest.param(number, 30, marks=pytest.mark.deep)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
]


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 4), *DEEP])
def test_nothing_stays_whenever_it_ends(number: signal.Signals, times: int, tmp_path: Path) -> None:
    """Of its beginning, too, where it is not ready to tell anybody. Ctrl-C reaches all its processes."""
    on_hosts(2, "true")
    mark, before = f"MARK={tmp_path}", seen()
    for k in range(times):
        with subprocess.Popen(
            [HOSTS, "2", "--", "sleep", "600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"MARK": str(tmp_path)},
            process_group=0,
        ) as running:
            assert running.stdout is not None
            time.sleep(0.6 * k / times)
            (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
            assert running.stdout.read() in ("", "hosts: interrupted; the hosts are gone\n")
        assert running.returncode in (-number, 128 + number)
        wait_until(lambda: not marked(mark))
    assert seen() == before


def seen() -> tuple[list[str], str, bool]:
    """Finds what hosts could leave besides processes: interfaces, mounts and files."""
    mounts = Path("/proc/self/mounts").read_text()
    return sorted(os.listdir("/sys/class/net")), mounts, Path("/tmp/hosts").exists()


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("ssh h2 'echo; sleep 600'", 130, "\nhosts: interrupted; the hosts are gone\n"),
        ('trap "ssh h2 hostname; exit 5" INT; ssh h2 "echo; sleep 600"; true', 5, "\nh2\n"),
        # It leaves the group, which Ctrl-C goes to.
        ("exec timeout 500 ssh h2 'echo; sleep 600'", 130, "\nhosts: interrupted; the hosts are gone\n"),
    ],
)
@pytest.mark.parametrize("kill", [os.killpg, os.kill])
def test_ctrl_c_goes_to_the_command_which_still_has_its_hosts(
    command: str, code: int, said: str, kill: Callable[[int, int], None]
) -> None:
    """As a terminal sends it, and as what knows this program alone does."""
    on_hosts(2, "true")
    words = [sys.executable, str(HOSTS), "2", "--", "sh", "-c", command]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        kill(running.pid, signal.SIGINT)
        assert first + running.stdout.read() == said
    assert running.returncode == code


def test_says_so_where_namespaces_are_not_allowed() -> None:
    on_hosts(2, "true")
    script = f"echo 0 > /proc/sys/user/max_net_namespaces && {sys.executable} {HOSTS} 2 -- true"
    done = subprocess.run(["unshare", "--map-root-user", "sh", "-c", script], capture_output=True, text=True)
    if done.stderr.startswith("unshare:"):
        pytest.skip(done.stderr)
    assert done.returncode == NOT_ALLOWED, done.stderr
    assert "does not let you make hosts: no new namespaces" in done.stderr
