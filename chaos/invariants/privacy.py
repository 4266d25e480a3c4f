"""What nobody may hear: of another's jobs, and of secrets that were planted for the purpose."""

import re
from collections.abc import Iterator
from uuid import UUID

import msgspec
from msgspec.structs import replace

from chaos.casebook import Casebook, Finding
from tenure.core.values.documents import EMPTY

_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def i46_tenancy(book: Casebook) -> Iterator[Finding]:
    """I46: who is bound to a namespace hears of no job outside of it, nor a word that only others use."""
    for reply in book.evidence.replies:
        if reply.namespace is None:
            continue
        told = f"{reply.asked} was answered {reply.status} to {reply.namespace} with"
        for found in dict.fromkeys(map(UUID, _ID.findall(reply.text))):
            job = book.jobs.get(found)
            if job is not None and job.namespace != reply.namespace:
                yield found, f"{told} the id of a job of {job.namespace}"
        for namespace, mark in book.evidence.marks.items():
            if namespace != reply.namespace and mark in reply.text:
                yield None, f"{told} the mark of {namespace}"


def i47_canaries_stay_put(book: Casebook) -> Iterator[Finding]:
    """I47: no secret that was planted stands in what was answered, written or recorded, but for params."""
    if not book.evidence.secrets:
        return
    for place, job, text in _told(book):
        for secret in book.evidence.secrets:
            if secret.text in text:
                yield job, f"{secret.name} stands in {place}"


INVARIANTS = (i46_tenancy, i47_canaries_stay_put)


def _told(book: Casebook) -> Iterator[tuple[str, UUID | None, str]]:
    """Everything that somebody may come to read: what it is, of which job, its text."""
    found = book.evidence
    for reply in found.replies:
        yield f"the answer {reply.status} to {reply.asked}", None, reply.text
    for writing in found.writings:
        yield writing.name, None, writing.text
    for event in found.events:
        yield f"event {event.n}", event.job, _text(event)
    for attempt in found.attempts:
        yield f"attempt {attempt.number}", attempt.job, _text(attempt)
    for job in found.jobs:
        yield "its row", job.id, _text(replace(job, params=EMPTY))


def _text(record: object) -> str:
    return msgspec.json.encode(record).decode()
