"""Commands that a driver starts on other nodes; test_several_nodes.py has them on hosts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskgrain import _core
from taskgrain.system import elsewhere


def test_a_command_has_the_cores_an_address_and_a_folder_that_goes() -> None:
    core = _core.cores()[0]
    script = 'echo $TMPDIR $(taskset -cp $$ | sed "s/.*: //") $1; touch $TMPDIR/left; exit 3'
    words = [sys.executable, "-m", elsewhere.__name__, "127.0.0.1", "sh", "-c", script, "sh", "at {address}"]
    env = os.environ | {"TASKGRAIN_TREE": "of-a-test", "TASKGRAIN_CORES": f"{core}"}
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    folder = elsewhere.scratch("of-a-test")
    assert (done.stdout, done.returncode) == (f"{folder} {core} at 127.0.0.1\n", 3), done.stderr
    assert not Path(folder).exists()


def test_nothing_is_started_where_there_is_no_other_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKGRAIN_NODES", raising=False)
    assert elsewhere.start(["false"]) is None and elsewhere.address() == ""
    assert elsewhere.nodes() == [(os.uname().nodename, os.uname().nodename, _core.cores())]
