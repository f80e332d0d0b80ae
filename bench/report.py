"""How long a report of 10^4 runs takes to open in headless Chromium, and its size.

    python bench/report.py [OPENINGS]

The time is from the navigation to the last chart drawn. The runs are synthetic: 20 systems on 8 patterns.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from taskgrain.report import data
from taskgrain.report.write import write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))
import chromium
import results_folder


def openings(report: Path, profile: Path, count: int) -> list[float]:
    """Seconds of each opening, one after another in the same browser."""
    browser = chromium.start(profile)
    try:
        found = []
        for _ in range(count):
            chromium.show(browser, report.as_uri())
            mark = browser.execute_script("return performance.getEntriesByName('drawn')[0].startTime")
            found.append(mark / 1e3)
        return found
    finally:
        browser.quit()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    if chromium.BINARY is None or chromium.DRIVER is None:
        print("the report's opening: needs chromium and chromedriver")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = results_folder.big(Path(place), rounds=7, repeats=3)
        runs = (folder / "runs.jsonl").read_text("utf-8").count('"kind": "run"')
        report = write(data.read(folder))
        times = openings(report, folder / "profile", count)
        size = report.stat().st_size / 1e6
    drawn = f"{statistics.median(times):.2f} s (median of {count}, {min(times):.2f} to {max(times):.2f})"
    print(f"a report of {runs} runs, {size:.1f} MB: drawn after {drawn}")


if __name__ == "__main__":
    main()
