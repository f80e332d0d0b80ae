"""The pages that add something to the core, followed step by step in a copy of the sources.

A block of such a page with the comment `checkout` changes or uses the copy:

- `<!-- checkout: FILE, above TEXT -->` is put above the line of FILE that begins with TEXT;
- `<!-- checkout: FILE, at the end of TEXT -->` is put at the end of the table that begins with that line;
- `<!-- checkout -->`, before a block of `sh`, is run there.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_blocks import Block, blocks, pages

pytestmark = [pytest.mark.deep, pytest.mark.timeout(3600)]  # without ccache, all of the core is compiled
ROOT = Path(__file__).parents[3]
PAGES = {
    page.stem: page.read_text()
    for page in pages(ROOT)
    if any("checkout" in one.comments for one in blocks(page.read_text()))
}
SECONDS = 3000
"""The longest that a block may take."""
_PLACE = re.compile(r"^(?P<file>[^,]+), (?P<where>above|at the end of) (?P<text>.+)$")


class PageError(AssertionError):
    """An error in a page."""


def _put(copy: Path, place: str, text: str) -> Path:
    """Puts the text where the page says; returns the file."""
    said = _PLACE.match(place)
    if said is None:
        raise PageError(f"'{place}' is no place in a file")
    file = copy / said["file"]
    lines = file.read_text().splitlines(keepends=True)
    found = [k for k, line in enumerate(lines) if line.strip().startswith(said["text"])]
    if len(found) != 1:
        raise PageError(f"{len(found)} lines of {said['file']} begin with '{said['text']}'")
    at = found[0] if said["where"] == "above" else lines.index("};\n", found[0])
    lines.insert(at, text)
    file.write_text("".join(lines))
    return file


def _run(copy: Path, text: str) -> None:
    environment = dict(os.environ) | {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1)}
    if shutil.which("ccache"):
        launchers = ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")
        environment |= dict.fromkeys(launchers, "ccache")
        environment |= {"CCACHE_BASEDIR": str(copy), "CCACHE_NOHASHDIR": "1"}  # copies share what is compiled
    # `timeout` ends what bash has started, too.
    command = ["timeout", str(SECONDS), "bash", "-euo", "pipefail", "-s"]
    done = subprocess.run(
        command, input=text, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or "Running 0 tests" in done.stdout:
        raise PageError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")


def follow(page: str, copy: Path) -> None:
    """Does all that the page says in the copy, and takes it back."""
    changed: set[Path] = set()

    def step(block: Block) -> None:
        if place := block.comments["checkout"]:
            changed.add(_put(copy, place, block.text))
        else:
            _run(copy, block.text)

    try:
        for block in blocks(page):
            if "checkout" in block.comments:
                try:
                    step(block)
                except PageError as error:
                    raise PageError(f"line {block.line}: {error}") from error
    finally:
        for file in changed:  # with a new time, so that it is compiled again
            shutil.copyfile(ROOT / file.relative_to(copy), file)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All that CMake reads; the pages share what they build there."""
    folder = tmp_path_factory.mktemp("copy") / "taskgrain"
    ignored = shutil.ignore_patterns(".*", "build", "results", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=ignored)
    yield folder
    shutil.rmtree(folder)


def test_there_are_pages() -> None:
    assert {"add-a-field", "add-a-kernel", "add-a-pattern"} <= PAGES.keys()


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, copy: Path) -> None:
    assert any(one.language == "sh" and "checkout" in one.comments for one in blocks(PAGES[page]))
    follow(PAGES[page], copy)


@pytest.mark.parametrize(
    ("page", "right", "wrong", "complaint"),
    [
        ("add-a-pattern", "several<2, ring_reverse>", "several<2, ring>", "ReverseIsExactlyTheReverse"),
        ("add-a-kernel", ".run = memory_triad", ".run = triad", "triad"),
        ("add-a-kernel", "--kernel memory_triad", "--kernel triad", "'triad' is not allowed"),
        ("add-a-kernel", "above constexpr std::size_t mebibyte", "above constexpr", "begin with 'constexpr'"),
    ],
)
def test_a_wrong_page_is_found_out(page: str, right: str, wrong: str, complaint: str, copy: Path) -> None:
    assert right in PAGES[page]
    with pytest.raises(PageError, match=re.escape(complaint)):
        follow(PAGES[page].replace(right, wrong), copy)
