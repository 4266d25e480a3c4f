"""Webhooks: every committed event that is wanted comes, under one id, signed, and nothing else does."""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

from chaos.casebook import Casebook, Finding
from chaos.webhooks.lives import HookLife
from chaos.webhooks.told import Received
from tenure.core.webhooks.delivery import DeliveryState

_MESSAGE = re.compile("msg_([0-9a-f]{32})_([0-9]+)")
_TEST = "msg_test_"


def i58_every_event_is_told(book: Casebook) -> Iterator[Finding]:
    """I58: every committed event that a webhook wants was taken by its receiver."""
    for life in book.hooks.values():
        for message, happened in life.owed.items():
            if message not in life.taken:
                event, delivery = happened.entry.event, life.deliveries.get(message)
                place = "is not on record" if delivery is None else f"is {delivery.state}"
                said = f"was never told that it {event.type} ({event.n}), which {place}"
                yield event.job, f"{_named(life)}: {said}"
        yield from _gone_untold(book, life)


def i59_nothing_else_is_told(book: Casebook) -> Iterator[Finding]:
    """I59: what is told was committed, is as it was, and was asked for by the webhook that it came to."""
    for request in book.evidence.received:
        if request.hook not in book.hooks:
            yield None, f"{request.message} came to where no webhook leads"
    for life in book.hooks.values():
        for request in life.received:
            if request.message.startswith(_TEST):
                continue
            if request.message not in life.happened:
                yield _job_of(request), f"{_named(life)}: was told {request.message}, which never happened"
            elif request.message not in life.wanted:
                yield _job_of(request), f"{_named(life)}: was told {request.message}, which it did not want"
            elif wrong := _misstated(life, request):
                yield _job_of(request), f"{_named(life)}: {request.message} says {wrong}"


def i60_one_id(book: Casebook) -> Iterator[Finding]:
    """I60: all tries of a message have one id, one body and a signature by the webhook's secret."""
    for life in book.hooks.values():
        bodies: dict[str, str] = {}
        for request in life.received:
            sent = _body(request)
            own = f"msg_{UUID(str(sent['jobId'])).hex}_{sent['n']}" if "jobId" in sent else request.message
            if own != request.message:
                yield _job_of(request), f"{_named(life)}: {own} came as {request.message}"
            if bodies.setdefault(request.message, request.body) != request.body:
                yield _job_of(request), f"{_named(life)}: {request.message} came with two bodies"
            if not _is_signed(request, life.hook.secrets):
                yield _job_of(request), f"{_named(life)}: {request.message} is not signed by its secret"


def i61_deliveries_are_true(book: Casebook) -> Iterator[Finding]:
    """I61: what is on record as delivered was taken, and what was taken is on record as what it is."""
    for life in book.hooks.values():
        for message, delivery in life.deliveries.items():
            if delivery.state is DeliveryState.DELIVERED and message not in life.taken:
                yield delivery.job, f"{_named(life)}: {message} is delivered, and nobody has taken it"
            if delivery.job is not None and message != f"msg_{delivery.job.hex}_{delivery.n}":
                yield delivery.job, f"{_named(life)}: {message} is about event {delivery.n}"
        for message in life.taken - life.deliveries.keys():
            yield None, f"{_named(life)}: {message} was taken, and is not on record"
        if book.terms.quiet:
            for message, delivery in life.deliveries.items():
                if delivery.state is DeliveryState.WAITING:
                    yield delivery.job, f"{_named(life)}: {message} still waits"


INVARIANTS = (i58_every_event_is_told, i59_nothing_else_is_told, i60_one_id, i61_deliveries_are_true)


def _gone_untold(book: Casebook, life: HookLife) -> Iterator[Finding]:
    """Jobs that were pruned had an end, which whoever asks for every end was told, seen or not."""
    asked = life.hook.asked
    is_narrow = asked.definitions or asked.queues or asked.tags or asked.namespace
    if asked.events != ("onEnd",) or is_narrow or life.hook.rests:
        return
    told = {_job_of(request) for request in life.received if request.was_taken}
    before = {one.event.job for one in book.evidence.feed if one.position <= life.hook.after}
    seen = {sighting.job.id for sighting in book.evidence.sightings}
    for job in seen - before - told:
        if job not in book.jobs:
            yield job, f"{_named(life)}: it is gone, and its end was never told"


def _misstated(life: HookLife, request: Received) -> str | None:
    """What a message says otherwise than its event does."""
    happened, sent = life.happened[request.message], _body(request)
    entry = happened.entry
    true = {
        "type": entry.event.type,
        "jobId": str(entry.event.job),
        "n": entry.event.n,
        "state": entry.event.target.value,
        "attempt": entry.event.attempt,
        "queue": entry.line.queue,
        "definition": entry.line.definition,
        "namespace": entry.namespace,
    }
    wrong = {name: sent.get(name) for name, value in true.items() if sent.get(name) != value}
    return str(wrong) if wrong else None


def _is_signed(request: Received, secrets: list[str]) -> bool:
    given = request.headers.get("webhook-signature", "").split(" ")
    signed = f"{request.message}.{request.headers.get('webhook-timestamp')}.{request.body}".encode()
    return any(
        "v1," + b64encode(hmac.digest(b64decode(secret.removeprefix("whsec_")), signed, "sha256")).decode()
        in given
        for secret in secrets
    )


def _body(request: Received) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(request.body)
    return found


def _job_of(request: Received) -> UUID | None:
    found = _MESSAGE.fullmatch(request.message)
    return UUID(found[1]) if found else None


def _named(life: HookLife) -> str:
    return f"webhook {life.hook.asked.url}"
