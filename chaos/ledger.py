"""What test jobs did to the world: a file outside the database, one line per start, effect and end.

Each line is one `write` to a file opened for appending, so that lines of many processes never mix, and a
process that is killed leaves at most its own last line unwritten.
"""

import os
import time
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec

Kind = Literal["start", "effect", "end"]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One line. `at` is CLOCK_MONOTONIC, which all processes of a machine share."""

    kind: Kind
    job: UUID
    attempt: int
    fence: int
    pid: int
    at: float


class Torn(Exception):
    """The last line of a ledger is not whole."""


def write(path: str, kind: Kind, job: UUID, attempt: int, fence: int) -> None:
    """Append one line, as this process and at this moment."""
    append(path, msgspec.json.encode(Entry(kind, job, attempt, fence, os.getpid(), time.monotonic())))


def append(path: str, line: bytes) -> None:
    """Append a line to a file, in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, line + b"\n")
    finally:
        os.close(descriptor)


def read(path: Path, *, torn: bool = False) -> list[Entry]:
    """Every line in the order of writing; none without the file. A torn last line is left out if `torn`."""
    if not path.exists():
        return []
    whole, _, rest = path.read_bytes().rpartition(b"\n")
    if rest and not torn:
        raise Torn(f"{path}: the last line is not whole")
    return msgspec.json.Decoder(Entry).decode_lines(whole)
