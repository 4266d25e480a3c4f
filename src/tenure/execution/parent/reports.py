"""Checks, bounds and passes on every message of a child: none is trusted."""

import asyncio
import math
from collections.abc import Iterator

import msgspec

from tenure.core.errors import InvalidInput, InvalidJson, TenureError
from tenure.core.model.durable import wait_asked
from tenure.core.model.retry import HandlerReport, Raised, Returned, WaitAsked, failure_of, unkept
from tenure.core.model.trail import Note
from tenure.core.values.bounds import named
from tenure.core.values.documents import Document, check, write
from tenure.core.values.failure import Failure
from tenure.core.values.span import Span
from tenure.core.values.text import storable
from tenure.execution.handler.context import LARGEST_PAYLOAD, LONGEST_TEXT
from tenure.execution.handler.metrics import LABELS
from tenure.execution.parent.answers.durable_answers import DurableAnswers
from tenure.execution.parent.answers.error_replies import error_reply
from tenure.execution.parent.attempt_terms import AttemptListener
from tenure.execution.parent.child_wire import ChildWire
from tenure.execution.parent.output import Budget, Journal
from tenure.execution.protocol.frames import Frames, Garbage, frame, read
from tenure.execution.protocol.messages import (
    FROM_CHILD,
    LARGEST_SPAN,
    DurableQuestion,
    ErrorReply,
    EventMessage,
    FromChild,
    FromRunner,
    HookFailedMessage,
    LogMessage,
    MetricMessage,
    ProgressMessage,
    ReportMessage,
    SpanMessage,
    SpawnReply,
    SpawnRequest,
)

MOST_NOTES = 10_000
"""The most events that one attempt may emit."""

MOST_NOTED = 4 << 20
"""The most characters of their payloads together: the worker holds them while the store is away."""

MOST_MEASURES = 10_000
"""The most measurements of one attempt that are passed on."""

MOST_SPANS = 1_000
"""The most spans of one attempt that are passed on."""


_SPAN = msgspec.msgpack.Decoder(Span)
_LEVELS = frozenset({"debug", "info", "warning", "error"})
_LONGEST_NAME = 255
_AT_A_TIME = 64


class MessageSink:
    """Reads messages of one child until it has reported, has closed its socket, or has sent garbage."""

    def __init__(self, listener: AttemptListener, journal: Journal) -> None:
        self.report: HandlerReport | None = None
        self.garbage: str | None = None
        self.is_unread = False
        """The socket was closed before the child had read its assignment."""
        self._listener = listener
        self._lines = Budget(journal, "the handler's log")
        self._notes = 0
        self._noted = 0
        self._drops_notes = False
        self._measures = 0
        self._spans = 0
        self._journal = journal
        self._answers: DurableAnswers | None = None

    async def read_from(self, wire: ChildWire) -> None:
        """Take in messages until there are no more."""
        frames = Frames()
        has_received = False
        try:
            while self.report is None and (data := await wire.receive()):
                has_received = True
                await self._take_all(frames.feed(data), wire)
                if self.report is None:
                    # Reading what has already arrived does not wait: a child that never pauses would keep the
                    # loop, and with it the very timer that is to end the child.
                    await asyncio.sleep(0)
        except ConnectionError:
            self.is_unread = not has_received
        except (Garbage, InvalidInput) as error:
            self.garbage = storable(str(error))

    async def _take_all(self, bodies: Iterator[bytes], wire: ChildWire) -> None:
        for n, body in enumerate(bodies):
            message = read(FROM_CHILD, body)
            if isinstance(message, SpawnRequest):
                wire.write(frame(await self.reply(message)))
                await wire.sent()  # no more is read from a child that does not read its reply
            elif isinstance(message, DurableQuestion):
                self.answers.begin(message, lambda reply: wire.write(frame(reply)))
                await wire.sent()
            else:
                self.take(message)
            if self.report is not None:
                return
            if n % _AT_A_TIME == _AT_A_TIME - 1:  # let other tasks run
                await asyncio.sleep(0)

    @property
    def answers(self) -> DurableAnswers:
        """Answers questions about progress; few attempts ask any."""
        if self._answers is None:
            self._answers = DurableAnswers(self._listener)
        return self._answers

    @property
    def is_answered(self) -> bool:
        """Whether no such question waits, and none has met an error of the listener's own."""
        return self._answers is None or self._answers.is_done

    async def answered(self) -> None:
        """Wait until all such questions are answered."""
        if self._answers is not None:
            await self._answers.finish()

    def take(self, message: FromChild | FromRunner) -> None:
        """Pass on what needs no reply; raises `Garbage` or `InvalidInput` for what no child sends."""
        match message:
            case LogMessage(level, text, fields):
                if level not in _LEVELS:
                    raise Garbage("a log line of no known level")
                if not self._lines.is_spent:  # dropping must cost the worker no time
                    self._lines.add(level, text[:LONGEST_TEXT], _object(fields))
            case ProgressMessage(progress):
                self._listener.progress(progress)
            case EventMessage(name, payload):
                if not self._drops_notes:
                    named("name", name)
                    self._note(f"custom:{name}", _payload(payload))
            case MetricMessage(what, labels, value):
                self._measure(what, labels, value)
            case SpanMessage(span):
                self._span(span)
            case HookFailedMessage(hook, error):
                failure = {"hook": hook, "kind": error.kind, "message": error.message}
                self._note("hook_failed", write({key: storable(value) for key, value in failure.items()}))
            case ReportMessage(end):
                self.report = sanitized(end)

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
        if self._drops_notes:
            return
        self._notes += 1
        self._noted += len(payload or "")
        if self._notes <= MOST_NOTES and self._noted <= MOST_NOTED:
            self._listener.emit(Note(type, payload))
        else:
            self._drops_notes = True
            bounds = f"{MOST_NOTES:,} events or {MOST_NOTED:,} characters of them"
            self._journal.add("warning", f"more than {bounds} were emitted; the rest is dropped")

    async def reply(self, request: SpawnRequest) -> SpawnReply | ErrorReply:
        """Have the requested jobs enqueued."""
        try:
            for job in request.jobs:
                check(job.params)
            return SpawnReply(request.number, await self._listener.spawn(request.jobs))
        except TenureError as error:
            return error_reply(request.number, error)


def sanitized(end: HandlerReport) -> HandlerReport:
    """The report, without anything that a store would refuse."""
    match end:
        case Returned("null"):
            return end
        case Returned(result):
            try:
                return Returned(check(result))
            except InvalidJson as error:
                return unkept(error)
        case Raised(asked=WaitAsked() as asked) if (problem := _problem_with(asked)) is not None:
            return Raised(Failure("GarbageOnPipe", storable(problem)), ("GarbageOnPipe",))
        case Raised(error, lineage, asked):
            return Raised(
                sanitized_failure(error),
                tuple(storable(kind)[:_LONGEST_NAME] for kind in lineage[:64]),
                asked,
            )
    return end


def _problem_with(asked: WaitAsked) -> str | None:
    try:
        wait_asked(asked)
    except ValueError as error:
        return f"the process asked for a wait that no handler asks for: {error}"
    return None


def sanitized_failure(error: Failure) -> Failure:
    """A failure that a child reported, within bounds."""
    return failure_of(storable(error.kind)[:_LONGEST_NAME], error.message, error.traceback, error.source)


def _payload(text: str | None) -> Document | None:
    return None if text is None else check(text, limit=LARGEST_PAYLOAD)


def _object(text: str | None) -> Document | None:
    document = _payload(text)
    if document is not None and not document.startswith("{"):
        raise Garbage("fields of a log line that are no object")
    return document
