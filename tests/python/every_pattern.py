"""Runs every pattern with one driver on hosts h1, h2 …, of which this is the first.

    every_pattern.py SYSTEM NODES

It prints what fails, and then how many runs there were.
"""

import json
import os
import sys
from itertools import product
from pathlib import Path

from taskgrain._core import patterns
from taskgrain.drive import catalogue
from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session
from taskgrain.measure import call
from taskgrain.study.workload import Workload

STEPS = 20
WIDTH = 5
ROW = {"width": WIDTH, "dependences": [[(k * k) % WIDTH, (k * k + 1) % WIDTH] for k in range(WIDTH)]}
"""A row of the DAG."""


def main(name: str, nodes: int) -> None:
    system, cores = catalogue.discover([])[name], sorted(os.sched_getaffinity(0))
    dag = Path("dag.json").resolve()
    dag.write_text(json.dumps({"steps": [{"width": WIDTH}, *[ROW] * (STEPS - 1)]}))
    runs = list(product(patterns(), (16, 2**16, 2**20), (1, 3)))
    with call.agents([f"h{k}" for k in range(1, nodes + 1)], [system], cores) as hosts:
        hosts.facts()
        with Session(name, call.launch_on(system, cores, hosts, nodes), hosts=hosts) as session:
            for pattern, output_bytes, graphs in runs:
                if not session.alive:
                    assert session.start().nodes == nodes
                file = str(dag) if pattern == "dag" else ""
                width = WIDTH if file else 2 * nodes
                workload = Workload(
                    pattern, width, dag=file, output_bytes=output_bytes, graphs=graphs, nodes=nodes
                )
                try:
                    found = session.run(workload.request(0, STEPS), repeats=1, validate="full")
                    if found.executed != found.tasks:
                        print(f"{workload.name}: {found.executed} of {found.tasks} tasks")
                except DriverError as error:
                    print(f"{workload.name}: {error.kind}: {error.message}", flush=True)
    print(f"{len(runs)} runs")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
