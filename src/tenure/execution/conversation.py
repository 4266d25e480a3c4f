"""The worker's end of a child's socket: what a child says is checked, bounded and passed on."""

import asyncio
import math
from collections.abc import Iterator

import msgspec

from tenure.core.bounds import named
from tenure.core.documents import Document, check, write
from tenure.core.errors import InvalidInput, InvalidJson, TenureError
from tenure.core.outcome import Failure
from tenure.core.retry import OutOfMemory, Raised, Returned, failure_of, unkept
from tenure.core.span import Span
from tenure.core.text import storable
from tenure.core.trail import Note
from tenure.execution.context import LARGEST_PAYLOAD, LONGEST_TEXT
from tenure.execution.halting import Listener
from tenure.execution.measuring import LABELS
from tenure.execution.output import Budget, Journal
from tenure.execution.protocol import (
    FROM_CHILD,
    LARGEST_SPAN,
    Emitted,
    Frames,
    FromChild,
    FromRunner,
    Garbage,
    HookFailed,
    Logged,
    Measured,
    Progressed,
    Refused,
    Reported,
    SpanEnded,
    SpawnAsked,
    Spawned,
    frame,
    read,
)
from tenure.execution.wire import Wire

MOST_NOTES = 10_000
"""How many events one attempt may emit."""

MOST_NOTED = 4 << 20
"""How many characters their payloads may have together: the worker holds them while the store is away."""

MOST_MEASURES = 10_000
"""How many measurements of one attempt are passed on."""

MOST_SPANS = 1_000
"""How many spans of one attempt are passed on."""

Report = Returned | Raised | OutOfMemory

_SPAN = msgspec.msgpack.Decoder(Span)
_LEVELS = frozenset({"debug", "info", "warning", "error"})
_LONGEST_NAME = 255
_AT_A_TIME = 64


class Conversation:
    """Listens to one child until it has reported, has closed its socket, or has sent garbage."""

    def __init__(self, listener: Listener, journal: Journal) -> None:
        self.report: Report | None = None
        self.garbage: str | None = None
        self.is_unread = False
        """The socket was closed before the child had read what it was there for."""
        self._listener = listener
        self._lines = Budget(journal, "the handler's log")
        self._notes = 0
        self._noted = 0
        self._has_noted_enough = False
        self._measures = 0
        self._spans = 0
        self._journal = journal

    async def hear(self, wire: Wire) -> None:
        """Take in messages until there is nothing more to hear."""
        frames = Frames()
        has_heard = False
        try:
            while self.report is None and (data := await wire.receive()):
                has_heard = True
                await self._take_all(frames.feed(data), wire)
                if self.report is None:
                    # To receive what has arrived already does not wait: a child that is never silent would
                    # keep the loop, and with it the very timer that is to end it.
                    await asyncio.sleep(0)
        except ConnectionError:
            self.is_unread = not has_heard
        except (Garbage, InvalidInput) as error:
            self.garbage = storable(str(error))

    async def _take_all(self, bodies: Iterator[bytes], wire: Wire) -> None:
        for n, body in enumerate(bodies):
            message = read(FROM_CHILD, body)
            if isinstance(message, SpawnAsked):
                wire.send(frame(await self.answer(message)))
                await wire.sent()  # who does not take the answer is not heard further
            else:
                self.take(message)
            if self.report is not None:
                return
            if n % _AT_A_TIME == _AT_A_TIME - 1:  # others want to run too
                await asyncio.sleep(0)

    def take(self, message: FromChild | FromRunner) -> None:
        """Pass on what needs no answer; raises `Garbage` or `InvalidInput` at what no child should say."""
        match message:
            case Logged(level, text, fields):
                if level not in _LEVELS:
                    raise Garbage("a log line of no known level")
                if not self._lines.is_spent:  # to drop what comes must not cost the worker its time
                    self._lines.add(level, text[:LONGEST_TEXT], _object(fields))
            case Progressed(progress):
                self._listener.progress(progress)
            case Emitted(name, payload):
                if not self._has_noted_enough:
                    named("name", name)
                    self._note(f"custom:{name}", _payload(payload))
            case Measured(what, labels, value):
                self._measure(what, labels, value)
            case SpanEnded(span):
                self._span(span)
            case HookFailed(hook, error):
                said = {"hook": hook, "kind": error.kind, "message": error.message}
                self._note("hook_failed", write({key: storable(value) for key, value in said.items()}))
            case Reported(end):
                self.report = trusted(end)

    def _measure(self, what: str, labels: list[str], value: float) -> None:
        if what not in LABELS or len(labels) != LABELS[what] or not 0 <= value < math.inf:
            raise Garbage("a measurement that no handler makes")
        self._measures += 1
        if self._measures <= MOST_MEASURES:
            self._listener.measure(what, tuple(labels), value)
        elif self._measures == MOST_MEASURES + 1:
            self._journal.add("warning", f"more than {MOST_MEASURES:,} measurements; the rest is dropped")

    def _span(self, body: bytes) -> None:
        if len(body) > LARGEST_SPAN:
            raise Garbage("a span that is too large")
        self._spans += 1
        if self._spans <= MOST_SPANS:
            self._listener.span(read(_SPAN, body))
        elif self._spans == MOST_SPANS + 1:
            self._journal.add("warning", f"more than {MOST_SPANS:,} spans; the rest is dropped")

    def _note(self, type: str, payload: Document | None) -> None:  # noqa: A002
        if self._has_noted_enough:
            return
        self._notes += 1
        self._noted += len(payload or "")
        if self._notes <= MOST_NOTES and self._noted <= MOST_NOTED:
            self._listener.emit(Note(type, payload))
        else:
            self._has_noted_enough = True
            bounds = f"{MOST_NOTES:,} events or {MOST_NOTED:,} characters of them"
            self._journal.add("warning", f"more than {bounds} were emitted; the rest is dropped")

    async def answer(self, asked: SpawnAsked) -> Spawned | Refused:
        """Have jobs enqueued that the child asks for."""
        try:
            for job in asked.jobs:
                check(job.params)
            return Spawned(asked.number, await self._listener.spawn(asked.jobs))
        except TenureError as error:
            return Refused(asked.number, type(error).__name__, [str(value) for value in error.args])


def trusted(end: Report) -> Report:
    """The report, with nothing in it that a store would refuse."""
    match end:
        case Returned("null"):
            return end
        case Returned(result):
            try:
                return Returned(check(result))
            except InvalidJson as error:
                return unkept(error)
        case Raised(error, lineage, asked):
            return Raised(
                trusted_failure(error), tuple(storable(kind)[:_LONGEST_NAME] for kind in lineage[:64]), asked
            )
    return end


def trusted_failure(error: Failure) -> Failure:
    """A failure as a child tells it, within bounds."""
    return failure_of(storable(error.kind)[:_LONGEST_NAME], error.message, error.traceback)


def _payload(text: str | None) -> Document | None:
    return None if text is None else check(text, limit=LARGEST_PAYLOAD)


def _object(text: str | None) -> Document | None:
    document = _payload(text)
    if document is not None and not document.startswith("{"):
        raise Garbage("fields of a log line that are no object")
    return document
