"""`jsrun` in a job of LSF, by its manual; it was not run."""

from __future__ import annotations

from collections.abc import Sequence

from taskgrain.drive.launch.launcher import Launcher, Ranks


def _options(ranks: Ranks) -> Sequence[str]:
    """A resource set is a rank and its cores. The hosts come from the job: jsrun takes no names."""
    sets = (f"--nrs={ranks.count}", f"--rs_per_host={ranks.per_node}", "--tasks_per_rs=1")
    return (*sets, f"--cpu_per_rs={ranks.cores}", "--bind=none")


LSF = Launcher("lsf", ("jsrun",), _options, allocation=("LSB_JOBID", "LSB_DJOB_HOSTFILE"))
