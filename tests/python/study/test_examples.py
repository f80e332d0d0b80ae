"""The studies of the repository and of the documents: each dry-runs, with the cells it is said to have."""

import json
import re
import tempfile
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import called

ROOT = Path(__file__).parents[3]
HOW_TO = ROOT / "docs/how-to/write-a-study.md"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, name, text) for kind, name, text in _BLOCK.findall(HOW_TO.read_text("utf-8"))]
EXAMPLES = [
    (text, following[2].splitlines())
    for (kind, name, text), following in pairwise(BLOCKS)
    if kind == "toml" and not name
]
pytestmark = pytest.mark.usefixtures("no_own_systems")


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    for name in ("mpi", "openmp_task", "mpi_simulated"):
        folder = tmp_path / "systems" / name
        folder.mkdir(parents=True)
        kind = "simulated = true" if "simulated" in name else "default = true"
        text = f'title = "{name}"\n{kind}\n[launch]\ncommand = ["x", "{{nodes}}"]\n'
        (folder / "system.toml").write_text(text + '[variants.bulk]\ntitle = "b"\n' * ("simulated" in name))
    return tmp_path / "systems"


def dry_run(*words: object) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as empty:  # `results/` may have a study of that name
        done = called("study", *words, "--dry-run", "--json", "--output", empty)
    assert (done.code, done.err) == (0, "")
    plan: dict[str, Any] = json.loads(done.out)
    return plan


@pytest.mark.parametrize(("text", "cells"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_have_the_cells_below_them(
    systems: Path, tmp_path: Path, text: str, cells: list[str]
) -> None:
    for kind, name, content in BLOCKS:
        if kind == "toml" and name:
            (tmp_path / name).write_text(content)
    (tmp_path / "mine.toml").write_text(text)
    plan = dry_run(tmp_path / "mine.toml", "--systems", systems, "--cores", 2)
    assert [cell["cell"] for cell in plan["cells"]] == cells
    assert plan["seconds"] == pytest.approx(sum(cell["seconds"] for cell in plan["cells"]))


def test_every_block_of_the_how_to_is_run() -> None:
    assert len(EXAMPLES) == 6
    assert len([block for block in BLOCKS if block[0] == "cells"]) == len(EXAMPLES)


def refusal(*words: object) -> str:
    return called("study", *words, "--dry-run").refusal()


def test_the_error_of_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/reference/study.md").read_text("utf-8")
    match = re.search(r"```toml\n(patterns.*?)```\n\nwith\n\n```\n(.*?)```", text, re.DOTALL)
    assert match
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(match[1])
    assert refusal("s.toml") == match[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'patterns = ["fft"]\nsystems = ["mpi", "nope"]',
            "s.toml:2:19: systems[1]: nope is not",
        ),
        ('patterns = ["fft"]\nsystems = "nope"', "s.toml:2:11: systems: nope is not allowed"),
        (
            'patterns = ["spread"]\nradix = 5\nwidths = 16\nperiod = [4,\n 9]',
            "s.toml:5:2: period[1]: '9' is not allowed; allowed: at most 4",
        ),
        ('[[workloads]]\npattern = "dag"\ndag = "no.dag"', "s.toml:3:7: workloads[0].dag: "),
    ],
)
def test_what_is_found_later_is_placed_too(
    systems: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    words: str,
) -> None:
    """What only the core or the systems here can refuse."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(text)
    said = refusal("s.toml", "--systems", systems)
    assert said.startswith(f"taskgrain: {words}")
    assert said.count("\n") == 1


def test_combinations_that_cannot_be_may_be_excluded(systems: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('patterns = ["spread"]\nwidths = 16\nradix = [1, 5]\nperiod = [3, 9]\n')
    assert "period[1]" in refusal(file, "--systems", systems)
    file.write_text(file.read_text() + "exclude = [{ radix = 5, period = 9 }]\n")
    assert len(dry_run(file, "--systems", systems)["cells"]) == 2 * 3


STUDIES = sorted((ROOT / "studies").glob("*.toml"))
PAPERS = sorted((ROOT / "studies/papers").glob("*.toml"))


def with_cores(file: Path, cores: int) -> list[object]:
    """The option, but for a study that says its `cores`."""
    return [] if "cores" in tomllib.loads(file.read_text("utf-8")) else ["--cores", cores]


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("file", STUDIES, ids=lambda file: str(file.name))
def test_the_repositorys_studies(systems: Path, file: Path, cores: int) -> None:
    plan = dry_run(file, "--systems", systems, *with_cores(file, cores))
    cells = {"default.toml": 2 * 3, "everything.toml": 2 * 4, "simulated.toml": 40 + 20}
    assert len(plan["cells"]) == cells[file.name]
    assert 0 < plan["seconds"] < 3600
    assert f"`studies/{file.name}`" in HOW_TO.read_text("utf-8")


@pytest.fixture
def every_system(tmp_path: Path) -> Path:
    """The names of all systems of the repository, as if each could run here."""
    for file in [*(ROOT / "systems").glob("*/system.toml"), *(ROOT / "bench").glob("*/system.toml")]:
        table = tomllib.loads(file.read_text("utf-8"))
        lines = ["title = 'x'", f"default = {json.dumps(table.get('default', False))}"]
        lines += ["[launch]", "command = ['x']"]
        for name in table.get("variants", {}):
            lines += [f"[variants.{json.dumps(name)}]", "title = 'x'"]
        folder = tmp_path / "systems" / file.parent.name
        folder.mkdir(parents=True)
        (folder / "system.toml").write_text("\n".join(lines))
    return tmp_path / "systems"


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("file", PAPERS, ids=lambda file: str(file.name))
def test_the_studies_of_the_papers(
    monkeypatch: pytest.MonkeyPatch,
    every_system: Path,
    file: Path,
    cores: int,
) -> None:
    """Those of a node, too, which ask for more cores than there may be here."""
    monkeypatch.setattr("taskgrain.cli.study.choose_cores", lambda wished, **_: list(range(wished)))
    plan = dry_run(file, "--systems", every_system, *with_cores(file, cores))
    assert plan["cells"]
    published = file.stem.endswith("-published")
    assert 0 < plan["seconds"] < plan["budget"]
    assert plan["budget"] <= (12 * 3600 if published else 600)


@pytest.mark.parametrize("file", sorted((ROOT / "bench").glob("*.toml")), ids=lambda file: str(file.name))
def test_the_studies_of_the_benchmarks(every_system: Path, file: Path) -> None:
    plan = dry_run(file, "--systems", every_system, "--cores", 1)
    assert 0 < plan["seconds"] < plan["budget"]
    assert f" bench/{file.name}" in (ROOT / "bench/run").read_text("utf-8")


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: str(file.name))
def test_a_page_has_the_command_of_each_study_of_the_papers(file: Path) -> None:
    """The studies of the published size have none: they include the one that is on a page."""
    if file.stem.endswith("-published"):
        smaller = f"{file.stem.removesuffix('-published')}.toml"
        assert tomllib.loads(file.read_text("utf-8"))["include"] == smaller
    else:
        pages = [page.read_text("utf-8") for page in (ROOT / "docs/papers").glob("*.md")]
        assert any(f" STUDY={file.stem}\n" in page for page in pages)
