"""Files with task graphs, of several formats, told apart by their first characters."""

from __future__ import annotations

import gc
import gzip
import json
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from taskgrain.graphs import graph_file, rt_trace, traces
from taskgrain.graphs.dot import read_dot
from taskgrain.graphs.reading import Entry, decoded, wrong_at
from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError
from taskgrain.words.quantity import counted

FORMATS = (
    "WfCommons",
    "DOT",
    "Standard Task Graph",
    "StarPU tasks.rec",
    traces.CHAKRA,
    rt_trace.FORMAT,
    traces.RAY,
    traces.DASK,
    graph_file.FORMAT,
)
_MOST_BYTES, _AT_ONCE = 1 << 30, 1 << 20


def read(path: Path, option: str = "--from") -> TaskGraph:
    """The graph of a file in one of `FORMATS`. Raises `InputError` with the option, the file and the
    error."""
    try:
        return _read(path, option)
    except MemoryError:
        allowed = "a smaller file: it needs more memory than there is"
        raise InputError(option, str(path), allowed) from None


def _read(path: Path, option: str) -> TaskGraph:
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            data = bytearray()  # a read of the most that may be would take as much memory
            while len(data) <= _MOST_BYTES and (part := stream.read(_AT_ONCE)):
                data += part
        if len(data) > _MOST_BYTES:
            raise InputError(option, str(path), f"a file of at most {_MOST_BYTES >> 30} GiB")
        text = data.decode("utf-8-sig")
        del data  # there may be no room for both
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(option, str(path), "a whole file of gzip, or one that is not compressed") from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise InputError(option, f"{path}, byte {error.start}", "a text in UTF-8") from error
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(option, str(path), f"a readable file ({why})") from error
    collects = gc.isenabled()
    gc.disable()  # it would look at millions of lists again and again
    try:
        graph = _reader(text)(text)
        graph = replace(graph, names=_shown(graph.names), labels=_shown(graph.labels))
        _ = graph.order  # there is no cycle
    except RecursionError as error:
        raise InputError(f"{option} {path}, subgraphs", "so many", "fewer within each other") from error
    except InputError as error:
        field = error.field if error.field.isprintable() else repr(error.field)
        value = error.value if isinstance(error.value, str) else json.dumps(error.value, default=repr)
        raise InputError(f"{option} {path}, {field}", value, error.allowed) from error
    finally:
        if collects:
            gc.enable()
    return graph


def _shown(names: Sequence[str]) -> Sequence[str]:
    """The names, with a space for each character that no terminal and no drawing shows."""
    if "".join(names).isprintable():
        return names
    return tuple("".join(c if c.isprintable() else " " for c in name) for name in names)


def _reader(text: str) -> Callable[[str], TaskGraph]:
    begin = _COMMENTS.match(text)
    rest = text[begin.end() if begin else 0 :][:200]
    if graph_file.BEGIN.match(rest):
        return graph_file.read
    if rest.startswith(("{", "[")):
        return _json
    if re.match(r"(strict\s+)?(di)?graph\b", rest, re.IGNORECASE):
        return read_dot
    if re.match(r"\d+\s", rest):
        return _standard_task_graph
    if re.search(r"^JobId:", text, re.MULTILINE):
        return _tasks_rec
    raise InputError("format", rest[:40].partition("\n")[0], f"a file of one of {', '.join(FORMATS)}")


_WHOLE = re.compile(r"[0-9]{1,18}")
_COMMENTS = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/|#[^\n]*+)*+", re.DOTALL)
"""Possessive: else it keeps 150 bytes for each blank."""


def _json(text: str) -> TaskGraph:
    """One object is an instance of WfCommons or a trace of events, several are a trace of Chakra, and a list
    is a timeline."""
    first, at = decoded(text, 0)
    if traces.is_chakra(first, text.startswith("{", at)):
        return traces.read_chakra(text)
    if at < len(text):
        raise wrong_at(text, at, "nothing after the JSON")
    if isinstance(first, list):
        return traces.read_timeline(first)
    return rt_trace.read_trace(first) if "traceEvents" in first else _wfcommons(Entry("JSON", first))


def _wfcommons(file: Entry) -> TaskGraph:
    """An instance of WfFormat (https://github.com/wfcommons/WfFormat). From 1.5 on, the times and cores of
    tasks are in a list of their own; earlier, tasks are referred to by their names, too."""
    if "steps" in file.fields:
        raise InputError("JSON", "steps", "a program's graph; --dag reads one that is in steps already")
    workflow = file.entry("workflow")
    described = workflow.entry("specification") if "specification" in workflow.fields else workflow
    tasks = described.entries("tasks", "jobs")
    if not tasks:
        allowed = "workflow.specification.tasks or workflow.tasks, each with an id or a name"
        raise InputError("JSON", [*file.fields], allowed)
    ran = {one.text("id"): one.fields for one in workflow.entry("execution").entries("tasks")}
    named = [(one.text("name"), one.text("id", "name")) for one in tasks if one.get("name") is not None]
    ids = dict(named)
    shared = {name for name, number in named if ids[name] != number}
    sizes = {one.text("id"): one.known("sizeInBytes") for one in described.entries("files")}
    durations: dict[str, float | None] = {}
    cores: dict[str, float] = {}
    labels: dict[str, str] = {}
    outputs: dict[str, float | None] = {}
    before = []
    for task in tasks:
        name = task.text("id", "name")
        if name in durations:
            raise InputError(task.place, name, "an id that no other task has")
        facts = Entry(f"task {name}", {**task.fields, **ran.get(name, {})})
        labels[name] = facts.text(*(("category",) if facts.get("category") else ()), "name", "id")
        durations[name] = facts.known("runtimeInSeconds", "runtime")
        cores[name] = facts.known("coreCount", "cores") or 1.0
        files = [one for one in facts.entries("files") if one.get("link") == "output"]
        written = [one.known("sizeInBytes", "size") for one in files]
        written += [sizes.get(one) for one in facts.texts("outputFiles")]
        known = [one for one in written if one is not None]
        if known and len(known) == len(written):  # a part of the outputs is not how large they are
            outputs[name] = sum(known)
        before += [(name, other) for other in facts.texts("parents")]
        before += [(other, name) for other in facts.texts("children")]
    version = file.get("schemaVersion")
    kind = f"WfCommons {version}" if re.fullmatch(r"[\d.]{1,9}", str(version), re.ASCII) else "WfCommons"
    ids |= {name: name for name in durations}
    shared -= durations.keys()
    for name, other in before if shared else ():
        if wrong := shared & {name, other}:
            raise InputError(f"{other} → {name}", wrong.pop(), "an id, as several tasks have this name")
    pairs = [(ids.get(one, one), ids.get(other, other)) for one, other in before]
    return made(kind, durations, pairs, "s", cores, labels, outputs=outputs)


def _standard_task_graph(text: str) -> TaskGraph:
    """A file of the Standard Task Graph Set (https://www.kasahara.cs.waseda.ac.jp/schedule/format_e.html),
    without its two dummy tasks if they take no time; in units of time."""
    numbered = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    (first, (begin, *_)), *lines = [(n, words) for n, words in numbered if words and words[0][0] != "#"]
    if not _WHOLE.fullmatch(begin):
        raise InputError(f"line {first}", begin, "the number of tasks")
    said = int(begin)
    durations: dict[str, float | None] = {}
    before = []
    for number, words in lines:
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
        durations[name] = amount(time, f"time of {name}")
        before += [(name, other) for other in others]
    if len(durations) not in (said, said + 1, said + 2):
        raise InputError("tasks", len(durations), f"{said}, as the first line says, and two without time")
    ends = (next(iter(durations), ""), next(reversed(durations), ""))
    dummies = {one for one in ends if durations.get(one) == 0}
    if len(durations) == said + len(dummies):
        before = [pair for pair in before if not dummies & {*pair}]
        durations = {name: one for name, one in durations.items() if name not in dummies}
    return made("Standard Task Graph", durations, before)


def _tasks_rec(text: str) -> TaskGraph:
    """The tasks.rec of StarPU's starpu_fxt_tool: records of lines `Name: value`, times in milliseconds."""
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    outputs: dict[str, float | None] = {}
    before = []
    for block in re.split(r"\n\s*\n", text):
        lines = [(name, value.strip()) for name, value in re.findall(r"^(\w+):(.*)$", block, re.MULTILINE)]
        record = dict(lines)
        if "JobId" not in record:
            continue  # a description of records, or a task of StarPU's own
        if len([name for name, _ in lines if name == "JobId"]) > 1:
            raise InputError("JobId", record["JobId"], "an empty line between two tasks")
        name = record["JobId"]
        if name in durations:
            raise InputError("JobId", name, "a number that no other task has")
        durations[name] = None
        labels |= {name: record["Name"]} if record.get("Name") else {}
        if {"StartTime", "EndTime"} <= record.keys():
            start, end = (amount(record[one], f"{one} of {name}") for one in ("StartTime", "EndTime"))
            durations[name] = amount((end - start) / 1e3, f"time of {name}")
        data = zip(record.get("Modes", "").split(), record.get("Sizes", "").split(), strict=False)
        if written := [amount(size, f"Sizes of {name}") for mode, size in data if "W" in mode]:
            outputs[name] = sum(written)
        before += [(name, other) for other in record.get("DependsOn", "").split()]
    pairs = [pair for pair in before if pair[1] in durations]
    graph = made("StarPU tasks.rec", durations, pairs, "s", labels=labels, outputs=outputs)
    lacking = len(before) - len(pairs)  # StarPU's own tasks are not in the file either
    more = f"the file lacks the tasks of {counted(lacking, 'more dependence')}"
    return replace(graph, no_order=more) if lacking else graph
