"""Ray on another node than the driver's: python workers.py PYTHONPATH OPTIONS…"""

from __future__ import annotations

import json
import os
import sys

from taskgrain import _core

cores = len(_core.cores())
os.environ["RAY_AUTH_TOKEN"] = os.environ["TASKGRAIN_DRIVER"].rpartition(":")[2]  # other users see words
os.environ["PYTHONPATH"] = sys.argv[1]
options = [f"--num-cpus={cores}", f"--resources={json.dumps({os.uname().nodename: cores})}"]
options += [f"--temp-dir={os.environ['TMPDIR']}", "--include-log-monitor=false", "--block", *sys.argv[2:]]
os.execv(sys.executable, [sys.executable, "-m", "ray.scripts.scripts", "start", *options])
