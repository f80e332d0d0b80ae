"""Folders of systems that tests write."""

from pathlib import Path

from killable_study import FAKE

FULL = """
title = "MPI"
paradigm = "message passing"
parallelism = "explicit"
distributed = true
network = "MPI"
language = "C++"
sources = ["mpi.cpp"]
versions = ["it"]
guidance = ["https://example.org"]
default = true
[probe]
programs = ["sh"]
files = ["{dir}/system.toml"]
python = ["json"]
install = "apt-get install it"
[launch]
command = ["sh", "-n", "{cores}", "{python}", "{dir}/driver", '{"a": {0}}']
env = { OMP_NUM_THREADS = "{cores}", OMP_PLACES = "{places}", NODES = "{nodes}" }
[setup]
group = "ray"
megabytes = 300
debian = { libmpi-dev = "mpirun" }
pypi = ["it==1"]
pypi_alone = ["its-library==1"]
program = "setup"
[limits]
cores = 2
"""
LEAST = '[launch]\ncommand = ["true"]\n'


def make(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "system.toml").write_text(text)
    return folder


def simulated(
    folder: Path, overhead: float = 1e-6, fault: str = "=", noise: float = 0.02, more: str = ""
) -> Path:
    """A simulated system; `more` stands above its launch."""
    words = ["{python}", str(FAKE), str(overhead), str(noise), fault]
    return make(folder, f"simulated = true\n{more}[launch]\ncommand = {words}\n")
