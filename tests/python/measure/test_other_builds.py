"""A driver that is built again between two calls: the user is told and chooses, and no run is mixed."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import called
from killable_study import FAKE, assert_nothing_twice, lines, write_study

pytestmark = pytest.mark.usefixtures("simulated")
BEFORE, AFTER = 2e-6, 8e-6
"""METG of `fast` before and after it is built again; that of `slow` stays."""
SLOW = 1e-5


def prepare(folder: Path) -> list[str]:
    """A study whose drivers are scripts in the systems' own folders; returns the command's arguments."""
    words = write_study(folder, patterns=["stencil_1d"])
    for name in ("fast", "slow"):
        system = folder / "systems" / name
        shutil.copy(FAKE, system / "driver.py")
        text = (system / "system.toml").read_text()
        (system / "system.toml").write_text(text.replace(str(FAKE), "{dir}/driver.py"))
    return words


def build_again(folder: Path) -> None:
    driver = folder / "systems" / "fast" / "driver.py"
    text = driver.read_text()
    assert "(OVERHEAD + " in text
    driver.write_text(text.replace("(OVERHEAD + ", "(4.0 * OVERHEAD + "))


def finish(words: list[str]) -> dict[str, Any]:
    """Calls the command in this process, and returns what it prints."""
    found: dict[str, Any] = json.loads(called(*words, "--json").printed())
    return found


def refused(words: list[str]) -> str:
    return called(*words).refusal().splitlines()[-1]


def metgs(found: Mapping[str, Any]) -> dict[str, float]:
    return {cell["cell"].partition("/")[0]: cell["metg"] for cell in found["cells"]}


def builds(out: Path) -> list[str]:
    """The build of `fast` in each session."""
    sessions = lines(out, "session")
    return [next(one["build"] for one in line["systems"] if one["name"] == "fast") for line in sessions]


def test_a_session_says_what_it_measures(tmp_path: Path) -> None:
    words = prepare(tmp_path)
    finish(words)
    out = tmp_path / "out"
    first, *others = lines(out, "session")
    assert not others and json.loads((out / "runs.jsonl").read_text().splitlines()[0])["kind"] == "session"
    assert [one["name"] for one in first["systems"]] == ["fast", "slow", "taskgrain-reference"]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    machine = json.loads((out / "machine.json").read_text())
    assert (first["boot"], first["taskgrain"]) == (boot, machine["taskgrain"]["version"])
    assert set(first["cores"]) <= set(machine["cpu"]["available"])
    content = (out / "runs.jsonl").read_bytes()
    finish(words)
    assert (out / "runs.jsonl").read_bytes() == content, "a call without anything to measure is no session"


def test_a_finished_folder_is_not_shown_for_another_build(tmp_path: Path) -> None:
    words, out = prepare(tmp_path), tmp_path / "out"
    before = finish(words)
    assert metgs(before) == pytest.approx({"fast": BEFORE, "slow": SLOW}, rel=0.1)
    build_again(tmp_path)
    content = {file: file.read_bytes() for file in out.iterdir() if file.is_file()}
    said = refused(words)
    assert f"taskgrain: {out}: holds results of other builds of fast;" in said
    assert "--restart" in said and "--keep-both" in said and f"fast@{builds(out)[0][:8]}" in said
    assert {file: file.read_bytes() for file in out.iterdir() if file.is_file()} == content
    assert "not both" in refused([*words, "--restart", "--keep-both"])

    new = finish([*words, "--restart"])
    assert metgs(new) == pytest.approx({"fast": AFTER, "slow": SLOW}, rel=0.1)
    assert metgs(new)["slow"] == metgs(before)["slow"], "it was not built again"
    content = {file: file.read_bytes() for file in out.iterdir() if file.is_file()}
    for again in (words, [*words, "--restart"]):
        assert metgs(finish(again)) == metgs(new)
    assert {file: file.read_bytes() for file in out.iterdir() if file.is_file()} == content
    assert len(set(builds(out))) == len(builds(out)) == 2
    assert_nothing_twice(out)


def test_both_builds_side_by_side(tmp_path: Path) -> None:
    words, out = prepare(tmp_path), tmp_path / "out"
    finish(words)
    first = (tmp_path / "systems/fast/driver.py").read_bytes()
    build_again(tmp_path)
    earlier = f"fast@{builds(out)[0][:8]}"
    expected = {"fast": AFTER, "slow": SLOW, earlier: BEFORE}
    done = called(*words, "--keep-both", "--json")
    assert f"{out}: built again since the last call: fast; their earlier cells stay, as {earlier}" in done.err
    found = json.loads(done.out)
    assert metgs(found) == pytest.approx(expected, rel=0.1)
    assert metgs(finish(words)) == metgs(found), "the choice is in the folder"
    assert earlier in called(*words).out
    assert called("export", out).out.count("fast@") == 2, "the names of the cell and of its system"

    (tmp_path / "systems/fast/driver.py").write_bytes(first)
    content = (out / "runs.jsonl").read_bytes()
    later = f"fast@{builds(out)[1][:8]}"
    assert later in refused(words)
    back = finish([*words, "--keep-both"])
    assert metgs(back) == pytest.approx({"fast": BEFORE, "slow": SLOW, later: AFTER}, rel=0.1)
    added = (out / "runs.jsonl").read_bytes().removeprefix(content).splitlines()
    assert [json.loads(line)["kind"] for line in added] == ["session"], "all of it was already measured"
    exported = called("export", out).out
    assert later in exported and earlier not in exported
    assert metgs(finish(words)) == metgs(back) and len(builds(out)) == 3


def test_an_old_folder_goes_on_with_a_note(tmp_path: Path) -> None:
    words, out = prepare(tmp_path), tmp_path / "out"
    before = finish(words)
    runs = out / "runs.jsonl"
    kept = [line for line in runs.read_bytes().splitlines(True) if b'"kind": "session"' not in line]
    cut = [line for line in kept if b'"kind": "metg"' not in line][:-4]
    runs.write_bytes(b"".join(cut))
    build_again(tmp_path)
    assert called(*words).err.count("unknown builds") == 1
    assert runs.read_bytes().startswith(b"".join(cut))
    assert len(lines(out, "session")) == 1
    assert len(before["cells"]) == len(lines(out, "metg")) == 2
    assert "unknown builds" not in called(*words).err
