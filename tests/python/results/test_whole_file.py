"""A file is written as a whole, or not at all: after a failure, what was there is there."""

import os
import threading
from pathlib import Path

import pytest

from taskgrain.results import whole_file
from taskgrain.words.errors import TaskgrainError, UsageError


def test_what_is_there_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"first", b"second, which is longer", b""):
        whole_file.write(file, content)
        assert file.read_bytes() == content
        assert [*tmp_path.iterdir()] == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "target"
    link.symlink_to(target)
    whole_file.write(link, b"through the link")
    assert link.is_symlink() and target.read_bytes() == b"through the link"


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    whole_file.write(pipe, b"content")
    reader.join()
    assert found == [b"content"] and pipe.is_fifo()


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    for bad in (tmp_path, tmp_path / "nowhere" / "file"):
        with pytest.raises(UsageError, match="cannot be written"):
            whole_file.write(bad, b"content")
    assert not [*tmp_path.iterdir()]


def test_two_that_write_one_file_at_once_both_write_a_whole_one(tmp_path: Path) -> None:
    file, together, failed = tmp_path / "file", threading.Barrier(2), list[TaskgrainError]()

    def write(content: bytes) -> None:
        together.wait()
        for _ in range(30):
            try:
                whole_file.write(file, content)
            except TaskgrainError as error:
                failed.append(error)

    contents = [b"a" * 5000, b"b" * 9000]
    writers = [threading.Thread(target=write, args=(one,)) for one in contents]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert not failed and file.read_bytes() in contents and [*tmp_path.iterdir()] == [file]
