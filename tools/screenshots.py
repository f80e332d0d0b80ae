"""Takes the pictures of docs/reference/report.md, of the results in docs/results: `make screenshots`."""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

from taskgrain.answers import data
from taskgrain.report.figures import save
from taskgrain.report.page import write

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "2026-11-27-default"
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests" / "python"))
import chromium  # noqa: E402

ASK = "document.getElementById('task').value = '20 us'; document.forms[0].requestSubmit()"
CHOOSE = "document.querySelectorAll('#matrix td a')[5].click()"
SHOTS = (
    # name, width, height, colours, what to do first, where to begin
    ("report-desktop", 1100, 900, "light", "", "body"),
    ("report-task", 1100, 560, "light", ASK, "#long-enough"),
    ("report-dark", 1280, 900, "dark", CHOOSE, "#metg"),
    ("report-phone", 390, 1000, "light", "", "body"),
)
"""Sizes in pixels."""
FIGURES = ("metg.svg", "efficiency-stencil_1d-width=16.svg")


def shoot(browser: webdriver.Chrome, report: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    for name, width, height, scheme, script, place in SHOTS:
        chromium.show(browser, report.as_uri(), width, scheme)
        browser.execute_script(script)
        # The charts take a moment to follow; a second frame comes after what the first one drew.
        browser.execute_async_script(
            "const done = arguments[0]; setTimeout(() => requestAnimationFrame(done), 700)"
        )
        top = browser.execute_script(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "scrollTo(0, box.top + scrollY - 8); return scrollY",
            place,
        )
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.execute_script("scrollTo(0, arguments[0])", top)
        picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"optimizeForSpeed": False})
        (IMAGES / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = write(data.read(RESULTS), Path(folder) / "report.html")
        browser = chromium.start(Path(folder) / "profile")
        try:
            shoot(browser, report)
        finally:
            browser.quit()
        save(data.read(RESULTS), Path(folder) / "figures", ["svg"])
        for name in FIGURES:
            (IMAGES / name).write_bytes((Path(folder) / "figures" / name).read_bytes())
    for image in sorted(IMAGES.iterdir()):
        print(f"{image.relative_to(ROOT)}  {image.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
