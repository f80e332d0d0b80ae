"""The reference of simulated nodes: the rate of a core is given by the platforms' files, and not measured."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

NODES, CORES, *PLATFORMS = sys.argv[1:]
_SPEEDS = {one: re.findall(r'\bspeed="([\d.]+)Gf"', Path(one).read_text("utf-8")) for one in PLATFORMS}
_GFLOPS = {float(each[0]) if len(each) == 1 else None for each in _SPEEDS.values()}
_ONE = _GFLOPS.pop()
if _ONE is None or _GFLOPS:
    sys.exit(f"each platform needs one speed of its cores, such as 20Gf, and all the same: {_SPEEDS}")
_RATES = [1e9 * _ONE] * (int(NODES) * int(CORES))

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
