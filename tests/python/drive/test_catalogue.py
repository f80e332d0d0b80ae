"""The systems there are: which are found, chosen, and set up together."""

from pathlib import Path

import pytest
from system_folder import FULL, LEAST, make

from taskgrain.drive.catalogue import Group, as_dict, discover, groups, select
from taskgrain.words.errors import InputError, UsageError


def test_discover_and_select(tmp_path: Path) -> None:
    make(tmp_path / "package" / "systems" / "a", "default = true\n" + LEAST)
    make(tmp_path / "package" / "systems" / "b", LEAST)
    make(tmp_path / "more" / "c", "default = true\n[probe]\nprograms = ['no-such-x']\n" + LEAST)
    alone = make(tmp_path / "d", LEAST)
    nodes = make(tmp_path / "e", "simulated = true\n[launch]\ncommand = ['true', '{nodes}']\n")
    found = discover([tmp_path / "more", alone, nodes], tmp_path / "package")
    assert list(found) == ["a", "b", "c", "d", "e"]
    assert [one.name for one in select(found, "default")] == ["a"]
    assert [one.name for one in select(found, "all")] == ["a", "b", "d"], (
        "what is simulated has no others beside it"
    )
    assert [one.name for one in select(found, ["d", "a", "d"])] == ["d", "a"]
    assert [one.name for one in select(found, ["e"])] == ["e"]
    with pytest.raises(InputError) as refused:
        select(found, ["default", "ff"])
    assert str(refused.value) == (
        f"--system: ff is not allowed; allowed: all, default, and each system of {tmp_path} and "
        f"{tmp_path}/more and {tmp_path}/package/systems. `taskgrain systems` lists them; "
        "--systems DIR adds a system of yours"
    )
    with pytest.raises(UsageError, match="c cannot run here: no program no-such-x"):
        select(found, ["c"])
    with pytest.raises(UsageError, match="is both"):
        discover([make(tmp_path / "other" / "a", LEAST)], tmp_path / "package")
    make(tmp_path / "twice" / "a", LEAST + '[variants.b]\nenv = { A = "1" }\n')
    make(tmp_path / "twice" / "a.b", LEAST)
    with pytest.raises(UsageError, match=r"a\.b is both .*/a and .*/a\.b; rename one"):
        discover([tmp_path / "twice"], tmp_path / "package")
    for nowhere in (tmp_path / "nothing", tmp_path / "package"):
        with pytest.raises(InputError, match="--systems"):
            discover([nowhere], tmp_path / "package")


def test_variants_are_systems_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "system.toml").write_text(
        'title = "One"\ndefault = true\n[launch]\ncommand = ["one"]\nenv = { MODE = "plain", LEVEL = "1" }\n'
        '[variants.fast]\nenv = { MODE = "fast" }\n[variants.slow]\ntitle = "One, slowly"\ndefault = true\n'
    )
    found = discover([tmp_path], tmp_path / "none")
    assert list(found) == ["one", "one.fast", "one.slow"]
    assert [one.title for one in found.values()] == ["One", "One, fast", "One, slowly"]
    assert [one.default for one in found.values()] == [True, False, True]
    assert found["one.fast"].launch([0]).env == {"MODE": "fast", "LEVEL": "1"}
    assert found["one.slow"].launch([0]).env == {"MODE": "plain", "LEVEL": "1"}
    assert as_dict(found["one"])["variants"] == ["one.fast", "one.slow"]


def test_groups_are_those_of_the_projects_own_systems(tmp_path: Path) -> None:
    make(tmp_path / "package" / "systems" / "plain", LEAST + '[variants.fast]\nenv = { A = "1" }\n')
    for name, megabytes, minutes in (("tasks", 300, 3), ("actors", 0, 2)):
        setup = f'[setup]\ngroup = "ray"\nmegabytes = {megabytes}\nminutes = {minutes}\n'
        make(tmp_path / "package" / "systems" / name, f'{LEAST}{setup}[probe]\nfiles = ["/nowhere"]\n')
    foreign = make(tmp_path / "foreign", FULL)
    make(tmp_path / "package" / "systems" / "by_hand", f'{LEAST}[probe]\ninstall = "install it yourself"\n')
    found = discover([foreign], tmp_path / "package")
    assert groups(found.values()) == {
        "default": Group(("plain",), 0, 0, "make setup"),
        "ray": Group(("actors", "tasks"), 300, 5, "make setup GROUPS=ray"),
    }
    assert found["tasks"].probe().install == "make setup GROUPS=ray"
    assert found["foreign"].probe().install == "apt-get install it"
