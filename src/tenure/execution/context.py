"""What a handler is given beside its params: who it is, whether it is to stop, and whom it can tell.

Durable steps will stand here too: whatever a handler may ask of the worker is a method of `Context` and a
frame of the protocol.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID, uuid5

from tenure.core.bounds import named
from tenure.core.children import marked
from tenure.core.documents import Document, write
from tenure.core.errors import InvalidJson
from tenure.core.job import Enqueued, NewJob, following
from tenure.core.lease import Progress
from tenure.execution.assignment import Assignment
from tenure.execution.channel import Channel
from tenure.execution.hearing import Answer, outcome
from tenure.execution.measuring import Metrics
from tenure.execution.protocol import Emitted, Logged, Progressed
from tenure.execution.tracing import current

if TYPE_CHECKING:
    import asyncio

    from tenure.execution.hub import Strand

LARGEST_PAYLOAD = 65_536
"""The most bytes of JSON that an event or the fields of a log line may have."""

LONGEST_TEXT = 8_192
"""The most characters of a log line's text; the rest is cut off."""

_confined = False


def confine() -> None:
    """Mark this process as one that runs handlers: whatever would open a store here must refuse."""
    global _confined  # noqa: PLW0603
    _confined = True


def is_confined() -> bool:
    """Whether this process runs handlers, and so has no store; they have `ctx.enqueue` instead."""
    return _confined


class Cancellation:
    """Whether the attempt is to stop: its job was cancelled, or its time is over."""

    def __init__(self, channel: "Channel | Strand") -> None:
        self._channel = channel

    def is_set(self) -> bool:
        """Whether the attempt is to stop; cheap enough to ask often."""
        if not self._channel.is_cancelled:
            self._channel.look()
        return self._channel.is_cancelled

    def __bool__(self) -> bool:
        """The same, for `if ctx.cancelled:`."""
        return self.is_set()

    async def wait(self) -> None:
        """Wait until the attempt is to stop. An async handler is cancelled then in any case."""
        import asyncio

        loop = asyncio.get_running_loop()
        told = asyncio.Event()
        forget = self._channel.when_cancelled(lambda: loop.call_soon_threadsafe(told.set))
        try:
            await told.wait()
        finally:
            forget()

    def block(self, seconds: float | None = None) -> bool:
        """Wait in a plain handler until the attempt is to stop, at most so long; whether it is."""
        return self._channel.wait_for_cancel(seconds)


class Log:
    """A small structured logger: a text and fields, which become one line of the job's log."""

    def __init__(self, channel: "Channel | Strand") -> None:
        self._channel = channel

    def debug(self, text: str, /, **fields: object) -> None:
        """Say what only somebody who searches for a fault wants to know."""
        self._say("debug", text, fields)

    def info(self, text: str, /, **fields: object) -> None:
        """Say what happened."""
        self._say("info", text, fields)

    def warning(self, text: str, /, **fields: object) -> None:
        """Say what looks wrong but does not stop the handler."""
        self._say("warning", text, fields)

    def error(self, text: str, /, **fields: object) -> None:
        """Say what went wrong."""
        self._say("error", text, fields)

    def _say(self, level: str, text: object, fields: Mapping[str, object]) -> None:
        shown = str(text)[:LONGEST_TEXT].encode(errors="replace").decode()
        self._channel.send(Logged(level, shown, _fields(fields) if fields else None))


class Maker(Protocol):
    """What makes jobs: a function that was registered with `@app.job`."""

    @property
    def new_job(self) -> Callable[..., NewJob]:
        """Makes a job of it from params and options."""


class Context:
    """One attempt, as its handler sees it."""

    def __init__(self, channel: "Channel | Strand", assignment: Assignment, params: Any) -> None:
        self.job_id: UUID = assignment.job
        self.attempt = assignment.attempt
        self.fence = assignment.fence
        self.definition = assignment.definition
        self.version = assignment.version
        self.queue = assignment.queue
        self.namespace = assignment.namespace
        self.params = params
        self.traceparent = assignment.traceparent
        self._channel = channel

    @property
    def cancelled(self) -> Cancellation:
        """Whether the attempt is to stop."""
        return Cancellation(self._channel)

    @property
    def log(self) -> Log:
        """Writes lines into the job's log."""
        return Log(self._channel)

    @property
    def metrics(self) -> Metrics:
        """Counts what the handler alone knows of."""
        return Metrics(self._channel)

    def check_cancelled(self) -> None:
        """Raise `asyncio.CancelledError` when the attempt is to stop; no `except Exception` swallows it."""
        if self.cancelled.is_set():
            import asyncio

            raise asyncio.CancelledError("the attempt was asked to stop")

    def emit(self, name: str, payload: object = None) -> None:
        """Put an event `custom:<name>` into the job's history; the payload is JSON."""
        named("name", name)
        document = None if payload is None else write(payload, limit=LARGEST_PAYLOAD)
        self._channel.send(Emitted(name, document))

    def progress(self, fraction: float, message: str = "") -> None:
        """Say how far the work has come, from 0 to 1; the last time with the outcome."""
        self._channel.send(Progressed(Progress(float(fraction), message)))

    def idempotency_key(self, name: str) -> str:
        """A key for somebody else's API: the same in every attempt of this job, and in no other job."""
        return str(uuid5(self.job_id, name))

    async def enqueue(
        self, job: NewJob | Maker, params: object = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued:
        """Enqueue a child of this job; refused when this attempt has lost its lease.

        As `ctx.enqueue(welcome, Welcome(to=…), delay=30)`, or with a job made by `welcome.new_job(…)`.
        What an earlier attempt has enqueued with the same definition and params is found, whatever became of
        it; with `unkeyed` another one is made.
        """
        [enqueued] = await self.enqueue_many([_made(job, params, options)], unkeyed=unkeyed)
        return enqueued

    async def enqueue_many(self, jobs: Sequence[NewJob], *, unkeyed: bool = False) -> list[Enqueued]:
        """Enqueue children of this job, all or none; finds those of an earlier attempt, as `enqueue` does."""
        import asyncio

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def deliver(answer: Answer) -> None:
            # Whichever thread took it in: the future belongs to the loop.
            loop.call_soon_threadsafe(_resolve, answered, answer)

        self._channel.ask(self._born_here(jobs, unkeyed=unkeyed), deliver)
        return outcome(await answered)

    def enqueue_sync(
        self, job: NewJob | Maker, params: object = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued:
        """The same as `enqueue` for a plain handler."""
        return self.enqueue_many_sync([_made(job, params, options)], unkeyed=unkeyed)[0]

    def enqueue_many_sync(self, jobs: Sequence[NewJob], *, unkeyed: bool = False) -> list[Enqueued]:
        """The same as `enqueue_many` for a plain handler."""
        return self._channel.exchange(self._born_here(jobs, unkeyed=unkeyed))

    def _born_here(self, jobs: Sequence[NewJob], *, unkeyed: bool) -> Sequence[NewJob]:
        """The jobs, as children of this one, and as what follows in a trace from what is done here."""
        traceparent = current() or self.traceparent
        if traceparent is not None:
            jobs = [following(job, traceparent) for job in jobs]
        return jobs if unkeyed else [marked(job) for job in jobs]


def _made(job: NewJob | Maker, params: object, options: dict[str, Any]) -> NewJob:
    return job if isinstance(job, NewJob) else job.new_job(params, **options)


def _resolve(answered: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not answered.done():  # whoever waited may have been cancelled
        answered.set_result(answer)


def _fields(fields: Mapping[str, object]) -> Document:
    try:
        return write(fields, limit=LARGEST_PAYLOAD)
    except InvalidJson:  # to log must not fail: what is no JSON is shown as text
        return write({name: _shown(value) for name, value in list(fields.items())[:50]})


def _shown(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # whatever a broken __str__ raises
        text = f"<{type(value).__name__}>"
    return text[:500].encode(errors="replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")
