"""What is measured: a workload is a task graph without its task size, a cell a system on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from taskgrain._core import Run, Unsupported

EMPTY = "empty"
"""The kernel that does nothing: its tasks show what a system costs."""


@dataclass(frozen=True)
class Kernel:
    """What a task computes, but for its iterations, which METG varies."""

    name: str = "compute_bound"
    imbalance: float = 0.0
    persistent: bool = False
    scratch_bytes: int = 0
    samples: int = 16

    def reference(self) -> dict[str, Any]:
        """What the reference runs to find the peak of this kernel: the imbalance does not change it."""
        return {"name": self.name, "scratch_bytes": self.scratch_bytes, "samples": self.samples}


@dataclass(frozen=True)
class Workload:
    """`graphs` copies of one graph. The fields are those of the driver protocol's GRAPH."""

    pattern: str
    width: int
    radix: int = 3
    period: int = 0
    fraction: float = 0.25
    seed: int = 0
    dag: str = ""
    output_bytes: int = 16
    graphs: int = 1
    kernel: Kernel = field(default_factory=Kernel)

    def request(self, iterations: int, steps: int) -> list[dict[str, object]]:
        """The GRAPHs of a `run` request; 0 iterations stand for the empty kernel."""
        graph = {key: value for key, value in asdict(self).items() if key not in ("graphs", "kernel")}
        kernel = asdict(self.kernel) if iterations else {"name": EMPTY}
        graph |= {"steps": steps, "kernel": kernel | {"iterations": iterations}}
        return [graph] * self.graphs

    @property
    def name(self) -> str:
        """Pattern and width, and whatever else is not the default: `nearest/radix=5/width=16/graphs=4`."""
        default = Workload(self.pattern, 0)
        parts = [self.pattern]
        for key in ("radix", "period", "fraction", "seed", "dag", "width", "graphs", "output_bytes"):
            if (value := getattr(self, key)) != getattr(default, key):
                # A slash parts the fields of a name, so of a file only its own name goes in.
                parts.append(f"{key}={Path(value).name if key == 'dag' else _shown(value)}")
        if self.kernel.name != default.kernel.name:
            parts.append(f"kernel={self.kernel.name}")
        for key in ("imbalance", "persistent", "scratch_bytes", "samples"):
            if (value := getattr(self.kernel, key)) != getattr(default.kernel, key):
                parts.append(f"{key}={_shown(value)}")
        return "/".join(parts)

    def tasks(self, steps: int) -> int:
        """An upper bound on the tasks of one run."""
        return self.width * steps * self.graphs

    @lru_cache(maxsize=256)  # noqa: B019 - a workload is a small value that lives as long as the study
    def exact_tasks(self, steps: int) -> int | None:
        """The tasks of one run, as the core counts them; None for graphs too large for this process."""
        graphs = self.request(1, steps)
        try:
            return Run(json.dumps({"op": "run", "graphs": graphs, "validate": "off"})).tasks
        except (Unsupported, MemoryError):
            return None

    def fields(self) -> dict[str, Any]:
        """The workload in a line of `runs.jsonl`."""
        flat = {key: value for key, value in asdict(self).items() if key != "kernel"}
        kernel = asdict(self.kernel)
        return flat | {"kernel": kernel.pop("name")} | kernel

    def options(self) -> str:
        """The flags that give this workload on the command line."""
        words = [f"--pattern {self.pattern}"]
        default = Workload(self.pattern, 0)
        fields = self.fields()
        for key, value in default.fields().items():
            if fields[key] != value and key != "pattern":
                flag = "--" + key.replace("_", "-")
                words.append(flag if fields[key] is True else f"{flag} {_shown(fields[key])}")
        return " ".join(words)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Cell:
    """One system on one workload."""

    system: str
    workload: Workload

    @property
    def name(self) -> str:
        return f"{self.system}/{self.workload.name}"

    def fields(self) -> Mapping[str, Any]:
        """The cell in its first line of `runs.jsonl`."""
        return {"cell": self.name, "system": self.system} | self.workload.fields()
