"""What a client asked for and was told: on disk before each call goes out, and again when its answer is in.

A call on record without an answer has an unknown outcome: it may have been done or not, and nobody may rely
on either. That includes a call whose answer was cut off by the client's own death.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from uuid import UUID

import msgspec

Verb = Literal["enqueue", "cancel", "accept", "replay", "signal"]
Outcome = Literal["acknowledged", "refused", "unknown"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Times are CLOCK_MONOTONIC.

    `keys` are the idempotency keys of an enqueue, in order, and `bodies` what each is to stand for: the hash
    of the job's params, as hexadecimal digits, or nothing where that is not to be judged. `asked` are the ids
    that the request names: those to cancel, accept or replay, or those that a caller made itself. `jobs` are
    the ids that the answer names, in order (of a replay: the new jobs), and `moved` those of them that this
    call made or moved by its own account. A call that was `refused` has, by its answer, done nothing.
    """

    number: int
    verb: Verb
    keys: list[str] = []
    bodies: list[str] = []
    asked: list[UUID] = []
    batch: bool = False
    sent_at: float
    outcome: Outcome = "unknown"
    jobs: list[UUID] = []
    moved: list[UUID] = []
    answered_at: float | None = None
    error: str = ""


class _Sent(msgspec.Struct, frozen=True, tag=True):
    call: Call


class _Answered(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    number: int
    outcome: Outcome
    jobs: list[UUID]
    moved: list[UUID]
    at: float
    error: str


class History:
    """The record of one client, in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._calls = 0

    def sent(
        self,
        verb: Verb,
        *,
        keys: Sequence[str] = (),
        bodies: Sequence[str] = (),
        asked: Sequence[UUID] = (),
        batch: bool = False,
    ) -> int:
        """Record that a request is about to go out; answers with its number."""
        self._calls += 1
        call = Call(
            number=self._calls,
            verb=verb,
            keys=list(keys),
            bodies=list(bodies),
            asked=list(asked),
            batch=batch,
            sent_at=time.monotonic(),
        )
        self._write(_Sent(call))
        return call.number

    def answered(
        self,
        number: int,
        outcome: Outcome,
        *,
        jobs: Sequence[UUID] = (),
        moved: Sequence[UUID] = (),
        error: str = "",
    ) -> None:
        """Record what came of a request."""
        at = time.monotonic()
        self._write(
            _Answered(number=number, outcome=outcome, jobs=list(jobs), moved=list(moved), at=at, error=error)
        )

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, line: _Sent | _Answered) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")
        os.fsync(self._file)


def read(path: Path) -> list[Call]:
    """The calls of one client, by number; none without the file.

    A torn last line counts for nothing: its request never went out, or its answer is unknown.
    """
    if not path.exists():
        return []
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    calls: dict[int, Call] = {}
    lines: list[_Sent | _Answered] = msgspec.json.Decoder(_Sent | _Answered).decode_lines(whole)
    for line in lines:
        match line:
            case _Sent(call):
                calls[call.number] = call
            case _Answered():
                calls[line.number] = msgspec.structs.replace(
                    calls[line.number],
                    outcome=line.outcome,
                    jobs=line.jobs,
                    moved=line.moved,
                    answered_at=line.at,
                    error=line.error,
                )
    return list(calls.values())
