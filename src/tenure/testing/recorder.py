"""Remembers what one handler does with its context, in place of a worker."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from tenure.core.errors import IdempotencyConflict, TenureError, UnknownDefinition
from tenure.core.model.child_keys import CHILDREN
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.states import State
from tenure.core.model.trail import CUSTOM, LogLine, Note
from tenure.core.values.documents import canonical_hash, check, read
from tenure.core.values.span import Span
from tenure.engine.client.registry import Registry
from tenure.execution.handler.channel import Channel
from tenure.execution.handler.replies import MakeRequest, Reply
from tenure.execution.parent.answers.error_replies import error_reply
from tenure.execution.parent.output import Journal
from tenure.execution.parent.reports import MessageSink
from tenure.execution.protocol.durable import QUESTION, Answer, Question, packed
from tenure.execution.protocol.frames import HEAD
from tenure.execution.protocol.frames import read as unframed
from tenure.execution.protocol.messages import (
    FROM_CHILD,
    DurableAnswer,
    DurableQuestion,
    FromChild,
    SpawnReply,
    SpawnRequest,
)
from tenure.testing.inline_channel import NO_TRANSACTIONS, framed
from tenure.testing.kept_progress import KeptProgress

_NO_SOCKET = -1


class LogCall(NamedTuple):
    """A line that the handler logged."""

    level: str
    text: str
    fields: dict[str, Any]


class EmittedEvent(NamedTuple):
    """An event of the handler's own, with its payload as Python values."""

    name: str
    payload: Any


class Child(NamedTuple):
    """A job that the handler enqueued: its definition, its params as Python values, and the whole request."""

    definition: str
    params: Any
    job: NewJob


class Measurement(NamedTuple):
    """Something that the handler measured."""

    what: str
    labels: tuple[str, ...]
    value: float


class Recorder:
    """Receives what an attempt sends, and keeps it."""

    def __init__(self, registry: Registry | None) -> None:
        """`registry` has the definitions of children; without one, those in `registries` are checked."""
        self.logged: list[LogCall] = []
        self.emitted: list[EmittedEvent] = []
        self.reported: list[Progress] = []
        self.measured: list[Measurement] = []
        self.children: list[Child] = []
        self.registries: dict[tuple[str, int], Registry] = {}
        self._registry = registry
        self._keyed: dict[tuple[str, str, str], tuple[NewJob, Enqueued]] = {}

    def log(self, line: LogLine) -> None:
        """Keep a line."""
        self.logged.append(LogCall(line.level, line.text, read(line.fields) if line.fields else {}))

    def progress(self, progress: Progress) -> None:
        """Keep a report of progress."""
        self.reported.append(progress)

    def emit(self, note: Note) -> None:
        """Keep an event."""
        payload = None if note.payload is None else read(note.payload)
        self.emitted.append(EmittedEvent(note.type.removeprefix(CUSTOM), payload))

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Keep a measurement."""
        self.measured.append(Measurement(what, labels, value))

    def span(self, span: Span) -> None:
        """Ignore spans: tests have exporters of their own for them."""

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Keep children."""
        return self.adopt(jobs)

    async def durable(self, question: Question) -> Answer:
        """Nothing asks here: its channel answers."""
        raise NotImplementedError(question)

    def adopt(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Check and keep children, all or none; a key that was used before finds the first."""
        for job in jobs:
            self._check(job)
        return [self._adopt_one(job) for job in jobs]

    def _check(self, job: NewJob) -> None:
        check(job.params)
        registry = self._registry or self.registries.get((job.definition, job.version))
        if registry is not None:
            spec = registry.find(job.definition, job.version)
            if spec is None:
                raise UnknownDefinition(job.definition, job.version)
            registry.check_params(spec, job.params)

    def _adopt_one(self, job: NewJob) -> Enqueued:
        enqueued = Enqueued(job.id or uuid4(), _first_state(job), fresh=True)
        if job.key is not None and job.scope != CHILDREN:
            first, known = self._keyed.setdefault((job.namespace, job.scope, job.key), (job, enqueued))
            if first is not job:
                if (first.definition, canonical_hash(first.params)) != (
                    job.definition,
                    canonical_hash(job.params),
                ):
                    raise IdempotencyConflict(job.key, known.id)
                return Enqueued(known.id, known.state, fresh=False)
        self.children.append(Child(job.definition, read(job.params), job))
        return enqueued


class RecordingChannel(Channel):
    """Hands every message to a recorder, checked as a worker checks it."""

    passes_time = False
    no_transactions = NO_TRANSACTIONS

    def __init__(self, recorder: Recorder, kept: KeptProgress) -> None:
        super().__init__(_NO_SOCKET)
        self._recorder = recorder
        self.kept = kept
        self._sink = MessageSink(recorder, Journal(recorder.log))

    def send(self, message: FromChild) -> None:
        """Take in a message; a request is answered at once."""
        received = unframed(FROM_CHILD, framed(message)[HEAD:])
        if isinstance(received, DurableQuestion):
            answer = self.kept.answer(unframed(QUESTION, received.body))
            self.receive(DurableAnswer(received.number, packed(answer)))
            return
        if not isinstance(received, SpawnRequest):
            self._sink.take(received)
            return
        try:
            self.receive(SpawnReply(received.number, self._recorder.adopt(received.jobs)))
        except TenureError as error:
            self.receive(error_reply(received.number, error))

    def look(self) -> None:
        """Nothing arrives but what the test sets."""

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Return at once: no time passes in a unit test."""
        if seconds is None and not self.is_cancelled:
            raise TenureError("this would wait for ever: make the context with cancelled=True")
        return self.is_cancelled

    def exchange(self, request: MakeRequest) -> Reply:
        """Send a request, and return the reply."""
        replies: list[Reply] = []
        self.ask(request, replies.append)
        return replies[0]


def _first_state(job: NewJob) -> State:
    if job.hold:
        return State.CREATED
    is_later = (job.delay or timedelta(0)) > timedelta(0)
    is_later |= job.run_at is not None and job.run_at > datetime.now(UTC)
    return State.SCHEDULED if is_later else State.QUEUED
