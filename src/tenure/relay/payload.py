"""What is sent of an event: which job, what and when; of texts and documents all but secrets."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tenure.api.redaction import Redaction
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.core.webhooks.delivery import NewDelivery, ScannedEvent
from tenure.core.webhooks.webhook import Webhook

LARGEST_DOCUMENT = 64 * 1024
"""How many characters of params, of a result or of a note are sent; what is larger is named in `omitted`."""

LONGEST_TEXT = 4096

_parts = msgspec.json.Decoder(dict[str, Raw]).decode

WITH_ERROR = frozenset({"retrying", "failed", "orphaned", "buried"})
"""Types of events that may have an error to tell of."""


class ErrorSent(Struct, frozen=True):
    """Why an attempt failed, without its traceback."""

    kind: str
    message: str


class Payload(Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a message. Optional parts that it does not have are left out."""

    type: str
    timestamp: datetime
    job_id: UUID
    definition: str
    version: int
    queue: str
    namespace: str
    tags: tuple[str, ...]
    state: State
    attempt: int
    n: int
    reason: str | UnsetType = UNSET
    error: ErrorSent | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    omitted: tuple[str, ...] | UnsetType = UNSET


def message_id(job: UUID, n: int) -> str:
    """The id of the message about an event: the same in all tries, and wherever it is sent from."""
    return f"msg_{job.hex}_{n}"


def needs_job(event: ScannedEvent, webhook: Webhook, *, has_documents: bool) -> bool:
    """Whether more of the job is sent than its event has."""
    asked = webhook.asked
    wants = asked.with_params or (asked.with_result and event.entry.event.type == "succeeded")
    return event.entry.event.type in WITH_ERROR or (has_documents and wants)


def new_delivery(
    webhook: Webhook, scanned: ScannedEvent, job: Job | None, redaction: Redaction, *, has_documents: bool
) -> NewDelivery:
    """The delivery of an event. `job` is None where nothing more of it is sent, or where it is gone."""
    event = scanned.entry.event
    parts = _documents(webhook, scanned, job, redaction) if has_documents else {}
    omitted = tuple(name for name, part in parts.items() if part is None)
    line = scanned.entry.line
    payload = Payload(
        type=event.type,
        timestamp=event.at,
        job_id=event.job,
        definition=line.definition,
        version=line.version,
        queue=line.queue,
        namespace=scanned.entry.namespace,
        tags=scanned.tags,
        state=event.target,
        attempt=event.attempt,
        n=event.n,
        reason=redaction.text(event.reason)[:LONGEST_TEXT] if event.reason else UNSET,
        error=_error(job, scanned, redaction),
        omitted=omitted or UNSET,
        **{name: part for name, part in parts.items() if part is not None},
    )
    return NewDelivery(
        webhook=webhook.id,
        message=message_id(event.job, event.n),
        type=event.type,
        at=event.at,
        body=msgspec.json.encode(payload).decode(),
        job=event.job,
        n=event.n,
    )


def without_documents(body: str, webhook: Webhook, *, may_read: bool) -> str:
    """A body with no more documents than its webhook is given now; the very same if it has no others."""
    asked = webhook.asked
    if asked.with_params and asked.with_result and may_read:
        return body
    dropped = {
        *(() if asked.with_params and may_read else ("payload", "params")),
        *(() if asked.with_result and may_read else ("result",)),
    }
    sent = _parts(body)
    if dropped.isdisjoint(sent):
        return body
    return msgspec.json.encode({name: part for name, part in sent.items() if name not in dropped}).decode()


def _error(job: Job | None, scanned: ScannedEvent, redaction: Redaction) -> ErrorSent | UnsetType:
    """The error of the attempt that the event is about: a later one is told by its own event."""
    event = scanned.entry.event
    if job is None or event.type not in WITH_ERROR or job.attempt != event.attempt:
        return UNSET
    error: Failure | None = job.error
    if error is None:
        return UNSET
    return ErrorSent(error.kind, redaction.text(error.message)[:LONGEST_TEXT])


def _documents(
    webhook: Webhook, scanned: ScannedEvent, job: Job | None, redaction: Redaction
) -> dict[str, Raw | None]:
    """The documents that the webhook asks for, redacted; None for what is too large to be sent."""
    asked, event = webhook.asked, scanned.entry.event
    found: dict[str, Document | None] = {}
    if asked.with_params:
        found["payload"] = event.payload
        found["params"] = None if job is None else job.params
    if asked.with_result and job is not None and event.type == "succeeded":
        found["result"] = job.result
    return {name: _raw(document, redaction) for name, document in found.items() if document is not None}


def _raw(document: Document, redaction: Redaction) -> Raw | None:
    return Raw(redaction.document(document)) if len(document) <= LARGEST_DOCUMENT else None
