"""The frames of a Python traceback: the user's own stand out with their source, runs of others are folded.

A text that is no Python traceback has no frames here, and is shown as it is.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import groupby

from msgspec import Struct

from tenure.core.values.failure import Excerpt, Failure

MOST_OWN = 12
"""How many of the user's frames stand out; those before them are folded, too."""

MOST_FRAMES = 200
"""How many frames are shown one by one, the last ones."""

_BEGIN = "Traceback (most recent call last):"
_LINKS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_FRAME = re.compile(r'  File "(?P<file>[^"]*)", line (?P<line>[0-9]{1,9}), in (?P<function>.+)')
_REPEATED = re.compile(r"  \[Previous line repeated ([0-9]+) more times?\]")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\]+)")
_STANDARD = re.compile(r"[/\\]lib(?:64)?[/\\]python3\.[0-9]+[/\\]([^/\\]+)|[/\\]Lib[/\\]([^/\\]+)")
_FROZEN = re.compile(r"<frozen ([^.>]+)")
_TENURE = re.compile(r"[/\\]tenure[/\\](?:core|engine|execution|assemble|surfaces)[/\\]")


class TraceView(StrEnum):
    """How much of a traceback is shown."""

    OWN = "own"
    ALL = "all"
    TEXT = "text"


class TraceFrame(Struct, frozen=True):
    """A frame; `package` is whose it is, empty for the user's own. `code` is its line, if the text has it."""

    file: str
    line: int
    function: str
    code: str
    package: str
    repeated: int = 0

    @property
    def place(self) -> str:
        """The end of the path that tells which file it is, and the line."""
        parts = re.split(r"[/\\]", self.file)
        found = _INSTALLED.search(self.file) or _STANDARD.search(self.file)
        shown = (
            parts[-3:]
            if found is None
            else re.split(r"[/\\]", self.file[found.start(found.lastindex or 0) :])
        )
        return f"{'/'.join(part for part in shown[-3:] if part)}:{self.line}"


class SourceLine(Struct, frozen=True):
    """A line of source; `is_hit` is the one that ran."""

    n: int
    text: str
    is_hit: bool


class OwnFrame(Struct, frozen=True):
    """A frame of the user's code, with the source around it as far as that was kept."""

    frame: TraceFrame
    source: Sequence[SourceLine]
    is_last: bool = False


class OtherFrames(Struct, frozen=True):
    """A run of frames that are not the user's, or not of interest; `names` are whose they are."""

    frames: Sequence[TraceFrame]
    names: Sequence[str]


class Raising(Struct, frozen=True):
    """The end of one traceback: what was raised, where if that is not the user's code, and what it led to."""

    text: str
    frame: TraceFrame | None
    link: str


TracePart = OwnFrame | OtherFrames | Raising


class ErrorTrace(Struct, frozen=True):
    """A traceback in parts, in Python's order, and how many frames it has."""

    parts: Sequence[tuple[str, TracePart]]
    count: int


class _Section(Struct, frozen=True):
    """The traceback of one exception, what it says, and how the next one follows from it."""

    frames: Sequence[TraceFrame]
    said: str
    link: str


def trace_of(error: Failure, view: TraceView = TraceView.OWN) -> ErrorTrace | None:
    """The frames of an error's traceback; None where there are none to be read."""
    if not error.traceback:
        return None
    kept = {(excerpt.file, excerpt.line): excerpt for excerpt in error.source}
    sections = list(_sections(error.traceback, kept))
    count = sum(len(section.frames) for section in sections)
    if not count:
        return None
    last = next(
        (one for section in reversed(sections) for one in reversed(section.frames) if not one.package), None
    )
    shown = [part for section in sections for part in _parts(section, kept, last, view)]
    return ErrorTrace([(_kind(part), part) for part in shown], count)


def place_of(error: Failure) -> str:
    """The last place in the user's code, or else the last of all: `shop/ledger.py:88 in post`."""
    kept = {(excerpt.file, excerpt.line): excerpt for excerpt in error.source}
    frames = [one for section in _sections(error.traceback or "", kept) for one in section.frames]
    own = [one for one in frames if not one.package] or frames
    return f"{own[-1].place} in {own[-1].function}" if own else ""


def _kind(part: TracePart) -> str:
    return "own" if isinstance(part, OwnFrame) else "others" if isinstance(part, OtherFrames) else "raised"


Kept = dict[tuple[str, int], Excerpt]


def _sections(text: str, kept: Kept) -> Iterator[_Section]:
    """The tracebacks in a text, of the exception that ended the attempt and of what led to it."""
    frames: list[TraceFrame] = []
    said: list[str] = []
    for line in text.splitlines():
        if line == _BEGIN and frames:
            yield _section(frames, said)
            frames, said = [], []
        elif found := _FRAME.fullmatch(line):
            file, number, function = found["file"], int(found["line"]), found["function"]
            frames.append(TraceFrame(file, number, function, "", _package(file, number, kept)))
        elif line.startswith("    ") and frames and not said:
            code = line.strip()
            if not frames[-1].code and code.strip("^~ "):
                frames[-1] = _with_code(frames[-1], code)
        elif (again := _REPEATED.fullmatch(line)) and frames:
            frames[-1] = _repeated(frames[-1], int(again[1]))
        elif frames:
            said.append(line)
    if frames:
        yield _section(frames, said)


def _section(frames: Sequence[TraceFrame], said: Sequence[str]) -> _Section:
    link = next((line for line in said if line in _LINKS), "")
    text = "\n".join(line for line in said if line not in _LINKS).strip()
    return _Section(frames, text, link)


def _with_code(frame: TraceFrame, code: str) -> TraceFrame:
    return TraceFrame(frame.file, frame.line, frame.function, code, frame.package)


def _repeated(frame: TraceFrame, times: int) -> TraceFrame:
    return TraceFrame(frame.file, frame.line, frame.function, frame.code, frame.package, times)


def _package(file: str, line: int, kept: Kept) -> str:
    """Whose a file is; empty if it is the user's own. What was kept as such is."""
    if (file, line) in kept:
        return ""
    if found := _INSTALLED.search(file) or _FROZEN.match(file):
        name = found[1].removesuffix(".py")
        return "Tenure" if name == "tenure" else name
    if found := _STANDARD.search(file):
        return (found[1] or found[2]).removesuffix(".py")
    return "Tenure" if _TENURE.search(file) else ""


def _parts(section: _Section, kept: Kept, last: TraceFrame | None, view: TraceView) -> Iterator[TracePart]:
    frames = section.frames
    raised_at = frames[-1] if frames[-1].package else None
    if view is TraceView.ALL:
        yield from _each(frames[-MOST_FRAMES:], kept, last)
        yield Raising(section.said, None, section.link)
        return
    own = [one for one in frames if not one.package]
    if not own and section.link:
        yield _folded(frames)
        yield Raising(section.said, None, section.link)
        return
    early = set(map(id, own[:-MOST_OWN]))
    rest = frames if raised_at is None else frames[:-1]
    for is_own, run in groupby(rest, key=lambda one: not one.package and id(one) not in early):
        if is_own:
            yield from (_own(one, kept, last) for one in run)
        else:
            yield _folded(list(run))
    yield Raising(section.said, raised_at, section.link)


def _folded(frames: Sequence[TraceFrame]) -> OtherFrames:
    return OtherFrames(frames, list(dict.fromkeys(one.package or "your code" for one in frames)))


def _each(frames: Sequence[TraceFrame], kept: Kept, last: TraceFrame | None) -> Iterator[TracePart]:
    for one in frames:
        yield OtherFrames([one], [one.package]) if one.package else _own(one, kept, last)


def _own(frame: TraceFrame, kept: Kept, last: TraceFrame | None) -> OwnFrame:
    excerpt = kept.get((frame.file, frame.line))
    if excerpt is None:
        lines = [SourceLine(frame.line, frame.code, True)] if frame.code else []
    else:
        numbered = enumerate(excerpt.text, excerpt.first)
        lines = [SourceLine(n, text, n == excerpt.line) for n, text in numbered]
    return OwnFrame(frame, lines, frame is last)
