"""Commands on a Slurm of several hosts, all of which this machine plays: see tools/slurm-on-hosts."""

import shutil
import sys
from pathlib import Path

import pytest
from on_hosts import HOSTS, on_hosts

SLURM = HOSTS.with_name("slurm-on-hosts")
TASKGRAIN = f"{sys.executable} -m taskgrain"
SHELL = r"""
once() { timeout 90 sh -c "until $1; do sleep 0.2; done" 2> /dev/null || { echo "never: $1"; cat said*; }; }
measures() { once "grep -q 'kind.: .run' $1/runs.jsonl"; }
left() {
  for host in h1 h2; do
    ssh $host "pgrep -af '[h]ost_agent|[s]run|systems/[m]pi|taskgrain_graph/[d]river'; ls /dev/shm"
  done
}
"""
"""Waits for a condition, for the first run of a results folder; and tells what is left on the hosts."""


def on_slurm(script: str, folder: Path, *options: str) -> str:
    """The output of a script of bash on the first of two hosts. Skips the test where there is no Slurm."""
    if missing := [
        one for one in ("slurmctld", "slurmd", "munged") if not shutil.which(one, path="/usr/sbin:/usr/bin")
    ]:
        pytest.skip(f"there is no {missing[0]} (Debian: slurm-wlm)")
    words = (str(SLURM), "bash", "-c", SHELL + script)
    return on_hosts(2, *words, options=options or ("--cores", "1"), folder=folder)
