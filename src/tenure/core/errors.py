"""The errors Tenure raises.

    TenureError
    ├── InvalidInput            a value that is refused; names field, problem and way out
    │   ├── InvalidJson         the same for a JSON document, with a pointer into it
    │   │   └── InvalidParams   params that do not fit their definition; every problem with its pointer
    │   ├── PositionGone        a place in the feed that the database does not know, or no longer
    │   ├── UnknownDefinition   no definition of that key and version is known
    │   └── IdempotencyConflict the key was used before, with another request
    ├── JobNotFound             there is no such job, or no longer
    ├── JobIsAside              the database refuses to move the job; it is aside until it is put back
    ├── JobNotWaiting           the job does not wait for a time, so it cannot be given another one
    ├── NoResult                the job that was waited for has no result
    │   ├── JobUnfinished       not yet
    │   ├── JobFailed           it is a dead letter; `error` says why
    │   ├── JobCancelled        it was stopped on request
    │   └── JobBuried           its worker was lost, and it must not run twice
    ├── ResultMismatch          the result does not fit the type that the function returns
    ├── NoRoom                  a bound on waiting jobs is reached; nothing was written, try again later
    │   ├── QueueFull           in a queue
    │   └── NamespaceFull       of a namespace
    ├── StoreError              the store could not do what was asked
    │   ├── StoreUnavailable    unreachable, disk full …; `unknown`: the write may have happened
    │   │   └── RetentionBroken how long jobs are kept is not set, or makes no sense: nothing is removed
    │   ├── StoreBusy           another process or transaction holds a lock; nothing was written, try again
    │   ├── StoreRefused        the database itself refused the statement; nothing was written
    │   │   └── DataRefused     because of data: in a stored row, or in what was sent
    │   ├── JobsAside           jobs that cannot be moved were put aside; nothing else was done, try again
    │   ├── SchemaMismatch      the database's schema does not fit this code
    │   ├── StoreRestored       the database was restored from a backup, and not yet made to go on
    │   └── StoreForbidden      a handler's process tried to open a store
    ├── ProgramFailed           a program that ran as a job failed
    ├── ProcessStartFailed      a hook of the app at the start of a process failed, and so its attempt
    ├── LeaseLost               an attempt tried to act after it lost its lease
    └── Directive               raised by a handler to say how its attempt ends
        ├── Retry               try again, after a delay that the handler chooses
        ├── Snooze              run again later without spending an attempt
        └── Fatal               give up at once

Expected refusals (a lost lease, a job already finished) are return values, not errors. All of these stand
here but JobsAside, which stands beside the values that it carries, in `core.model.aside`, and refusals
about schedules, in `engine.schedules.schedules`.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from tenure.core.values.failure import Failure


class TenureError(Exception):
    """The base of every error that Tenure raises on purpose."""


class InvalidInput(TenureError, ValueError):
    """A value that is refused. Nothing was written."""

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        super().__init__(field, problem, remedy)
        self.field = field
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class InvalidJson(InvalidInput):
    """A JSON document that is refused; `code` is a stable short name, `pointer` says where."""

    def __init__(self, code: str, pointer: str, problem: str, remedy: str = "") -> None:
        super().__init__(pointer or "document", problem, remedy)
        self.args = (code, pointer, problem, remedy)
        self.code = code
        self.pointer = pointer


class ParamsProblem(NamedTuple):
    """One thing that is wrong with params, and where."""

    pointer: str
    text: str


class InvalidParams(InvalidJson):
    """Params that do not fit their definition's schema; `problems` lists what is wrong, with pointers."""

    def __init__(self, definition: str, problems: Sequence[tuple[str, str]]) -> None:
        self.definition = definition
        self.problems = tuple(ParamsProblem(*problem) for problem in problems)
        first = self.problems[0]
        problem = "; ".join(f"params{pointer}: {text}" for pointer, text in self.problems)
        super().__init__("invalid-params", first.pointer, problem, f"see the params of {definition}")
        self.args = (definition, self.problems)
        self.field = f"params{first.pointer}"

    def __str__(self) -> str:
        return f"{self.definition}: {self.problem}"


class PositionGone(InvalidInput):
    """A place in the feed that this database does not know: what stood there was lost in a restore."""

    def __init__(self) -> None:
        super().__init__(
            "after",
            "is a place in a history that was lost when the database was restored",
            "begin anew: at 0, or with what comes from now on",
        )
        self.args = ()


class UnknownDefinition(InvalidInput):
    """No definition of that key and version is known."""

    def __init__(self, key: str, version: int | None = None, remedy: str = "") -> None:
        name = key if version is None else f"{key}@{version}"
        remedy = remedy or "register it with @app.job, or start a worker that serves it"
        super().__init__("definition", f"{name} is not known", remedy)
        self.args = (key, version, remedy)


class IdempotencyConflict(InvalidInput):
    """The idempotency key was used before with other params; `job` is the job that has it."""

    def __init__(self, key: str, job: UUID) -> None:
        problem = f"{key!r} was used before, with other params or another version, for job {job}"
        super().__init__("idempotency_key", problem, "use a new key, or repeat the first request unchanged")
        self.args = (key, job)
        self.job = job


class JobNotFound(TenureError, LookupError):
    """There is no such job: it never existed, or retention has removed it."""

    def __init__(self, job: UUID) -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return f"there is no job {self.job}"


class JobIsAside(TenureError):
    """The database refuses to move a job: it stays aside until its rows are mended and it is put back."""

    def __init__(self, job: UUID, why: str) -> None:
        super().__init__(job, why)
        self.job = job
        self.why = why

    def __str__(self) -> str:
        reason = f" ({self.why})" if self.why else ""
        return f"job {self.job} is aside: the database refuses to move it{reason}; mend it, then put it back"


class JobNotWaiting(TenureError):
    """A job that does not wait for a time cannot be given another one. `state` is where it is."""

    def __init__(self, job: UUID, state: str, remedy: str) -> None:
        super().__init__(job, state, remedy)
        self.job = job
        self.state = state
        self.remedy = remedy

    def __str__(self) -> str:
        return f"job {self.job} is {self.state} and cannot be rescheduled: {self.remedy}"


class NoResult(TenureError):
    """A job that has no result, or not yet."""

    def __init__(self, job: UUID, definition: str, said: str) -> None:
        super().__init__(job, definition, said)
        self.job = job
        self.definition = definition
        self.said = said

    def __str__(self) -> str:
        return f"job {self.job} ({self.definition}) {self.said}"


class JobUnfinished(NoResult):
    """The job has not ended yet."""


class JobFailed(NoResult):
    """The job is a dead letter: its attempts are used up, or it failed for good. `error` says why."""

    def __init__(self, job: UUID, definition: str, error: Failure | None) -> None:
        said = f"failed: {error.kind}: {error.message}" if error else "failed"
        super().__init__(job, definition, said)
        self.args = (job, definition, error)
        self.error = error


class JobCancelled(NoResult):
    """The job was stopped on request."""


class JobBuried(NoResult):
    """The job's worker was lost, and its definition forbids a second run."""


class ResultMismatch(TenureError):
    """The job has succeeded, but its result is not of the type that its function returns; `problem` says why.

    Another version of the code may have written it. `job.get()` has it as plain values.
    """

    def __init__(self, job: UUID, definition: str, problem: str) -> None:
        super().__init__(job, definition, problem)
        self.job = job
        self.definition = definition
        self.problem = problem

    def __str__(self) -> str:
        return f"job {self.job} ({self.definition}): {self.problem}; get() has the result as plain values"


class NoRoom(TenureError):
    """A bound on waiting jobs is reached. Nothing was written; there may be room later."""


class QueueFull(NoRoom):
    """A queue holds as many jobs as it may."""

    def __init__(self, queue: str) -> None:
        super().__init__(queue)
        self.queue = queue

    def __str__(self) -> str:
        return f"the queue {self.queue} is full"


class NamespaceFull(NoRoom):
    """A namespace has as many unfinished jobs as it may."""

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self.namespace = namespace

    def __str__(self) -> str:
        return f"the namespace {self.namespace} has as many unfinished jobs as it may"


class StoreError(TenureError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or cannot write; with `unknown` the write may still have happened."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class RetentionBroken(StoreUnavailable):
    """How long finished jobs are kept is not set for all definitions, or makes no sense."""


class StoreBusy(StoreError):
    """Another process or transaction holds a lock. Nothing was written; trying again is safe."""


class StoreRefused(StoreError):
    """The database itself refused the statement. Nothing was written."""


class DataRefused(StoreRefused):
    """The database refused the statement because of data in it or in stored rows; `code` names the reason."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class SchemaMismatch(StoreError):
    """The database's schema does not fit this code.

    `found` is the number of its newest migration and `known` that of this code's, where they are the reason.
    """

    def __init__(self, message: str, *, found: int | None = None, known: int | None = None) -> None:
        super().__init__(message)
        self.found = found
        self.known = known


class StoreRestored(StoreError):
    """The database was restored into a server that has not counted as far as its history."""

    def __init__(self) -> None:
        super().__init__()

    def __str__(self) -> str:
        return (
            "the database was restored from a backup, and its history is ahead of what this server has "
            "counted: stop all workers and servers, then run `tenure migrate --after-restore`"
        )


class StoreForbidden(StoreError):
    """A handler's process may not open a store: it has no credentials, and the worker holds its lease."""

    def __init__(self) -> None:
        super().__init__(
            "a handler cannot reach the store by itself: write `await ctx.enqueue(other, params)`, or in a"
            " plain def `ctx.enqueue_sync(other, params)`; its worker does it as long as the lease holds"
        )


class LeaseLost(TenureError):
    """An attempt tried to act after it lost its lease. Nothing was written."""


class ProgramFailed(TenureError):
    """A program that ran as a job failed.

    `kinds` are names of the reason for `retry_on` and `fatal_on`, the most specific first.
    """

    def __init__(self, message: str, kinds: Sequence[str], *, is_fatal: bool = False) -> None:
        super().__init__(message)
        self.kinds = (*kinds, "ProgramFailed")
        self.is_fatal = is_fatal


class ProcessStartFailed(TenureError):
    """A hook at the start of a process failed, so no attempt can run there; `cause` is what it raised."""

    def __init__(self, hook: str, cause: Exception) -> None:
        super().__init__(f"on_process_start {hook}: {type(cause).__name__}: {cause}")
        self.cause = cause


class Directive(TenureError):
    """Raised by a handler to say how its attempt ends."""


class Retry(Directive):
    """Try again; `after` replaces the definition's backoff."""

    def __init__(self, message: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(_text("Retry(after=", message) or "the handler asked for another attempt")
        self.after = None if after is None else _duration("after", after)


class Snooze(Directive):
    """Run again after `for_`, without spending an attempt."""

    def __init__(self, message: str = "", *, for_: timedelta | float) -> None:
        super().__init__(_text("Snooze(for_=", message) or "the handler asked to be called later")
        self.for_ = _duration("for_", for_)


class Fatal(Directive):
    """Give up at once, even if attempts are left."""


def _duration(field: str, value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        # A text, as a header has it, would be refused only when the report of the attempt is read.
        if isinstance(value, int | float) and not isinstance(value, bool):
            return timedelta(seconds=value)
    except (OverflowError, ValueError):
        pass
    raise InvalidInput(field, f"is {value!r:.64}", "give seconds or a timedelta")


def _text(call: str, message: object) -> str:
    """The message of a directive; a time in its place is answered with where it belongs."""
    if isinstance(message, str):
        return message
    remedy = f"give a text; a time has its name: {call}{message!r:.64})"
    raise InvalidInput("message", f"is {message!r:.64}", remedy)
