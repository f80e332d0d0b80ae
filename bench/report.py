"""How long a report of 10^4 runs takes to write, and to open in headless Chromium, and its size.

    python bench/report.py [OPENINGS]

The times of an opening are from the navigation to tables that can be used, and to the last chart drawn. The
runs are synthetic: 32 systems on 4 patterns, and 20 systems on 8.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from taskgrain.answers import data
from taskgrain.report import embed
from taskgrain.report.page import write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))
import chromium
import results_folder

STUDIES: tuple[tuple[int, int, int], ...] = ((32, 4, 9), (20, 8, 7))
"""Systems, patterns, rounds."""


def openings(report: Path, profile: Path, count: int) -> list[tuple[float, float]]:
    """Seconds of each opening to tables and to charts, one after another in the same browser."""
    browser = chromium.start(profile)
    marks = "return ['usable', 'drawn'].map(one => performance.getEntriesByName(one)[0].startTime)"
    try:
        found = []
        for _ in range(count):
            chromium.show(browser, report.as_uri())
            usable, drawn = browser.execute_script(marks)
            found.append((usable / 1e3, drawn / 1e3))
        return found
    finally:
        browser.quit()


def measure(place: Path, systems: int, patterns: int, rounds: int, count: int) -> None:
    """Prints the numbers of one study."""
    names = [*results_folder.SYSTEMS, *(f"system_{number}" for number in range(systems))][:systems]
    folder = results_folder.big(place, names, results_folder.PATTERNS[:patterns], rounds=rounds, repeats=3)
    runs = (folder / "runs.jsonl").read_text("utf-8").count('"kind": "run"')
    embed.libraries()  # built once in each process
    start = time.perf_counter()
    report = write(data.read(folder))
    written = time.perf_counter() - start
    times = openings(report, folder / "profile", count)
    size = report.stat().st_size / 1e6
    print(f"{systems} systems on {patterns} patterns, {runs} runs: {size:.1f} MB, written in {written:.1f} s")
    for what, each in zip(("tables", "charts"), zip(*times, strict=True), strict=True):
        span = f"median of {count}, {min(each):.2f} to {max(each):.2f}"
        print(f"  {what}: {statistics.median(each):.2f} s ({span})")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    if chromium.BINARY is None or chromium.DRIVER is None:
        print("the report's opening: needs chromium and chromedriver")
        return
    for study in STUDIES:
        with tempfile.TemporaryDirectory() as place:
            measure(Path(place), *study, count)


if __name__ == "__main__":
    main()
