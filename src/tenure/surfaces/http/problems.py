"""Problems (RFC 9457): every refusal that the server makes, and which one an error of the engine is.

Nothing inside leaks: what a store or a bug says stays with the operator. Of what was sent, at most 64
characters in a row come back.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import (
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    InvalidParams,
    JobIsAside,
    JobNotFound,
    JobsAside,
    JobUnfinished,
    NoRoom,
    StoreError,
    StoreRefused,
    UnknownDefinition,
)
from tenure.core.states import State

MEDIA_TYPE = b"application/problem+json"
RETRY_AFTER = 2
"""Seconds after which a client may come back, where store, server or queue had no room or no answer."""

MOST_ERRORS = 20
_LONGEST_ECHO = 64
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_ECHO + 1},}}")


class Kind(NamedTuple):
    """A kind of problem: its status, and what it is in a few words."""

    status: int
    title: str


KINDS = {
    "malformed-request": Kind(400, "The request is not HTTP as it should be"),
    "malformed-json": Kind(400, "The body is not JSON"),
    "duplicate-key": Kind(400, "A key stands more than once in its object"),
    "too-deep": Kind(400, "The body is nested too deeply"),
    "invalid-cursor": Kind(400, "The cursor is not one that was given for this list"),
    "invalid-event-id": Kind(400, "The event id is not one that was given on this stream"),
    "unauthenticated": Kind(401, "The request has no key that is valid"),
    "insufficient-scope": Kind(403, "The caller may not do this"),
    "csrf": Kind(403, "The request comes from a page of another origin"),
    "not-found": Kind(404, "There is no such thing"),
    "method-not-allowed": Kind(405, "The method is not one of this path"),
    "not-acceptable": Kind(406, "The answer is in no form that the client accepts"),
    "request-timeout": Kind(408, "The request took too long to arrive"),
    "job-terminal": Kind(409, "The job has ended already"),
    "job-unfinished": Kind(409, "The job has not ended yet"),
    "job-state": Kind(409, "The job is not where the request makes sense"),
    "job-aside": Kind(409, "The database refuses to move the job"),
    "lease-lost": Kind(409, "The lease does not hold any more"),
    "definition-conflict": Kind(409, "The version is registered with other content"),
    "no-result": Kind(409, "The job ended without a result"),
    "too-large": Kind(413, "The body is too large"),
    "uri-too-long": Kind(414, "The address is too long"),
    "unsupported-media-type": Kind(415, "The body is in a form that is not taken"),
    "misdirected-request": Kind(421, "The server does not go by this name"),
    "validation": Kind(422, "A value cannot be taken"),
    "unknown-field": Kind(422, "A field or parameter is not known"),
    "unknown-definition": Kind(422, "No such definition is registered"),
    "invalid-params": Kind(422, "The params do not fit their definition"),
    "invalid-definition": Kind(422, "The parts do not make a definition"),
    "number-range": Kind(422, "A number is out of range"),
    "invalid-character": Kind(422, "A text holds a character that cannot be kept"),
    "too-many-keys": Kind(422, "An object has too many keys"),
    "datetime": Kind(422, "A time cannot be taken"),
    "concurrency-keys": Kind(422, "The concurrency keys cannot be taken"),
    "idempotency-key": Kind(422, "The idempotency key cannot be taken"),
    "idempotency-key-reused": Kind(422, "The idempotency key was used for something else"),
    "too-many-requests": Kind(429, "There were too many requests"),
    "quota": Kind(429, "There is no room for more at present"),
    "headers-too-large": Kind(431, "The headers are too large or too many"),
    "internal": Kind(500, "Something went wrong inside"),
    "busy": Kind(503, "The server has no room at present"),
    "storage-unavailable": Kind(503, "The store does not answer at present"),
}
"""Every kind by its name."""

OF_FIELD = {
    "idempotencyKey": "idempotency-key",
    "concurrencyKeys": "concurrency-keys",
    "runAt": "datetime",
    "until": "datetime",
}
"""Fields whose bad values are a kind of their own."""


class Fault(Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with what was sent: where in the body, or in which parameter."""

    code: str
    message: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The answer to a request that was not done. `jobStatus` is where the job stands that it was about."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: Sequence[Fault] = ()
    job_status: State | None = None


class Refusal(Exception):
    """A request will not be done: the kind of problem, and what to say of it."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        job_status: State | None = None,
    ) -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.status = KINDS[kind].status
        self.detail = short(detail) or KINDS[kind].title
        self.errors = errors[:MOST_ERRORS]
        self.job_status = job_status
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
            )
        )


def short(text: str) -> str:
    """The text on one line, without more of what was sent than may come back."""
    flat = " ".join(text.split())
    return _LONG_RUN.sub(lambda found: found[0][: _LONGEST_ECHO - 1] + "…", flat)


def invalid(kind: str, message: str, *, pointer: str | None = None, parameter: str | None = None) -> Refusal:
    """A refusal of one value."""
    name = pointer or parameter or "the body"
    fault = Fault(kind, short(message), None if pointer is None else short(pointer), parameter)
    return Refusal(kind, f"{name}: {message}", errors=[fault])


def together(refused: Sequence[Refusal]) -> Refusal:
    """One refusal for several parts of a request; the first one's kind is that of the whole."""
    faults = [fault for refusal in refused for fault in refusal.errors]
    return Refusal(refused[0].kind, refused[0].detail, errors=faults)


def refusal_of(error: Exception, names: Mapping[str, str], within: str = "") -> Refusal:
    """What an error of the engine is to the caller; anything unexpected is `internal`.

    `names` has the fields of the request by the engine's own words, and `within` is where they stand.
    """
    match error:
        case Refusal():
            return error
        case InvalidParams():
            place = f"{within}/{names.get('params', 'params')}"
            faults = [Fault("invalid-params", short(text), place + at) for at, text in error.problems]
            return Refusal("invalid-params", f"{faults[0].pointer}: {faults[0].message}", errors=faults)
        case InvalidJson():
            return invalid(error.code, _said(error), pointer=error.pointer)
        case UnknownDefinition():
            pointer = f"{within}/{names.get('definition', 'definition')}"
            return invalid("unknown-definition", error.problem, pointer=pointer)
        case IdempotencyConflict():
            message = f"was used before for something else, by job {error.job}"
            return invalid("idempotency-key-reused", message, pointer=f"{within}/idempotencyKey")
        case InvalidInput():
            name = names.get(error.field, error.field)
            return invalid(OF_FIELD.get(name, "validation"), _said(error), pointer=f"{within}/{name}")
        case JobNotFound() | JobUnfinished() | JobIsAside() | JobsAside():
            return _refusal_of_job(error)
        case NoRoom():
            return Refusal("quota", f"{error}; nothing was recorded, try again later")
        case StoreError() if not isinstance(error, StoreRefused):
            return Refusal(
                "storage-unavailable", "nothing is known to be recorded; with its key it is safe to try again"
            )
        case TimeoutError():
            return Refusal(
                "storage-unavailable", "the store took too long; with its key it is safe to try again"
            )
        case _:
            return Refusal("internal", "it is on record under this request's id")


def _refusal_of_job(error: JobNotFound | JobUnfinished | JobIsAside | JobsAside) -> Refusal:
    match error:
        case JobNotFound():
            return Refusal("not-found", "there is no such job")
        case JobUnfinished():
            return Refusal("job-unfinished", f"the job {error.said}")
        case JobIsAside():
            said = "it is aside, and goes on when it was mended and is put back; /v1/aside says why"
            return Refusal("job-aside", said)
        case JobsAside():
            return Refusal("job-aside", "it was put aside with what was reported; /v1/aside says why")


def _said(error: InvalidInput) -> str:
    return f"{error.problem}; {error.remedy}" if error.remedy else error.problem
