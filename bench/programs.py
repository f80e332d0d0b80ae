"""Programs against one another: their times with intervals, ratios, and plots.

    python bench/programs.py gemm FOLDER [--rounds 5] [--systems "taskgrain, 3D;StarPU"] [--sizes 512,1024]

It builds the programs of a suite (bench/suites.py), runs all systems in turn, and prints a table for each
question. FOLDER gets every line that the programs print, a picture for each table, and what programs that
failed have said. The order turns round every round; of each round the repeat of the median time counts. Times
and ratios are those of `taskgrain.estimate` over the rounds, with 95 % intervals. Ctrl-C shows what there is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arguments import count, names
from rich.console import Console
from suites import SUITES, Entry, Suite, Table

from taskgrain.cli.printer import Printer, printer
from taskgrain.drive.process_tree import spawn
from taskgrain.estimate.ratio import Ratio, ratio
from taskgrain.estimate.sample import Sample
from taskgrain.words.quantity import interval, ratio_interval

Line = dict[str, Any]
Command = tuple[str, ...]
Rounds = dict[int, Line]
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {
    # Ranks may share cores with what else runs there, and containers have no other user than root.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OPENBLAS_NUM_THREADS": "1",  # or it starts threads before a program says how many it wants
}
MOST_ERROR = 1e-13
"""The most error for each row of a matrix."""
LOOK_SECONDS = 0.5
"""An interrupt that comes just before a wait begins does not end it, and is seen at its end."""


class Refused(Exception):
    """A program cannot do this; it says why."""


class Failed(Exception):
    """A program crashed, took too long, or computed something wrong."""


def run(command: Command, seconds: float) -> list[Line]:
    """The lines of JSON that a program prints; all its processes end with it, or after so many seconds."""
    tree = spawn(command, os.environ | ENVIRONMENT)
    try:
        end = time.monotonic() + seconds
        while True:
            try:
                output, said = (
                    text.decode(errors="replace") for text in tree.process.communicate(None, LOOK_SECONDS)
                )
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    raise Failed(f"it did not end within {seconds:g} s") from None
    finally:
        code = tree.kill()
    if code == 2:
        why = next((line for line in said.splitlines() if "is not allowed" in line), said.strip())
        raise Refused(why.split(": ", 1)[-1])
    if code != 0:
        raise Failed(f"exit code {code}\n{output}\n{said}")
    try:
        lines: list[Line] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    except json.JSONDecodeError:
        raise Failed(f"it prints no JSON\n{output}") from None
    for line in lines:
        wrong, most = line.get("error"), line.get("allowed", MOST_ERROR * line.get("size", 0))
        if wrong is not None and not wrong <= most:
            raise Failed(f"its result is wrong: error {wrong:g}, allowed {most:g}")
    if not lines:
        raise Failed(f"it prints nothing\n{said}")
    return lines


@dataclass
class Measured:
    """The results so far."""

    lines: dict[Command, dict[int, list[Line]]] = field(default_factory=dict)
    """The lines of each round, by its number."""
    refused: dict[Command, str] = field(default_factory=dict)
    failed: dict[Command, str] = field(default_factory=dict)
    interrupted: bool = False

    def rounds(self, entry: Entry) -> Rounds:
        """The repeat of the median time of each round; the first repeat warms up."""
        found: Rounds = {}
        for number, lines in self.lines.get(entry.command, {}).items():
            own = [line for line in lines if entry.where.items() <= line.items()]
            repeats = sorted(own[1:] or own, key=lambda line: float(line["seconds"]))
            if repeats:
                found[number] = repeats[(len(repeats) - 1) // 2]
        return found


def measure(
    titles: dict[Command, str],
    rounds: int,
    seconds: float,
    keep: Callable[[Line], None],
    tell: Callable[[str], None],
) -> Measured:
    """Every round runs every command once, and turns the order round. What fails is not run again."""
    found = Measured()
    try:
        for number in range(rounds):
            for position, command in enumerate(titles if number % 2 == 0 else reversed(titles)):
                if command in found.refused or command in found.failed:
                    continue
                tell(f"round {number + 1} of {rounds}, {position + 1} of {len(titles)}: {titles[command]}")
                try:
                    lines = run(command, seconds)
                except Refused as error:
                    found.refused[command] = str(error)
                except Failed as error:
                    found.failed[command] = str(error)
                else:
                    for line in lines:
                        keep({"title": titles[command], "round": number, **line})
                    found.lines.setdefault(command, {})[number] = lines
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def compared(rounds: Rounds, others: Rounds | None = None) -> Ratio:
    """Times over those of the same rounds of others, or in seconds."""

    def rates(of: Rounds) -> list[Sample]:
        return [Sample(1, number, line["seconds"], 1.0, 1, 1, 1.0) for number, line in of.items()]

    against = rates(others) if others is not None else rates({number: {"seconds": 1.0} for number in rounds})
    return ratio(against, rates(rounds), quantity="rate", iterations=1)


def show(out: Printer, suite: Suite, table: Table, found: Measured, baseline: str) -> None:
    """A row for each system at each place, with its ratio to the baseline there."""
    rows = []
    bases = {(one.panel, one.x): found.rounds(one) for one in table.entries if one.system == baseline}
    before: tuple[str, float] | None = None
    for entry in table.entries:
        here = entry.panel, entry.x
        place = ["", ""] if here == before else [entry.panel, f"{entry.x:.10g}"]
        before = here
        if rounds := found.rounds(entry):
            taken, base = compared(rounds), bases.get(here)
            against = compared(rounds, base) if base and entry.system != baseline else None
            also = median(rounds, suite.also)
            shown = [interval(taken), also]
            shown += [ratio_interval(against) if against else ""]
        else:
            shown = ["refused" if entry.command in found.refused else "–", "", ""]
        rows.append([*place, entry.system, *shown])
    out.text(f"{table.title}", "bold")
    out.table(["", table.across, "", "time", suite.also, f"time / {baseline}"], rows, texts=3)


def median(rounds: Rounds, name: str) -> str:
    """The median of a field that the programs print beside the time."""
    values = sorted(line[name] for line in rounds.values() if name in line)
    return f"{values[len(values) // 2]:.3g}" if values else ""


def plot(table: Table, found: Measured, path: Path) -> None:
    """A line for each system in each panel."""
    import altair as alt

    from taskgrain.report import look

    entries = [one for one in table.entries if one.x > 0 or not table.logarithmic]
    rows = []
    for entry in entries:
        taken = compared(found.rounds(entry))
        if taken.value is not None:
            ends = taken.value, taken.low or taken.value, taken.high or taken.value
            times = {name: 1e3 * end for name, end in zip(("ms", "low", "high"), ends, strict=True)}
            rows.append({"panel": entry.panel, "x": entry.x, "system": entry.system, **times})
    titles, panels = (
        list(dict.fromkeys(names)) for names in zip(*((e.system, e.panel) for e in entries), strict=True)
    )
    scale = alt.Scale(type="log" if table.logarithmic else "linear", zero=False, nice=False, padding=12)
    axis = alt.Axis(values=sorted({entry.x for entry in entries}), format="~s", grid=False)
    colours = alt.Scale(domain=titles, range=list(look.PAPER.palette[: len(titles)]))
    colour = alt.Color("system:N", title=None, scale=colours)
    shape = alt.Shape("system:N", title=None, scale=alt.Scale(domain=titles))
    y = alt.Y("ms:Q", scale=alt.Scale(type="log", nice=False, padding=12))
    base = alt.Chart().encode(x=alt.X("x:Q", title=table.across, scale=scale, axis=axis), color=colour)
    layers = [
        base.mark_line(strokeWidth=1).encode(y=y),
        base.mark_rule(opacity=0.6).encode(y=alt.Y("low:Q", title="ms"), y2="high:Q"),
        base.mark_point(filled=True, size=18).encode(y=y, shape=shape),
    ]
    chart = alt.layer(*layers).properties(width=220, height=180)
    facet = chart.facet(column=alt.Column("panel:N", title=None, sort=panels), data={"values": rows})
    facet.properties(title=table.title).configure(font=look.PAPER.font).save(path)


def tell_failures(out: Printer, found: Measured, titles: dict[Command, str], log: Path) -> None:
    """Tells what was not measured, and why; the programs' own words go to the log."""
    for (system, why), times in Counter((titles[one], why) for one, why in found.refused.items()).items():
        out.text(f"NOT MEASURED: {system} ({times} of its points): {why}")
    said = (f"== {' '.join(command)}\n{why}\n" for command, why in found.failed.items())
    log.write_text("".join(said), encoding="utf-8")
    for command, why in found.failed.items():
        out.text(f"FAILED: {titles[command]}: {' '.join(command)}: {why.splitlines()[0]} ({log})")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    suites = parser.add_subparsers(dest="suite", required=True)
    for name, suite in SUITES.items():
        one = suites.add_parser(name, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        one.add_argument("folder", type=Path, help="for the results")
        systems, text = list(suite.systems), "with semicolons; ratios are to the first"
        one.add_argument("--systems", type=names(systems, ";"), default=systems, help=text)
        one.add_argument("--rounds", type=count, default=5)
        one.add_argument("--repeats", type=count, default=2, help="in a round, after one to warm up")
        one.add_argument("--cores", type=count, default=len(os.sched_getaffinity(0)))
        one.add_argument("--timeout", type=count, default=120, help="seconds for one run")
        one.add_argument("--tables-only", action="store_true", help="no pictures, so no altair")
        one.add_argument("--build", type=Path, help="the build folder, if all is built already")
        for name, flag in suite.flags.items():
            one.add_argument(f"--{name}", type=flag.read, default=flag.default, help="with commas")
    return parser.parse_args(words)


def build(suite: Suite) -> None:
    for words in (["--preset", suite.preset], ["--build", "--preset", suite.target]):
        done = subprocess.run(["cmake", *words], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cmake {' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")


def refused(why: str) -> int:
    print(why, file=sys.stderr)
    return 2


def main(words: list[str]) -> int:
    options = parse(words)
    suite, out = SUITES[options.suite], printer()
    if options.cores > (there := len(os.sched_getaffinity(0))):
        said = f"allowed: 1 to {there}, what this process may use"
        return refused(f"--cores: {options.cores} is not allowed; {said}")
    own, options.build = options.build, options.build or ROOT / "build" / suite.preset
    try:
        tables = suite.tables(options)
    except ValueError as error:
        return refused(str(error))
    lines_file = options.folder / f"{options.suite}.jsonl"
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return refused(f"folder: {options.folder}: cannot be made: {error.strerror}")
    if lines_file.exists():
        return refused(f"folder: {options.folder} has results of {options.suite}; give another")
    if not own:
        build(suite)
    titles: dict[Command, str] = {}
    absent: dict[str, str] = {}
    for entry in (one for table in tables for one in table.entries):
        programs = [Path(word) for word in entry.command if word.startswith(str(options.build))]
        if missing := [one for one in programs if not one.exists()]:
            absent[entry.system] = f"there is no {missing[0].name}; apps/README.md says what it needs"
        else:
            titles.setdefault(entry.command, entry.system)
    for system, why in absent.items():
        out.text(f"NOT MEASURED: {system}: {why}")
    if not titles:
        return 1
    with (
        lines_file.open("w", encoding="utf-8") as lines,
        Console(stderr=True).status("") as status,
    ):

        def keep(line: Line) -> None:
            lines.write(json.dumps(line) + "\n")
            lines.flush()

        found = measure(titles, options.rounds, options.timeout, keep, status.update)
    baseline = next(one for one in options.systems if one not in absent)
    for table in tables:
        shown = table._replace(entries=[one for one in table.entries if one.system not in absent])
        show(out, suite, shown, found, baseline)
        if not options.tables_only and any(map(found.rounds, shown.entries)):
            picture = options.folder / f"{options.suite}-{table.name}.svg"
            plot(shown, found, picture)
            out.text(f"{picture}\n")
    tell_failures(out, found, titles, options.folder / f"{options.suite}.log")
    if found.interrupted:
        out.text("interrupted: this is what was measured until then")
    return 130 if found.interrupted else 1 if found.failed or not found.lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
