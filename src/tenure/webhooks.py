"""For receivers of webhooks: proves that a request is Tenure's, and reads the event in it.

    event = webhooks.verify(await request.body(), request.headers, os.environ["WEBHOOK_SECRET"])

A request may come more than once, and events of a job may come out of order: `id` is the same each time, and
`n` counts the events of a job.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.webhooks.signature import (
    ANY_TEXT,
    ID,
    SIGNATURE,
    TIMESTAMP,
    SignedMessage,
    is_signed,
    key_of,
    seconds_of,
)

__all__ = ["NotVerified", "WebhookError", "WebhookEvent", "verify"]

TOLERANCE = timedelta(minutes=5)
"""How far the clocks of sender and receiver may differ, and how long a request may be on its way."""


class NotVerified(TenureError):
    """A request that is not Tenure's, was changed, or is too old: answer with 400, and do nothing else."""


class WebhookError(Struct, frozen=True, kw_only=True):
    """Why an attempt failed."""

    kind: str = ""
    message: str = ""


class WebhookEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event as it was sent. `id` is the same each time it is sent; a test of a webhook has no job.

    `state` is where the job went by this event, `n` the place of the event in the job's history. `params`,
    `result`, and the `payload` of what a handler has noted are there if the webhook asks for them, and only
    while the key that made it may read them.
    """

    id: str = ""
    type: str
    timestamp: datetime
    job_id: UUID | None = None
    definition: str | None = None
    version: int | None = None
    queue: str | None = None
    namespace: str | None = None
    tags: tuple[str, ...] = ()
    state: str | None = None
    attempt: int | None = None
    n: int | None = None
    reason: str | None = None
    error: WebhookError | None = None
    payload: Any = None
    params: Any = None
    result: Any = None
    omitted: tuple[str, ...] = ()


_EVENT = msgspec.json.Decoder(WebhookEvent)


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance: timedelta = TOLERANCE,
) -> WebhookEvent:
    """The event in a request, once its signature is found to be right; raises NotVerified.

    `body` is what came, byte by byte: a body that was parsed and written anew does not fit its signature.
    Of several secrets any one will do. A secret that is none, or no secret at all, raises InvalidInput.
    """
    keys = [key_of(one) for one in ([secret] if isinstance(secret, str) else secret)]
    if not keys:
        raise InvalidInput("secret", "is missing", "give the secret that the webhook's creation has told")
    sent = body.encode(errors=ANY_TEXT) if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    seconds = seconds_of(_header(given, TIMESTAMP))
    if seconds is None:
        raise NotVerified(f"{TIMESTAMP} is not a time in seconds")
    signed = SignedMessage(_header(given, ID), seconds, sent)
    if not is_signed(signed, _header(given, SIGNATURE), keys):
        raise NotVerified("no signature fits: the secret is another one, or the body is not as it was sent")
    if abs(datetime.now(UTC).timestamp() - seconds) > tolerance.total_seconds():
        raise NotVerified(
            f"{TIMESTAMP} is more than {tolerance} away from now: an old request, or a clock is wrong"
        )
    try:
        event = _EVENT.decode(sent)
    except msgspec.MsgspecError as error:
        raise NotVerified(f"the body is not an event of Tenure: {error}") from None
    return msgspec.structs.replace(event, id=signed.id)


def _header(given: Mapping[str, str], name: str) -> str:
    value = given.get(name)
    if not value:
        raise NotVerified(f"the header {name} is missing")
    return value
