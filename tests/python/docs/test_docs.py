"""The documentation: what it tells a reader to run does run, its links lead somewhere, its site builds.

A page is run from beginning to end in a folder of its own, which has the checkout's `.venv`, `studies`,
`docs`, `examples` and `templates`, and measured results in `results/default`:

- `sh` is run by bash and must succeed; `python` is run as a program. With `title="FILE"` a block of any
  language becomes that file instead, for the commands after it.
- `toml` and `json` must parse; `yaml` is for a CI service, and is not run.
- `c`, `cpp` and `cmake` must have the comment `<!-- excerpt: FILE -->`; ctest builds and runs docs/examples
  and examples/rt.
- `text`, or no language, is what a program prints, and may not begin with a command.
- `cells` is what a study's dry run shows (test_study_examples.py).

Nothing else is allowed. A comment right before a block changes that: `<!-- not run: REASON -->` leaves it
out, `<!-- excerpt: FILE -->` or `<!-- excerpt: FILE, from TEXT -->` holds it to the text of a file (`make
docs-tables` fills it in), `<!-- output -->` to what the block before it printed. A block with
`<!-- checkout -->` is for a copy of the sources, where test_how_to_core.py follows the page.

A how-to that names systems of the repository is also walked through by who has systems of their own, outside
the checkout (`as_own`). `<!-- own system: REASON -->` leaves a block to them alone.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import docs_tables
import pytest
from filled_page import excerpt
from killable_study import FAKE
from markdown_blocks import Block, blocks, pages

ROOT = Path(__file__).parents[3]
PAGES = [page.relative_to(ROOT).as_posix() for page in pages(ROOT)]
RINGS = {"docs/tutorial.md": "deep", "docs/reference/report.md": "deep"}
"""The ring that runs a page first, if it is not that of a submission."""
MEASURED = max((ROOT / "docs" / "results").glob("*-default"))
LANGUAGES = ("sh", "python", "toml", "json", "yaml", "c", "cpp", "cmake", "cells", "text")
SECONDS = 600
"""The longest that a block may take."""
LONG_HOW_TOS = ("docs/how-to/on-a-cluster.md", "docs/how-to/watch-a-runtime.md")
"""They measure studies. templates/test_ci.py does it with a system of a user's own in a submission, too."""
OWN = ["mine", "other"]
"""Systems of a user, in folders of these names."""
_MEASURES = re.compile(
    r"taskgrain (?:run|metg|faults|study|submit|compare(?=[^;\n]*--build [^;\n]*/driver))"
    r"(?![^;\n]*--systems )"
)
_COMMAND = re.compile(r"\A\s*(\$ |taskgrain |make |git |pip |cmake |\.venv/)")


class PageError(AssertionError):
    """An error in a block."""


def _run(command: list[str], folder: Path, text: str) -> str:
    bin_folder = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = dict(os.environ) | {"PATH": bin_folder, "COLUMNS": "120"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(text, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what bash has started, too
            raise PageError(f"takes more than {SECONDS} s") from None
    if process.returncode != 0:
        raise PageError(f"exit code {process.returncode}\n{out}{err}")
    return out


def _check(block: Block, folder: Path, before: str) -> str:
    """Runs or parses a block; returns what it printed, `before` being what the one before it did."""
    excerpt_of = block.comments.get("excerpt")
    if excerpt_of and block.text != excerpt(excerpt_of):
        raise PageError(f"is no excerpt of {excerpt_of}; `make docs-tables` fills it in")
    if "output" in block.comments and block.text.split() != before.split():
        raise PageError(f"is not what the block before it prints:\n{before}")
    if block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    if block.title:
        file = folder / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)
        return ""
    match block.language:
        case "sh":
            return _run(["bash", "-euo", "pipefail", "-s"], folder, block.text)
        case "python":
            return _run([sys.executable, "-"], folder, block.text)
        case "c" | "cpp" | "cmake":
            if not excerpt_of:
                raise PageError("no excerpt of a file of the repository")
        case "text" | "":
            if _COMMAND.search(block.text):
                raise PageError("is a command, but not of the language sh")
        case "toml" | "json" | "yaml" | "cells":
            pass
        case other:
            raise PageError(f"language '{other}' is not allowed; allowed: {', '.join(LANGUAGES)}")
    return ""


def run_page(text: str, folder: Path, own: bool = False) -> None:
    """Everything on a page, in order; `own`: by who has the systems `OWN` in the folder. Raises PageError
    with the line of the block that is wrong."""
    for name in ("studies", "docs", "examples", "templates"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    shutil.copytree(MEASURED, folder / "results" / "default")
    printed = ""
    for block in blocks(text):
        try:
            if "checkout" in block.comments:
                continue
            left_out = [one for one in ("not run", "own system") if one in block.comments]
            if any(not block.comments[one] for one in left_out):
                raise PageError(f"'{left_out[0]}' needs a reason")
            if "not run" in left_out or (left_out and not own):
                continue
            printed = _check(as_own(block) if own else block, folder, printed)
        except (PageError, ValueError, OSError) as error:
            raise PageError(f"line {block.line}: {error}") from error


@pytest.mark.parametrize(
    "page", [pytest.param(one, marks=getattr(pytest.mark, RINGS.get(one, "submission"))) for one in PAGES]
)
def test_page(page: str, tmp_path: Path) -> None:
    run_page((ROOT / page).read_text(), tmp_path)


def as_own(block: Block) -> Block:
    """The block as users with systems of their own write it: their names in the place of others, `--systems`
    where something is measured, and a short budget."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh" and not block.title:
        places = "".join(f" --systems {one}" for one in OWN)
        names = iter(OWN)
        text = re.sub(r"(?<=--system )\S+", lambda said: ",".join(OWN[: said[0].count(",") + 1]), text)
        text = re.sub(r"(?<=-default)@\w+", lambda _: f"@{next(names)}", text)
        text = re.sub(_MEASURES, rf"\g<0>{places}", text)
        text = text.replace(f"docs/results/{MEASURED.name}", "results/own")
        text = re.sub(r"(?<=--budget )\S+", "5", text)
    elif block.language == "toml":
        text = re.sub(r"^systems = .*", f"systems = {json.dumps(OWN)}", text, flags=re.MULTILINE)
    return replace(block, text=text)


def concerns_own(page: str) -> bool:
    """True if a page names systems of the repository in something that a reader can do here."""
    return any(
        re.search(r"--system (?!mine)|^systems = ", one.text, re.MULTILINE)
        for one in blocks((ROOT / page).read_text())
        if one.language in ("sh", "toml") and not {"not run", "checkout"} & one.comments.keys()
    )


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside of the checkout with two systems, two builds of one, and results of both."""
    folder = tmp_path_factory.mktemp("owned")
    for number, name in enumerate((*OWN, "old", "new", "driver/mine"), 1):
        (folder / name).mkdir(parents=True)
        shutil.copy(FAKE, folder / name / "driver")
        words = ["{python}", "{dir}/driver", f"{number}e-6", "0.02"]
        (folder / name / "system.toml").write_text(f"simulated = true\n[launch]\ncommand = {words}\n")
    shutil.copytree(ROOT / "templates" / "ci", folder / "ci")
    for name in ("own", "before", "after"):
        words = " ".join(f"--systems {one}" for one in OWN)
        words += f" --system {','.join(OWN)} --width 16 --min-rounds 2 --max-rounds 2 -q -o results/{name}"
        _run(["bash", "-eus"], folder, f"TASKGRAIN_REFERENCE={FAKE} taskgrain metg {words}")
    return folder


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(one, marks=getattr(pytest.mark, "deep" if one in LONG_HOW_TOS else "submission"))
        for one in PAGES
        if "how-to/" in one and concerns_own(one)
    ],
)
def test_a_how_to_serves_who_has_systems_of_their_own(
    page: str, owned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
    shutil.copytree(owned, tmp_path, dirs_exist_ok=True)
    run_page((ROOT / page).read_text(), tmp_path, own=True)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```sh\ntrue\nfalse\ntrue\n```", "line 1: exit code 1"),
        ("```sh\nfalse | cat\n```", "exit code 1"),
        ("a\n\n```python\nraise SystemExit(3)\n```", "line 3: exit code 3"),
        ("```\ntaskgrain doctor\n```", "is a command"),
        ("```text\n$ true\n```", "is a command"),
        ("```console\n$ true\n```", "language 'console' is not allowed"),
        ("<!-- not run -->\n```sh\nfalse\n```", "'not run' needs a reason"),
        ("<!-- own system -->\n```sh\nfalse\n```", "'own system' needs a reason"),
        ("<!-- not run: because -->\nWords in between.\n```sh\nfalse\n```", "exit code 1"),
        ('```toml title="a.toml"\na = \n```', "line 1: "),
        ("```json\n{'a': 1}\n```", "line 1: "),
        ("```cpp\nint main() {}\n```", "no excerpt of a file"),
        ("<!-- excerpt: no/such.hpp -->\n```cpp\n```", "'no/such.hpp' is not allowed"),
        ("<!-- excerpt: README.md -->\n```text\nno such words\n```", "no excerpt of README.md"),
        ("```sh\necho 1\n```\n<!-- output -->\n```text\n2\n```", "line 5: is not what"),
        ("1. a\n\n    ```sh\n    exit 4\n    ```", "exit code 4"),
        ("```sh\nfalse\n", "does not end"),
    ],
)
def test_a_bad_page_is_found_out(page: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises((PageError, ValueError), match=re.escape(complaint)):
        run_page(page, tmp_path)


def test_every_example_is_built_run_and_shown() -> None:
    shown = "".join((ROOT / page).read_text() for page in PAGES)
    for folder in ("docs/examples", "examples/rt"):
        lists = (ROOT / folder / "CMakeLists.txt").read_text()
        for file in (one for one in (ROOT / folder).iterdir() if one.is_file()):
            if file.suffix in (".c", ".cpp"):
                assert re.search(rf"\b{re.escape(file.stem)}\b", lists), f"{file.name} is not built"
            if file.name != "CMakeLists.txt":
                named = (f"<!-- excerpt: {folder}/{file.name} -->", f"`{folder}/{file.stem}.")
                assert any(one in shown for one in named), f"no page shows or names {file.name}"


def test_every_public_header_is_shown() -> None:
    """On the site; a page in the repository has a link to it."""
    shown = "".join(docs_tables.with_headers((ROOT / page).read_text()) for page in PAGES)
    include = ROOT / "include"
    headers = [file.relative_to(include).as_posix() for file in (include / "taskgrain").glob("*.h*")]
    runtime = [file.relative_to(include).as_posix() for file in (include / "taskgrain/rt").glob("*.hpp")]
    included = re.findall(r'#include "(taskgrain/rt/\w+\.hpp)"', (include / "taskgrain/rt.hpp").read_text())
    assert set(included) == set(runtime) - {"taskgrain/rt/mpi.hpp"}, "rt.hpp has all that need no MPI"
    headers += runtime  # and none of rt/detail
    for header in headers:
        assert f"\n{(include / header).read_text()}```\n" in shown, f"no page shows {header}"


def test_every_pattern_and_kernel_has_a_row() -> None:
    from taskgrain._core import kernels, patterns

    page = (ROOT / "docs/reference/patterns.md").read_text()
    for section, names in (("Patterns", patterns()), ("Kernels", kernels())):
        table = page.split(f"# {section}\n", 1)[1].split("\n## ", 1)[0]
        assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(names), section
    table = page.split("## Ramp, period and bound\n", 1)[1].split("\n## ", 1)[0]
    named = " ".join(re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE))
    assert sorted(re.findall(r"`(\w+)`", named)) == sorted(patterns())


def test_the_graph_of_the_protocol_is_the_default() -> None:
    """The complete GRAPH on the page of the protocol is accepted, and says the same as its shortest form."""
    from taskgrain._core import Run, fields

    page = blocks((ROOT / "docs/reference/protocol.md").read_text())
    (graph,) = [json.loads(one.text) for one in page if one.language == "json"]
    flat = {key: value for key, value in graph.items() if key != "kernel"}
    flat |= {"kernel" if key == "name" else key: value for key, value in graph["kernel"].items()}
    assert flat == {one["name"]: one["default"] for one in fields()}
    short = {key: graph[key] for key in ("pattern", "steps", "width")}
    for shape in (graph, short):
        run = Run(json.dumps({"op": "run", "graphs": [shape]}))
        assert (run.steps(), run.width(), run.output_bytes()) == (1000, 4, graph["output_bytes"])


def test_targets_of_make_exist() -> None:
    lines = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = set(" ".join(lines).split())
    for page in PAGES:
        named = re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", (ROOT / page).read_text(), re.MULTILINE)
        assert set(named) <= targets, page


def test_links_of_the_readme_lead_somewhere() -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert links
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


@pytest.mark.slow
def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    """`--strict` finds links and anchors that lead nowhere, and pages that are not in the navigation."""
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    elsewhere = r"""["']?(?:https?:)?//"""
    loaded = re.compile(rf"<(?:script|img|iframe)[^>]*\ssrc={elsewhere}|<link[^>]*\shref={elsewhere}")
    built = list(site.rglob("*.html"))
    assert len(built) > len(PAGES) - 2
    for page in built:
        assert not loaded.search(page.read_text()), page.name
    cli = (site / "reference" / "cli.html").read_text()
    for name in ("doctor", "metg", "study", "graph", "report", "export"):
        assert f'<h2 id="{name}">' in cli
    assert "--output-bytes" in cli and "--min-rounds" in cli
    assert "tg_execute_point" in (site / "reference" / "c-api.html").read_text()
    assert "resamples" in (site / "reference" / "python-api.html").read_text()
