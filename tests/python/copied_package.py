"""A copy of the package that a test may change as a page of the documentation says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import taskgrain
from taskgrain import _core
from taskgrain.drive.catalogue import package_folder


class CopiedPackage:
    """The Python sources in a folder of their own, run by the same interpreter with the same built parts."""

    def __init__(self, folder: Path) -> None:
        source = Path(taskgrain.__file__).parent
        self.folder = folder / "taskgrain"
        kept = shutil.ignore_patterns("__pycache__", "systems", "bin", "jvm", "*.so")
        shutil.copytree(source, self.folder, ignore=kept)
        shutil.copy(_core.__file__, self.folder)
        (self.folder / "bin").symlink_to(Path(_core.__file__).parent / "bin")

    def edit(self, file: str, before: str, after: str) -> None:
        """Replaces the only place where `before` stands in a file."""
        path = self.folder / file
        text = path.read_text("utf-8")
        assert text.count(before) == 1, f"{file} has {text.count(before)} times: {before}"
        path.write_text(text.replace(before, after), "utf-8")

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """`taskgrain WORDS` with the copy; its output and errors as text."""
        return run_from(self.folder.parent, *words, TASKGRAIN_PREFIX=str(package_folder()))


def run_from(folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """`taskgrain WORDS` with the package that lies in `folder`; its output and errors as text."""
    start = [
        "import sys",
        f"sys.path.insert(0, {str(folder)!r})",
        # An editable installation finds the package before the path does.
        "sys.meta_path[:] = [one for one in sys.meta_path if 'ScikitBuild' not in type(one).__name__]",
        "sys.argv[0] = 'taskgrain'",
        "from taskgrain.__main__ import main",
        "main()",
    ]
    command = [sys.executable, "-c", "; ".join(start), *map(str, words)]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
