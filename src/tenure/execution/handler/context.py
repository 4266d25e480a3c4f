"""The context of an attempt, which a handler is given beside its params.

Whatever a handler may ask of the worker is a method of `Context` and a message of the protocol; those about
progress that survives are in `durable_context`.
"""

from _thread import get_ident
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload
from uuid import UUID, uuid5

from tenure.core.errors import InvalidJson
from tenure.core.model.child_keys import marked
from tenure.core.model.job import Enqueued, NewJob, following
from tenure.core.model.lease import Progress
from tenure.core.values.bounds import named
from tenure.core.values.documents import Document, write
from tenure.core.values.other_words import answering_other_words, taking_one_text
from tenure.core.values.traceparent import current
from tenure.execution.handler.channel import Channel
from tenure.execution.handler.durable_context import DurableContext
from tenure.execution.handler.metrics import Metrics
from tenure.execution.handler.replies import Reply, outcome
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.messages import EventMessage, LogMessage, ProgressMessage, SpawnRequest

if TYPE_CHECKING:
    import asyncio

    from tenure.execution.handler.mux import MuxStream

LARGEST_PAYLOAD = 65_536
"""The most bytes of JSON that an event or the fields of a log line may have."""

_LARGEST_FIELD = 500
"""The most bytes of a field that is kept as it is, where another one cannot be."""

LONGEST_TEXT = 8_192
"""The most characters of a log line's text; longer texts are cut."""

D_contra = TypeVar("D_contra", contravariant=True)
Params = TypeVar("Params")

_confined = False


def confine() -> None:
    """Mark this process as one that runs handlers: no code may open a store here."""
    global _confined  # noqa: PLW0603
    _confined = True


def is_confined() -> bool:
    """Whether this process runs handlers, which have `ctx.enqueue` instead of a store."""
    return _confined


class Cancellation:
    """Whether the attempt is to stop: its job was cancelled, or its time is over."""

    def __init__(self, channel: "Channel | MuxStream") -> None:
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
        """Wait until the attempt is to stop. An async handler is then cancelled in any case."""
        import asyncio

        loop = asyncio.get_running_loop()
        cancelled = asyncio.Event()
        forget = self._channel.when_cancelled(lambda: loop.call_soon_threadsafe(cancelled.set))
        try:
            await cancelled.wait()
        finally:
            forget()

    def block(self, seconds: float | None = None) -> bool:
        """Wait in a plain handler until the attempt is to stop, at most so many seconds; whether it is."""
        return self._channel.wait_for_cancel(seconds)


@answering_other_words
class Log:
    """A small structured logger: a text and fields, which become one line of the job's log."""

    def __init__(self, channel: "Channel | MuxStream") -> None:
        self._channel = channel

    @taking_one_text
    def debug(self, text: str, /, **fields: object) -> None:
        """Log what helps to find a fault."""
        self._write("debug", text, fields)

    @taking_one_text
    def info(self, text: str, /, **fields: object) -> None:
        """Log what happened."""
        self._write("info", text, fields)

    @taking_one_text
    def warning(self, text: str, /, **fields: object) -> None:
        """Log what looks wrong but does not stop the handler."""
        self._write("warning", text, fields)

    @taking_one_text
    def error(self, text: str, /, **fields: object) -> None:
        """Log what went wrong."""
        self._write("error", text, fields)

    def _write(self, level: str, text: object, fields: Mapping[str, object]) -> None:
        shown = str(text)[:LONGEST_TEXT].encode(errors="replace").decode()
        self._channel.send(LogMessage(level, shown, log_fields(fields) if fields else None))


class Maker(Protocol[D_contra]):
    """What makes jobs: a function that was registered with `@app.job`, with params of type D."""

    @property
    def new_job(self) -> Callable[..., NewJob]:
        """Makes a job of it from params and options."""

    def _document(self, params: D_contra, /) -> Document: ...


@answering_other_words
class Context(DurableContext):
    """One attempt, as its handler sees it."""

    job_id: UUID
    """The id of the job."""
    attempt: int
    """Which attempt this is: 1, 2, 3 …"""
    fence: int
    """The number of this claim. It only grows, so a system that remembers it can refuse an older attempt."""
    definition: str
    """The key of the definition, such as `email.welcome`."""
    version: int
    """The version of the definition under which the job was made."""
    queue: str
    """The queue of the job."""
    namespace: str
    """The namespace of the job."""
    params: Any
    """The params, as the handler's type; a handler of `(ctx)` finds them here."""
    traceparent: str | None
    """The trace that this attempt belongs to, as a W3C traceparent; None without one."""

    def __init__(self, channel: "Channel | MuxStream", assignment: Assignment, params: Any) -> None:
        self.job_id = self._job = assignment.job
        self.attempt = assignment.attempt
        self.fence = self._fence = assignment.fence
        self.definition = assignment.definition
        self.version = assignment.version
        self.queue = assignment.queue
        self.namespace = assignment.namespace
        self.params = params
        self.traceparent = assignment.traceparent
        self._hook = assignment.hook
        self._database = assignment.database
        self._channel = channel
        self._thread = get_ident()

    @property
    def cancelled(self) -> Cancellation:
        """Whether the attempt is to stop: `if ctx.cancelled:`."""
        return Cancellation(self._channel)

    @property
    def log(self) -> Log:
        """Writes lines into the job's log, which `tenure jobs logs` and the dashboard show."""
        return Log(self._channel)

    @property
    def metrics(self) -> Metrics:
        """The handler's own metrics, which the worker offers to Prometheus."""
        return Metrics(self._channel)

    def check_cancelled(self) -> None:
        """Raise `asyncio.CancelledError` when the attempt is to stop; no `except Exception` swallows it."""
        if self.cancelled.is_set():
            import asyncio

            raise asyncio.CancelledError("the attempt was asked to stop")

    def emit(self, name: str, payload: object = None) -> None:
        """Add an event `custom:<name>` to the job's history; the payload is JSON."""
        named("name", name)
        document = None if payload is None else write(payload, limit=LARGEST_PAYLOAD)
        self._channel.send(EventMessage(name, document))

    def progress(self, fraction: float, message: str = "") -> None:
        """Report how far the work has come, from 0 to 1; the last report is kept with the outcome."""
        self._channel.send(ProgressMessage(Progress(float(fraction), message)))

    def idempotency_key(self, name: str) -> str:
        """A key for an external API: the same in every attempt of this job, and in no other job."""
        return str(uuid5(self.job_id, name))

    @overload
    async def enqueue(self, job: NewJob, *, unkeyed: bool = False) -> Enqueued: ...
    @overload
    async def enqueue(
        self, job: Maker[None], params: None = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued: ...
    @overload
    async def enqueue(
        self, job: Maker[Params], params: Params, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued: ...
    async def enqueue(
        self, job: NewJob | Maker[Any], params: object = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued:
        """Enqueue a child of this job; refused when this attempt has lost its lease.

        As `ctx.enqueue(welcome, Welcome(to=…), delay=30)`, or with a job made by `welcome.new_job(…)`.
        A child that an earlier attempt enqueued with the same definition and params is found again, whatever
        became of it; with `unkeyed` another one is made.
        """
        [enqueued] = await self.enqueue_many([self._made(job, params, options)], unkeyed=unkeyed)
        return enqueued

    async def enqueue_many(self, jobs: Sequence[NewJob], *, unkeyed: bool = False) -> list[Enqueued]:
        """Enqueue children of this job, all or none; finds those of an earlier attempt, as `enqueue` does."""
        import asyncio

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Reply] = loop.create_future()

        def on_reply(reply: Reply) -> None:
            # This may be any thread; the future belongs to the loop.
            loop.call_soon_threadsafe(_resolve, answered, reply)

        children = self._as_children(jobs, unkeyed=unkeyed)
        self._channel.ask(lambda number: SpawnRequest(number, children), on_reply)
        return outcome(await answered)

    @overload
    def enqueue_sync(self, job: NewJob, *, unkeyed: bool = False) -> Enqueued: ...
    @overload
    def enqueue_sync(
        self, job: Maker[None], params: None = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued: ...
    @overload
    def enqueue_sync(
        self, job: Maker[Params], params: Params, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued: ...
    def enqueue_sync(
        self, job: NewJob | Maker[Any], params: object = None, *, unkeyed: bool = False, **options: Any
    ) -> Enqueued:
        """The same as `enqueue` for a plain handler."""
        return self.enqueue_many_sync([self._made(job, params, options)], unkeyed=unkeyed)[0]

    def enqueue_many_sync(self, jobs: Sequence[NewJob], *, unkeyed: bool = False) -> list[Enqueued]:
        """The same as `enqueue_many` for a plain handler."""
        children = self._as_children(jobs, unkeyed=unkeyed)
        return outcome(self._channel.exchange(lambda number: SpawnRequest(number, children)))

    def _made(self, job: NewJob | Maker[Any], params: object, options: dict[str, Any]) -> NewJob:
        return job if isinstance(job, NewJob) else job.new_job(params, **options)

    def _as_children(self, jobs: Sequence[NewJob], *, unkeyed: bool) -> list[NewJob]:
        """The jobs as children of this one, in the trace of what runs here."""
        traceparent = current() or self.traceparent
        if traceparent is not None:
            jobs = [following(job, traceparent) for job in jobs]
        return list(jobs) if unkeyed else [marked(job) for job in jobs]


def _resolve(answered: "asyncio.Future[Reply]", reply: Reply) -> None:
    if not answered.done():  # its waiter may have been cancelled
        answered.set_result(reply)


def log_fields(fields: Mapping[str, object]) -> Document:
    """The fields of a log line as JSON."""
    try:
        return write(fields, limit=LARGEST_PAYLOAD)
    except InvalidJson:  # logging must not fail: what is no JSON is shown as text
        return write({name: _loggable(value) for name, value in list(fields.items())[:50]})


def _loggable(value: object) -> object:
    try:
        write(value, limit=_LARGEST_FIELD)
    except InvalidJson:
        return _shown(value)
    return value


def _shown(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # whatever a broken __str__ raises
        text = f"<{type(value).__name__}>"
    return text[:500].encode(errors="replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")
