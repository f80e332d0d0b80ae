"""The reference of simulated nodes: their description gives the rate of a core, and nobody measures it."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

DESCRIPTION, NODES, CORES = sys.argv[1:]
_CLUSTER = ElementTree.parse(DESCRIPTION).find("cluster")
_SPEED = "" if _CLUSTER is None else _CLUSTER.get("speed", "")
if not _SPEED.endswith("Gf"):
    sys.exit(f"{DESCRIPTION}: needs a speed of its cores such as 20Gf, not {_SPEED!r}")
_RATES = [1e9 * float(_SPEED[:-2])] * (int(NODES) * int(CORES))

for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "quit":
        break
    if asked["op"] == "hello":
        answer = {"event": "ready", "protocol": 1, "system": "given_rate", "version": "1"}
        answer |= {"cores": len(_RATES)}
    else:
        answer = {"event": "peak", "id": asked["id"], "rates": _RATES, "work_unit": "flop"}
    print("@taskgrain " + json.dumps(answer), flush=True)
