"""A study on four hosts that is killed at any moment."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest
from on_hosts import on_hosts

from taskgrain.results import reader

pytestmark = pytest.mark.deep
KILLS = int(os.environ.get("TASKGRAIN_TEST_KILLS") or 50)
# The pattern matches no word of this script, which is an argument of each host's first process.
SCRIPT = """
for wait in WAITS; do
  PYTHON -m taskgrain study s.toml -o results -q --retry > said 2>&1 & study=$!
  sleep $wait
  kill -9 $study; wait $study 2> /dev/null
  cp results/runs.jsonl after-$(ls | wc -l) 2> /dev/null
  for host in h1 h2 h3 h4; do
    timeout 20 ssh $host "while pgrep -f 'host_agen[t]|mpiru[n]|orte[d]|/mpi/drive[r]|grain-referenc[e]'
      do sleep 0.2; done" > left || { echo left on $host after $wait s; cat left; }
    ssh $host ls /dev/shm
  done
done
PYTHON -m taskgrain study s.toml -o results -q --retry --budget 100000 --json > ended
"""


def test_nothing_is_lost_and_no_process_left(tmp_path: Path) -> None:
    """The lines of before each kill are there after all of them, and none twice."""
    (tmp_path / "s.toml").write_text(
        'systems = ["mpi"]\npatterns = ["stencil_1d", "fft"]\nnodes = [2, 4]\nhosts = "h1,h2,h3,h4"\n'
        "max_rounds = 5\nmin_rounds = 3\n"
    )
    dice = random.Random(4)
    waits = " ".join(f"{dice.uniform(0.2, 9.0):.2f}" for _ in range(KILLS))
    script = SCRIPT.replace("WAITS", waits).replace("PYTHON", sys.executable)
    printed = on_hosts(4, "bash", "-c", script, options=("--cores", "1"), folder=tmp_path)
    assert printed == "", "no process and no segment is left"
    lines = (tmp_path / "results" / "runs.jsonl").read_bytes()
    copies = list(tmp_path.glob("after-*"))
    for copy in copies:
        whole = copy.read_bytes()
        assert lines.startswith(whole[: whole.rfind(b"\n") + 1]), copy
    cells = json.loads((tmp_path / "ended").read_text("utf-8"))["cells"]
    assert len(cells) == 4 and all(one["ending"] != "failed" for one in cells)
    runs = [one for one in reader.read(tmp_path / "results").lines if one.kind == "run"]
    keys = [(one.cell, one.phase, one.round, one.iterations, one.steps) for one in runs]  # type: ignore[attr-defined]
    assert len(set(keys)) == len(keys)
    sys.stderr.write(f"{len(copies)} kills, {len(runs)} runs\n")
