"""Problems (RFC 9457): every kind, and the body of one."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from tenure.core.model.states import State


class Kind(NamedTuple):
    """A kind of problem: its HTTP status and its title."""

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
    "signal-differs": Kind(409, "The signal was sent before, with another payload"),
    "not-in-doubt": Kind(409, "There is no such effect in doubt"),
    "step-differs": Kind(409, "Another step is kept under this name"),
    "progress-full": Kind(409, "The job keeps as much as it may"),
    "lease-lost": Kind(409, "The lease does not hold any more"),
    "definition-conflict": Kind(409, "The version is registered with other content"),
    "schedule-exists": Kind(409, "There is a schedule of that name already"),
    "webhook-unreadable": Kind(409, "This version cannot read the webhook"),
    "schedule-unreadable": Kind(409, "This version cannot read the schedule"),
    "schedule-in-code": Kind(409, "The schedule is declared in code, and only changed there"),
    "schedule-of-task": Kind(409, "The schedule is a task that repeats, and is not edited"),
    "no-result": Kind(409, "The job ended without a result"),
    "event-id-gone": Kind(410, "What stood at this event id was lost when the database was restored"),
    "revision-mismatch": Kind(412, "What is changed is not as it was read any more"),
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
    "webhook-url": Kind(422, "Nothing can be sent to this URL"),
    "datetime": Kind(422, "A time cannot be taken"),
    "concurrency-keys": Kind(422, "The concurrency keys cannot be taken"),
    "idempotency-key": Kind(422, "The idempotency key cannot be taken"),
    "idempotency-key-reused": Kind(422, "The idempotency key was used for something else"),
    "revision-required": Kind(428, "The request does not say which revision it changes"),
    "too-many-requests": Kind(429, "There were too many requests"),
    "quota": Kind(429, "There is no room for more at present"),
    "headers-too-large": Kind(431, "The headers are too large or too many"),
    "internal": Kind(500, "Something went wrong inside"),
    "busy": Kind(503, "The server has no room at present"),
    "storage-unavailable": Kind(503, "The store does not answer at present"),
    "retention-broken": Kind(503, "How long finished jobs are kept is not set as it should be"),
    "schema-mismatch": Kind(503, "The schema of the database does not fit this version"),
    "store-restored": Kind(503, "The store was restored from a backup and cannot go on yet"),
}
"""Every kind by its name."""


class Fault(Struct, frozen=True, omit_defaults=True):
    """One error in a request: where in the body, or in which parameter."""

    code: str
    message: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The answer to a request that was refused or failed; `jobStatus` is the status of its job, if any.

    Where schemas do not fit, `schemaFound` is the database's and `schemaKnown` that of the server.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: Sequence[Fault] = ()
    job_status: State | None = None
    schema_found: int | None = None
    schema_known: int | None = None
