"""Refusals: every problem that the server answers with, and how errors of the engine map to them.

Nothing internal leaks: the text of a store's error or of a bug goes to the log only. Of what was sent, at
most 64 characters in a row come back.
"""

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from tenure.api.problem import KINDS, Fault, Problem
from tenure.core.errors import (
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    InvalidParams,
    JobIsAside,
    JobNotFound,
    JobNotWaiting,
    JobUnfinished,
    NoRoom,
    PositionGone,
    RetentionBroken,
    SchemaMismatch,
    StoreError,
    StoreRefused,
    StoreRestored,
    UnknownDefinition,
)
from tenure.core.model.aside import JobsAside
from tenure.core.model.states import State

MEDIA_TYPE = b"application/problem+json"
RETRY_AFTER = 2
"""Seconds after which to try again, where store, server or queue had no room or no answer."""

TRY_AGAIN = "try again: a job sent with an idempotency key is recorded only once"
NO_SUCH_JOB = "there is no job with this id"

_SET_AGAIN = (
    "how long finished jobs are kept is not set for all definitions, or makes no sense, "
    "so nothing is removed; an operator sets it again: PUT /v1/retention, or "
    "`tenure retention set --succeeded 7d --others 30d --keyed 7d`"
)

MOST_ERRORS = 20
_LONGEST_ECHO = 64
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_ECHO + 1},}}")


OF_FIELD = {
    "idempotencyKey": "idempotency-key",
    "concurrencyKeys": "concurrency-keys",
    "runAt": "datetime",
    "until": "datetime",
    "url": "webhook-url",
}
"""Fields whose bad values are a kind of problem of their own."""


class Refusal(Exception):
    """A request that is not done: the kind of problem, and its detail."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        job_status: State | None = None,
        schemas: SchemaMismatch | None = None,
    ) -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.status = KINDS[kind].status
        self.detail = short(detail) or KINDS[kind].title
        self.errors = errors[:MOST_ERRORS]
        self.job_status = job_status
        self.schemas = schemas
        again = {"retry-after": str(RETRY_AFTER)} if self.status in {429, 503} else {}
        self.headers = {**again, **(headers or {})}

    def body(self, request: UUID) -> bytes:
        """The problem as it is sent."""
        kind = KINDS[self.kind]
        return msgspec.json.encode(
            Problem(
                type=f"/docs#{self.kind}",
                title=kind.title,
                status=kind.status,
                detail=self.detail,
                instance=f"urn:uuid:{request}",
                request_id=str(request),
                errors=self.errors,
                job_status=self.job_status,
                schema_found=self.schemas.found if self.schemas else None,
                schema_known=self.schemas.known if self.schemas else None,
            )
        )


def short(text: str) -> str:
    """The text on one line, with long runs of what was sent cut off."""
    flat = " ".join(text.split())
    return _LONG_RUN.sub(lambda found: found[0][: _LONGEST_ECHO - 1] + "…", flat)


def invalid(kind: str, message: str, *, pointer: str | None = None, parameter: str | None = None) -> Refusal:
    """A refusal of one value."""
    name = pointer or parameter or "the body"
    fault = Fault(kind, short(message), None if pointer is None else short(pointer), parameter)
    return Refusal(kind, f"{name}: {message}", errors=[fault])


def together(refused: Sequence[Refusal]) -> Refusal:
    """One refusal for several parts of a request, of the kind of the first."""
    faults = [fault for refusal in refused for fault in refusal.errors]
    return Refusal(refused[0].kind, refused[0].detail, errors=faults)


def refusal_of(error: Exception, names: Mapping[str, str], within: str = "") -> Refusal:
    """The refusal for an error of the engine; `internal` for anything unexpected.

    `names` maps the engine's names of fields to those of the request; `within` points to where they are.
    """
    match error:
        case Refusal():
            return error
        case InvalidParams():
            place = f"{within}/{names.get('params', 'params')}"
            faults = [Fault("invalid-params", short(text), place + at) for at, text in error.problems]
            return Refusal("invalid-params", f"{faults[0].pointer}: {faults[0].message}", errors=faults)
        case InvalidJson():
            return invalid(error.code, problem_and_remedy(error), pointer=error.pointer)
        case UnknownDefinition():
            pointer = f"{within}/{names.get('definition', 'definition')}"
            return invalid("unknown-definition", error.problem, pointer=pointer)
        case IdempotencyConflict():
            message = f"was used before for a different job, {error.job}; send a new key"
            return invalid("idempotency-key-reused", message, pointer=f"{within}/idempotencyKey")
        case PositionGone():
            return Refusal("event-id-gone", f"Last-Event-ID {problem_and_remedy(error)}")
        case InvalidInput():
            name = names.get(error.field, error.field)
            return invalid(
                OF_FIELD.get(name, "validation"), problem_and_remedy(error), pointer=f"{within}/{name}"
            )
        case JobNotFound() | JobNotWaiting() | JobUnfinished() | JobIsAside() | JobsAside():
            return _refusal_of_job(error)
        case NoRoom():
            return Refusal("quota", f"{error}; nothing was recorded, try again later")
        case SchemaMismatch():
            return Refusal("schema-mismatch", _schemas(error), schemas=error)
        case StoreError() | TimeoutError() if not isinstance(error, StoreRefused):
            return _refusal_of_store(error)
        case _:
            return Refusal(
                "internal",
                "the error is in the server's log under this requestId; give the id to its operator",
            )


def _schemas(error: SchemaMismatch) -> str:
    """What does not fit, without what the error says of the database's place."""
    if error.found is None or error.known is None:
        return "the database lacks a part, or has another one; `tenure migrate --check` names it"
    numbers = f"the database has schema {error.found}, this server knows {error.known}"
    return f"{numbers}; {'upgrade the server' if error.found > error.known else 'run `tenure migrate`'}"


def _refusal_of_job(error: JobNotFound | JobNotWaiting | JobUnfinished | JobIsAside | JobsAside) -> Refusal:
    match error:
        case JobNotFound():
            return Refusal("not-found", NO_SUCH_JOB)
        case JobNotWaiting():
            state = State(error.state)
            detail = f"the job is {state} and cannot be rescheduled: {error.remedy}"
            return Refusal("job-terminal" if state.is_final else "job-state", detail, job_status=state)
        case JobUnfinished():
            return Refusal("job-unfinished", f"the job {error.said}")
        case JobIsAside():
            return Refusal(
                "job-aside", "GET /v1/aside says why; mend the cause, then POST /v1/jobs/{jobId}/put-back"
            )
        case JobsAside():
            return Refusal(
                "job-aside", "the job was put aside together with this report; GET /v1/aside says why"
            )


def _refusal_of_store(error: StoreError | TimeoutError) -> Refusal:
    match error:
        case StoreRestored():
            return Refusal("store-restored", str(error))
        case RetentionBroken():
            return Refusal("retention-broken", _SET_AGAIN)
        case TimeoutError():
            detail = f"the database took too long, so the request may or may not be done; {TRY_AGAIN}"
        case _:
            detail = f"the database did not answer, so the request may or may not be done; {TRY_AGAIN}"
    return Refusal("storage-unavailable", detail)


def problem_and_remedy(error: InvalidInput) -> str:
    """What is wrong with a value and, if known, what to give instead."""
    return f"{error.problem}; {error.remedy}" if error.remedy else error.problem
