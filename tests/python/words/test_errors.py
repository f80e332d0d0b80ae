"""Tests of errors that name what is allowed."""

import errno
from collections.abc import Sequence

from taskgrain.words.errors import InputError, unwritable

SYSTEMS = ["limit", "mpi", "openmp_for", "starpu"]


def test_an_error_asks_first_and_names_the_command_for_a_long_list() -> None:
    def said(value: str, names: Sequence[str] = SYSTEMS) -> str:
        return str(InputError("--system", value, names, "taskgrain systems"))

    many = (*SYSTEMS, *(f"other{k}" for k in range(20)))
    begin = "--system: startpu is not allowed. Did you mean starpu?"
    assert said("startpu") == f"{begin} Allowed: {', '.join(SYSTEMS)}"
    assert said("startpu", many) == f"{begin} `taskgrain systems` lists all"
    assert said("xyz") == f"--system: xyz is not allowed; allowed: {', '.join(SYSTEMS)}"
    assert said("xyz", many) == "--system: xyz is not allowed; `taskgrain systems` lists what is allowed"


def test_that_there_is_no_room_is_no_fault_of_the_user() -> None:
    codes = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EROFS)
    assert [unwritable("f", OSError(one, "said")).exit_code for one in codes] == [1, 1, 1, 1, 2, 2]
