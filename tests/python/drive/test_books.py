"""The books of a run with a fault: how often it struck, whatever has become of the driver."""

from __future__ import annotations

import shutil
from pathlib import Path

from taskgrain.drive.books import Books


def test_strikes_are_read_even_when_the_folder_has_gone(tmp_path: Path) -> None:
    folder = tmp_path / "driver"
    folder.mkdir()
    file = folder / "books"
    with Books(str(file)) as books:
        assert file.exists() and books.strikes() == 0, "nobody has begun them"
        with file.open("r+b") as written:  # as a driver does, which maps it
            written.write((3).to_bytes(8, "little") + bytes(100))
        shutil.rmtree(folder)
        assert books.strikes() == 3
    with Books(str(tmp_path / "file")) as books:
        pass
    assert not (tmp_path / "file").exists()


def test_what_cannot_be_made_has_none(tmp_path: Path) -> None:
    with Books(str(tmp_path / "nowhere" / "books")) as books:
        assert books.strikes() == 0
