"""A system: what it needs to run here, and the command that starts its driver."""

from __future__ import annotations

from pathlib import Path

from system_folder import LEAST, make

from taskgrain.drive.system_file import read


def test_probe_says_what_is_missing(tmp_path: Path) -> None:
    text = '[probe]\nprograms = ["no-such-x"]\nfiles = ["{dir}/driver"]\npython = ["no_such_y", "no.such"]\n'
    probe = read(make(tmp_path / "it", text + 'install = "get it"\n' + LEAST)).probe()
    assert not probe.available
    assert [one.split()[0] for one in probe.missing] == ["program", "file", "Python", "Python"]
    assert probe.install == "get it"
    assert probe.missing[1].endswith("driver (not built)")
    elsewhere = read(make(tmp_path / "device", '[probe]\nfiles = ["/no/such/device"]\n' + LEAST)).probe()
    assert elsewhere.missing == ("file /no/such/device",)


def test_a_variant_can_be_another_build(tmp_path: Path) -> None:
    text = LEAST + '[variants.other]\ncommand = ["{dir}/other"]\nfiles = ["{dir}/other"]\n'
    system = read(make(tmp_path / "it", text))
    (other,) = system.variants
    assert system.probe().available
    assert other.probe().missing == (f"file {tmp_path / 'it' / 'other'} (not built)",)
    assert other.launch([0]).command == (f"{tmp_path / 'it' / 'other'}",)
