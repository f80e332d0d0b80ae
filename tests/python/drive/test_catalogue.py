"""system.toml: what is read, what is refused, what is found, and how it is launched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from taskgrain.drive.catalogue import Group, as_dict, discover, groups, select
from taskgrain.drive.system_file import read
from taskgrain.words.errors import InputError, UsageError

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
command = ["mpirun", "-n", "{cores}", "{python}", "{dir}/driver", '{"a": {0}}']
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


def test_a_full_file(tmp_path: Path) -> None:
    folder = make(tmp_path / "mpi", FULL)
    system = read(folder)
    assert (system.name, system.title, system.distributed, system.default) == ("mpi", "MPI", True, True)
    assert system.probe().available
    assert system.versions == ("it",)
    assert system.patience == 1
    launch = system.launch([4, 5, 6, 7])
    assert launch.cores == (4, 5)
    words = ("mpirun", "-n", "2", sys.executable, f"{folder}/driver", '{"a": {0}}')
    assert launch.command == words
    assert launch.env == {"OMP_NUM_THREADS": "2", "OMP_PLACES": "{4},{5}", "NODES": "1"}


def test_the_least_file(tmp_path: Path) -> None:
    system = read(make(tmp_path / "it", LEAST))
    assert system.title == "it"
    assert system.launch([0, 1]).cores == (0, 1)
    assert not system.default


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "launch.command: nothing"),
        (LEAST + "comand = 1\n", "launch.comand is not allowed; allowed: command, env, reference, park"),
        (LEAST + 'reference = ["{there}/peak"]\n', "launch.reference: {there} is not allowed"),
        (LEAST + 'reference = "peak"\n', "launch.reference: peak is not allowed"),
        ("colour = 1\n" + LEAST, "colour is not allowed"),
        (LEAST + "[probe]\nprogrammes = []\n", "probe.programmes"),
        (LEAST + "[limits]\ncores = 1.5\n", "limits.cores: 1.5"),
        (LEAST + "[limits]\ncores = 0\n", "limits.cores: 0"),
        ("default = 1\n" + LEAST, "default: 1 is not allowed; allowed: true or false"),
        ("parallelism = 'both'\n" + LEAST, "parallelism: both is not allowed; allowed: explicit, implicit"),
        ("sources = 'a'\n" + LEAST, "sources: a is not allowed; allowed: a list of texts"),
        (LEAST + "patience = 0\n", "launch.patience: 0 is not allowed; allowed: an integer at least 1"),
        ("launch = 1\n", "launch: 1 is not allowed; allowed: a table"),
        ('[launch]\ncommand = ["{core}"]\n', "launch.command: {core} is not allowed"),
        ("[launch\n", "is not TOML"),
        ("\xff", "launch.command"),
    ],
)
def test_bad_files_name_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    folder = make(tmp_path / "bad", text if text != "\xff" else "")
    with pytest.raises((InputError, UsageError)) as caught:
        read(folder)
    assert words in str(caught.value)
    assert str(folder / "system.toml") in str(caught.value)
    assert caught.value.exit_code == 2


def test_probe_says_what_is_missing(tmp_path: Path) -> None:
    text = '[probe]\nprograms = ["no-such-x"]\nfiles = ["{dir}/driver"]\npython = ["no_such_y", "no.such"]\n'
    probe = read(make(tmp_path / "it", text + 'install = "get it"\n' + LEAST)).probe()
    assert not probe.available
    assert [one.split()[0] for one in probe.missing] == ["program", "file", "Python", "Python"]
    assert probe.install == "get it"
    assert probe.missing[1].endswith("driver (not built)")
    elsewhere = read(make(tmp_path / "device", '[probe]\nfiles = ["/no/such/device"]\n' + LEAST)).probe()
    assert elsewhere.missing == ("file /no/such/device",)


def test_a_variant_may_use_more_cores(tmp_path: Path) -> None:
    text = LEAST + "[limits]\ncores = 1\n[variants.four]\ncores = 4\n[variants.same]\n"
    one = read(make(tmp_path / "it", text))
    assert one.most_cores == 1
    assert [variant.most_cores for variant in one.variants] == [4, 1]
    with pytest.raises(InputError, match=r"variants\.none\.cores"):
        read(make(tmp_path / "other", LEAST + "[variants.none]\ncores = 0\n"))


def test_discover_and_select(tmp_path: Path) -> None:
    make(tmp_path / "package" / "systems" / "a", "default = true\n" + LEAST)
    make(tmp_path / "package" / "systems" / "b", LEAST)
    make(tmp_path / "more" / "c", "default = true\n[probe]\nprograms = ['no-such-x']\n" + LEAST)
    alone = make(tmp_path / "d", LEAST)
    found = discover([tmp_path / "more", alone], tmp_path / "package")
    assert list(found) == ["a", "b", "c", "d"]
    assert [one.name for one in select(found, "default")] == ["a"]
    assert [one.name for one in select(found, "all")] == ["a", "b", "d"]
    assert [one.name for one in select(found, ["d", "a", "d"])] == ["d", "a"]
    with pytest.raises(InputError, match="allowed: a, b, c, d, all, default"):
        select(found, ["e"])
    with pytest.raises(UsageError, match="c cannot run here: no program no-such-x"):
        select(found, ["c"])
    with pytest.raises(UsageError, match="is both"):
        discover([make(tmp_path / "other" / "a", LEAST)], tmp_path / "package")
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[variants.a]\ncommand = 'x'\n", "variants.a.command"),
        ("[variants.a]\npatterns = ['fft']\n", "variants.a.patterns"),
        ("[variants.'a b']\n", "a b"),
        ("[variants]\na = 1\n", "variants.a"),
        ("[variants.a]\nenv = { X = 1 }\n", "variants.a.env.X"),
    ],
)
def test_wrong_variants_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "system.toml").write_text(f'[launch]\ncommand = ["one"]\n{text}')
    with pytest.raises(InputError, match=re.escape(said)):
        read(tmp_path)


def test_groups_are_those_of_the_projects_own_systems(tmp_path: Path) -> None:
    make(tmp_path / "package" / "systems" / "plain", LEAST + '[variants.fast]\nenv = { A = "1" }\n')
    for name, megabytes in (("tasks", 300), ("actors", 0)):
        text = f'{LEAST}[setup]\ngroup = "ray"\nmegabytes = {megabytes}\n[probe]\nfiles = ["/nowhere"]\n'
        make(tmp_path / "package" / "systems" / name, text)
    foreign = make(tmp_path / "foreign", FULL)
    found = discover([foreign], tmp_path / "package")
    assert groups(found.values()) == {
        "default": Group(("plain",), 0, "make setup"),
        "ray": Group(("actors", "tasks"), 300, "make setup GROUPS=ray"),
    }
    assert found["tasks"].probe().install == "make setup GROUPS=ray"
    assert found["foreign"].probe().install == "apt-get install it"


def test_a_variant_can_be_another_build(tmp_path: Path) -> None:
    text = LEAST + '[variants.other]\ncommand = ["{dir}/other"]\nfiles = ["{dir}/other"]\n'
    system = read(make(tmp_path / "it", text))
    (other,) = system.variants
    assert system.probe().available
    assert other.probe().missing == (f"file {tmp_path / 'it' / 'other'} (not built)",)
    assert other.launch([0]).command == (f"{tmp_path / 'it' / 'other'}",)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    (
        ("debian = { a = 3 }", "setup.debian.a", "3"),
        ('debian = "a"', "setup.debian", "a"),
        ('pypi = "a"', "setup.pypi", "a"),
        ('pypi_alone = "a"', "setup.pypi_alone", "a"),
        ("megabytes = -1", "setup.megabytes", "-1"),
        ("apt = []", "setup.apt", ""),
    ),
)
def test_a_set_up_that_is_wrong(tmp_path: Path, line: str, key: str, value: str) -> None:
    with pytest.raises(InputError, match=re.escape(key)) as error:
        read(make(tmp_path / "it", f"{LEAST}[setup]\n{line}\n"))
    assert value in str(error.value)
