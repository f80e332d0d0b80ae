"""A driver's log: what it keeps, and that it cannot fill the disk."""

from __future__ import annotations

from pathlib import Path

from taskgrain.drive.log import DriverLog


def test_log_is_capped_with_a_notice(tmp_path: Path) -> None:
    log = DriverLog(tmp_path / "x.log", largest=100)
    for number in range(100):
        log.write(b"line %d" % number)
    log.close()
    text = (tmp_path / "x.log").read_text()
    assert len(text) < 200
    assert "the log is full" in text
    assert log.tail().endswith("line 99")
