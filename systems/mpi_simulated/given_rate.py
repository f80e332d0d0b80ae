"""The reference of simulated nodes: the rate of a core is given by the platform's file, and not measured."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PLATFORM, NODES, CORES = sys.argv[1:]
_SPEED = re.search(r'speed="([\d.]+)Gf"', Path(PLATFORM).read_text("utf-8"))
assert _SPEED, f"{PLATFORM}: no speed in Gf"
_RATES = [1e9 * float(_SPEED[1])] * (int(NODES) * int(CORES))

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
