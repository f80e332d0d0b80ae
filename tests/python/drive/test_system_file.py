"""system.toml: what is read, and what is refused by file and key."""

import sys
from pathlib import Path

import pytest
from system_folder import FULL, LEAST, make

from taskgrain.drive.system_file import read
from taskgrain.words.errors import InputError, UsageError


def test_a_full_file(tmp_path: Path) -> None:
    folder = make(tmp_path / "mpi", FULL)
    (folder / "driver").touch()
    system = read(folder)
    assert (system.name, system.title, system.distributed, system.default) == ("mpi", "MPI", True, True)
    assert system.probe().available
    assert system.versions == ("it",)
    assert system.patience == 1
    launch = system.launch([4, 5, 6, 7])
    assert launch.cores == (4, 5)
    words = ("sh", "-n", "2", sys.executable, f"{folder}/driver", '{"a": {0}}')
    assert launch.command == words
    assert launch.env == {"OMP_NUM_THREADS": "2", "OMP_PLACES": "{4},{5}", "NODES": "1"}
    assert not launch.other_cores


def test_a_system_may_say_that_it_has_other_cores(tmp_path: Path) -> None:
    system = read(make(tmp_path / "it", LEAST + "[limits]\nother_cores = true\n"))
    assert system.launch([0]).other_cores
    with pytest.raises(InputError, match=r"limits\.other_cores: 1 is not allowed; allowed: true or false"):
        read(make(tmp_path / "other", LEAST + "[limits]\nother_cores = 1\n"))


def test_the_least_file(tmp_path: Path) -> None:
    system = read(make(tmp_path / "it", ""))
    assert system.title == "it"
    assert system.launch([0, 1]).cores == (0, 1)
    assert system.launch([0, 1]).command == (f"{tmp_path}/it/driver",)
    assert not system.default


def test_a_network_makes_a_system_distributed(tmp_path: Path) -> None:
    system = read(make(tmp_path / "it", "[variants.ranks]\nnetwork = 'MPI'\n"))
    assert (system.distributed, system.variants[0].distributed) == (False, True)
    refused = read(make(tmp_path / "two", "network = 'TCP'\ndistributed = false\n[variants.own]\n"))
    assert (refused.distributed, refused.variants[0].distributed) == (False, False)


@pytest.mark.parametrize(
    ("sources", "language"), [("a.rs', 'b.cpp", "Rust"), ("a.cpp", "C++"), ("a.f90", "")]
)
def test_the_language_is_that_of_the_first_source(sources: str, language: str, tmp_path: Path) -> None:
    assert read(make(tmp_path / "it", f"sources = ['{sources}']\n")).language == language


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[launch\n", "1:8: is not TOML"),
        ("a = " + "[" * 100_000, " is nested too deeply"),
        ("launch = 1\n", "1:10: launch: 1 is not allowed; allowed: a table"),
        ('[launch]\ncommand = [""]\n', "2:12: launch.command[0]: '' is not allowed"),
        ("[launch]\ncommand = ['true', 3]\n", "2:20: launch.command[1]: 3 is not allowed"),
        ('[launch]\ncommand = ["{core}"]\n', "2:11: launch.command: {core} is not allowed"),
        (
            LEAST + "comand = 1\n",
            "3:1: launch.key: comand is not allowed. Did you mean command? Allowed: command, ranks,",
        ),
        (LEAST + 'reference = ["{there}/peak"]\n', "3:13: launch.reference: {there} is not allowed"),
        (LEAST + "patience = 0\n", "3:12: launch.patience: 0 is not allowed; allowed: an integer at least 1"),
        (LEAST + "[launch.env]\n'A=B' = '1'\n", "4:1: launch.env.key: A=B is not allowed; allowed: letters"),
        (LEAST + "env = { 1A = '1' }\n", "3:9: launch.env.key: 1A"),
        ("colour = 1\n" + LEAST, "1:1: key: colour is not allowed"),
        ("simulation_error = 0.5\n" + LEAST, "1:20: simulation_error: 0.5 is not allowed"),
        ("default = 1\n" + LEAST, "1:11: default: 1 is not allowed; allowed: true or false"),
        ("parallelism = 'both'\n" + LEAST, "1:15: parallelism: both is not allowed; allowed: explicit, impl"),
        ("sources = 'a'\n" + LEAST, "1:11: sources: a is not allowed; allowed: a list of texts"),
        (LEAST + "[limits]\ncores = 0\n", "4:9: limits.cores: 0"),
        (
            LEAST + "[limits]\nkernels = ['fft']\n",
            "4:12: limits.kernels[0]: fft is not allowed; allowed: empty,",
        ),
        (LEAST + "[setup]\nmegabytes = ''\n", "4:13: setup.megabytes: '' is not allowed"),
        (LEAST + "[setup]\ndebian = { a = 3 }\n", "4:16: setup.debian.a: 3"),
        (LEAST + "[setup]\ndebian = 'a'\n", "4:10: setup.debian: a"),
        (LEAST + "ranks = 'socket'\n", "3:9: launch.ranks: socket is not allowed; allowed: core, node"),
        (LEAST + "mpi = 'lam'\n", "3:7: launch.mpi: lam is not allowed; allowed: openmpi, mpich"),
        (LEAST + "mpi = 'mpich'\n", "3:7: launch.mpi: mpich is not allowed; allowed: with `ranks`"),
        (LEAST + "[variants.a]\nmpi = 'mpich'\n", "4:7: variants.a.mpi: mpich is not allowed; allowed: with"),
        (LEAST + "[variants]\na = 1\n", "4:5: variants.a: 1"),
        (LEAST + "[variants.'a.b']\n", "3:11: variants.key: a.b is not allowed; allowed: letters, digits"),
        (LEAST + "[variants.a]\ncommand = 'x'\n", "4:11: variants.a.command: x"),
        (LEAST + "[variants.a]\npatterns = ['fft']\n", "4:1: variants.a.key: patterns"),
        (LEAST + "[variants.a]\nenv = { X = 1 }\n", "4:13: variants.a.env.X: 1"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, text: str, words: str) -> None:
    folder = make(tmp_path / "bad", text)
    with pytest.raises((InputError, UsageError)) as caught:
        read(folder)
    assert str(caught.value).startswith(f"{folder}/system.toml:{words}")
    assert caught.value.exit_code == 2


def test_a_variant_may_use_more_cores(tmp_path: Path) -> None:
    text = LEAST + "[limits]\ncores = 1\nnodes = 9\n[variants.four]\ncores = 4\nnodes = 8\n[variants.same]\n"
    one = read(make(tmp_path / "it", text))
    assert one.most_cores == 1
    assert [(variant.most_cores, variant.most_nodes) for variant in one.variants] == [(4, 8), (1, 9)]
    with pytest.raises(InputError, match=r"variants\.none\.cores"):
        read(make(tmp_path / "other", LEAST + "[variants.none]\ncores = 0\n"))


def test_a_variant_may_be_distributed(tmp_path: Path) -> None:
    variant = 'distributed = true\nnetwork = "a network"\nsources = ["b.cpp"]\n'
    text = f'sources = ["a.cpp"]\n{LEAST}[variants.ranks]\n{variant}[variants.same]\nparadigm = "other"\n'
    one = read(make(tmp_path / "it", text))
    ranks, same = one.variants
    assert (ranks.distributed, ranks.network, ranks.sources) == (True, "a network", ("b.cpp",))
    assert (same.distributed, same.network, same.sources) == (False, "", ("a.cpp",))
    assert (ranks.paradigm, same.paradigm) == ("", "other")


def test_a_variant_may_run_on_other_processors(tmp_path: Path) -> None:
    variant = 'language = "CUDA"\ninstall = "buy a GPU"\nreference = ["{dir}/peak"]\n'
    text = f'language = "C++"\n{LEAST}[variants.gpu]\n{variant}[variants.same]\n'
    gpu, same = read(make(tmp_path / "it", text)).variants
    assert (gpu.language, gpu.install, gpu.reference) == ("CUDA", "buy a GPU", ("{dir}/peak",))
    assert (same.language, same.install, same.reference) == ("C++", "", ())


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"system\.toml: cannot be read: No such file"):
        read(tmp_path)
    (tmp_path / "system.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"system\.toml:1:1: is not TOML"):
        read(tmp_path)
    with pytest.raises(InputError, match="folder name: a b is not allowed; allowed: letters, digits"):
        read(make(tmp_path / "a b", LEAST))


def test_a_folder_is_known_by_its_own_name_however_it_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "it", LEAST)
    monkeypatch.chdir(folder)
    assert read(Path(".")) == read(folder)
    assert read(Path(".")).folder == folder


@pytest.mark.parametrize(
    ("own", "setup", "group", "install"),
    [
        (True, "", "default", "make setup"),
        (True, "[setup]\ngroup = 'ray'\n", "ray", "make setup GROUPS=ray"),
        (False, "[setup]\ngroup = 'ray'\n", "", ""),
    ],
)
def test_only_the_projects_own_systems_are_set_up(
    tmp_path: Path, own: bool, setup: str, group: str, install: str
) -> None:
    system = read(make(tmp_path / "it", LEAST + setup), own=own)
    assert (system.group, system.install) == (group, install)


@pytest.mark.parametrize("name", ["hpx", "parsec_dtd", "parsec_ptg", "parsec_shard"])
def test_runtimes_that_read_files_of_the_home_folder_have_none(name: str) -> None:
    system = read(Path(__file__).parents[3] / "systems" / name)
    assert system.launch([0, 1]).env["HOME"] == "", "a driver's temporary folder then is its home"
