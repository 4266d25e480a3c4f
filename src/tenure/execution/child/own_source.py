"""The source around the user's own frames of a traceback, read where the attempt failed.

Only a failure reads it, and from files that its traceback has just read. The machine that shows it later may
have another version of the code, or none.
"""

import linecache
import os
import re
from collections.abc import Iterator
from types import FrameType

from tenure.core.errors import ProcessStartFailed, ProgramFailed
from tenure.core.values.failure import MOST_EXCERPT_LINES, MOST_EXCERPTS, Excerpt

AROUND = MOST_EXCERPT_LINES // 2
MOST_FRAMES = 1_000
"""How deep a traceback is followed: a recursion has very many frames, of which the last few tell enough."""

_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_STANDARD = os.__file__.rpartition(os.sep)[0] + os.sep


def source_of(error: BaseException) -> tuple[Excerpt, ...]:
    """The source around the last own frames, in the order of the traceback; none where it cannot be read."""
    try:
        return _excerpts(error)
    except Exception:  # a loader of the user's may fail; that must not hide what went wrong
        return ()


def _excerpts(error: BaseException) -> tuple[Excerpt, ...]:
    if isinstance(error, ProgramFailed):  # its frames are Tenure's
        return ()
    found: dict[tuple[str, int], Excerpt] = {}
    home = _home(error)
    for raised in _causes(error):
        own = [(frame, line) for frame, line in _frames(raised) if _is_own(frame, home)]
        for frame, line in reversed(own):
            place = (frame.f_code.co_filename, line)
            if len(found) < MOST_EXCERPTS and place not in found and (excerpt := _excerpt(frame, line)):
                found[place] = excerpt
    return tuple(reversed(found.values()))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what led to it, the last first, as its traceback tells them."""
    seen: set[int] = set()
    told: BaseException | None = error.cause if isinstance(error, ProcessStartFailed) else error
    while told is not None and id(told) not in seen:
        seen.add(id(told))
        yield told
        told = told.__cause__ or (None if told.__suppress_context__ else told.__context__)


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    frames: list[tuple[FrameType, int]] = []
    inner = error.__traceback__
    while inner is not None:
        frames.append((inner.tb_frame, inner.tb_lineno))
        inner = inner.tb_next
    return frames[-MOST_FRAMES:]


def _home(error: BaseException) -> str:
    """The package of the handler, whose frame is the first: it may be installed as libraries are."""
    return "" if error.__traceback__ is None else _package(error.__traceback__.tb_frame)


def _is_own(frame: FrameType, home: str) -> bool:
    package, file = _package(frame), frame.f_code.co_filename
    if package == "tenure":
        return False
    if _INSTALLED.search(file):
        return package == home
    return not file.startswith((_STANDARD, "<frozen "))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _excerpt(frame: FrameType, line: int) -> Excerpt | None:
    file = frame.f_code.co_filename
    lines = linecache.getlines(file, frame.f_globals)
    if not 0 < line <= len(lines):
        return None
    first = max(1, line - AROUND)
    return Excerpt(file, line, first, tuple(text.rstrip("\n") for text in lines[first - 1 : line + AROUND]))
