"""Files with task graphs, of several formats, which are told by what they begin with."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

from taskgrain.graphs.dot import read_dot
from taskgrain.graphs.task_graph import TaskGraph, made
from taskgrain.words.errors import InputError

FORMATS = ("WfCommons", "DOT", "Standard Task Graph", "StarPU tasks.rec")
_MOST_BYTES = 1 << 30


def read(path: Path) -> TaskGraph:
    """The graph of a file in one of `FORMATS`. Raises `InputError`, which names the file and what is
    wrong."""
    try:
        if not path.is_file():
            raise InputError("--from", str(path), "a readable file")
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("--from", str(path), f"a file of at most {_MOST_BYTES >> 30} GiB")
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError("--from", str(path), f"a readable file ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError("--from", f"{path}, byte {error.start}", "a text in UTF-8") from error
    try:
        graph = _reader(text)(text)
        _ = graph.order  # there is no cycle
    except RecursionError as error:
        raise InputError(f"--from {path}, subgraphs", "so many", "fewer within each other") from error
    except InputError as error:
        raise InputError(f"--from {path}, {error.field}", error.value, error.allowed) from error
    return graph


def _reader(text: str) -> Callable[[str], TaskGraph]:
    begin = _COMMENTS.match(text)
    rest = text[begin.end() if begin else 0 :][:200]
    if rest.startswith("{"):
        return _wfcommons
    if re.match(r"(strict\s+)?(di)?graph\b", rest, re.IGNORECASE):
        return read_dot
    if re.match(r"\d+\s", rest):
        return _standard_task_graph
    if re.match(r"(%rec|[A-Za-z]+:)", rest):
        return _tasks_rec
    raise InputError("format", rest[:40].partition("\n")[0], f"a file of one of {', '.join(FORMATS)}")


_WHOLE = re.compile(r"[0-9]{1,18}")
_COMMENTS = re.compile(r"(\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)


def _duration(value: object, task: str) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise InputError(f"duration of {task}", value, "a number from 0 on")
    return found


def _wfcommons(text: str) -> TaskGraph:
    """An instance of WfFormat, 1.4 or 1.5 and later (https://github.com/wfcommons/WfFormat): the later ones
    have the tasks' times in a list of their own."""
    try:
        file = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError("JSON", str(error), "an instance of WfCommons") from error
    if "steps" in file:
        raise InputError("JSON", "steps", "a program's graph; --dag reads one that is in steps already")
    try:
        workflow = file["workflow"]
        tasks = workflow["specification"]["tasks"] if "specification" in workflow else workflow["tasks"]
        times = workflow.get("execution", {}).get("tasks", tasks)
        ran = {str(one["id"]): one.get("runtimeInSeconds") for one in times if "id" in one}
        durations: dict[str, float | None] = {}
        before = []
        for task in tasks:
            name = str(task["id"] if "id" in task else task["name"])
            if name in durations:
                raise InputError("task", name, "an id that no other task has")
            took = ran.get(name, task.get("runtimeInSeconds"))
            durations[name] = None if took is None else _duration(took, name)
            before += [(name, str(other)) for other in task.get("parents", ())]
            before += [(str(other), name) for other in task.get("children", ())]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            "workflow",
            repr(error),
            "workflow.specification.tasks, or workflow.tasks, each with id and parents",
        ) from error
    return made(f"WfCommons {file.get('schemaVersion', '')}".strip(), durations, before, "s")


def _standard_task_graph(text: str) -> TaskGraph:
    """A file of the Standard Task Graph Set (https://www.kasahara.cs.waseda.ac.jp/schedule/format_e.html),
    without its two dummy tasks if they take no time; in units of time."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    durations: dict[str, float | None] = {}
    before = []
    for number, words in enumerate(lines[1:], 2):
        where = f"line {number}"
        if not all(map(_WHOLE.fullmatch, words)) or len(words) < 3:
            raise InputError(
                where, " ".join(words), "a task, its time, the number of tasks before it, and these"
            )
        name, time, count, *others = words
        if len(others) != int(count):
            raise InputError(where, f"{len(others)} tasks", f"{count} tasks before task {name}")
        if name in durations:
            raise InputError(where, name, "a task that no other line has")
        durations[name] = _duration(time, name)
        before += [(name, other) for other in others]
    if not _WHOLE.fullmatch(lines[0][0]):
        raise InputError("line 1", lines[0][0], "the number of tasks")
    said = int(lines[0][0])
    if len(durations) not in (said, said + 1, said + 2):
        raise InputError("tasks", len(durations), f"{said}, as the first line says, and two without time")
    dummies = {one for one in (next(iter(durations)), next(reversed(durations))) if durations[one] == 0}
    if len(durations) == said + len(dummies):
        before = [pair for pair in before if not dummies & {*pair}]
        durations = {name: one for name, one in durations.items() if name not in dummies}
    return made("Standard Task Graph", durations, before)


def _tasks_rec(text: str) -> TaskGraph:
    """The tasks.rec that StarPU's starpu_fxt_tool writes: records of lines `Name: value`, times in
    milliseconds."""
    durations: dict[str, float | None] = {}
    before = []
    for block in re.split(r"\n\s*\n", text):
        record = dict(re.findall(r"^(\w+):[ \t]*(.*?)[ \t]*$", block, re.MULTILINE))
        if "JobId" not in record:
            continue  # a description of records, or a task of StarPU's own
        name = record["JobId"]
        if name in durations:
            raise InputError("JobId", name, "a number that no other task has")
        durations[name] = None
        if {"StartTime", "EndTime"} <= record.keys():
            start, end = (_duration(record[one], name) for one in ("StartTime", "EndTime"))
            durations[name] = _duration((end - start) / 1e3, name)
        before += [(name, other) for other in record.get("DependsOn", "").split()]
    return made("StarPU tasks.rec", durations, [pair for pair in before if pair[1] in durations], "s")
