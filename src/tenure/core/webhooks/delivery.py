"""Deliveries: the events that are on their way to an endpoint, and what became of each."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.reports.reading import FeedEntry, Position
from tenure.core.webhooks.webhook import Secret, Webhook


class DeliveryState(StrEnum):
    """Where a delivery is: to be tried, taken by the receiver, or given up."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class NewDelivery(Struct, frozen=True, kw_only=True):
    """An event to be sent to one webhook. `message` is the same in all tries; `body` is what is sent.

    A test has no job.
    """

    webhook: UUID
    message: str
    type: str
    at: datetime
    body: str
    job: UUID | None = None
    n: int = 0


class Delivery(Struct, frozen=True, kw_only=True):
    """A delivery on record: how often it was tried, how the last try ended, and when the next one may be.

    `status` is that of the last answer, None where there was none; then `problem` says why.
    """

    webhook: UUID
    message: str
    type: str
    at: datetime
    job: UUID | None
    n: int
    state: DeliveryState
    tries: int
    noted_at: datetime
    next_at: datetime | None
    tried_at: datetime | None = None
    status: int | None = None
    took: timedelta | None = None
    problem: str | None = None


class DueDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that its holder tries now, with all that this needs. `secrets` are those that sign it."""

    delivery: Delivery
    body: str
    webhook: Webhook
    secrets: tuple[Secret, ...]


class Try(Struct, frozen=True, kw_only=True):
    """How one try ended.

    `retry_after` is when to try again: None with the state `delivered` or `dead`. `closes_for` is how long
    the endpoint as a whole is left alone. `pauses` says why the endpoint is to be paused, if it is.
    """

    webhook: UUID
    message: str
    state: DeliveryState
    took: timedelta
    status: int | None = None
    problem: str | None = None
    retry_after: timedelta | None = None
    closes_for: timedelta | None = None
    pauses: str | None = None
    counts: bool = True
    """Whether it is one of the delivery's tries: not where the endpoint as a whole is away."""


class Cursor(Struct, frozen=True, kw_only=True):
    """How far the feed was fanned out. `generation` counts changes of the webhooks that it fans out to.

    The one of a single `webhook` catches up with what came before, and ends behind `until`. Events that
    happened before `since` are not meant: it begins some way before them. What came behind the beginning of
    the webhook is meant in any case, but `again`, which sends once more what is on record.
    """

    name: str
    position: Position
    generation: int
    now: datetime
    webhook: UUID | None = None
    until: Position | None = None
    since: datetime | None = None
    again: bool = False


class ScannedEvent(Struct, frozen=True):
    """An event of the feed with what a subscription may ask about beside it."""

    entry: FeedEntry
    tags: tuple[str, ...]


class Scanned(Struct, frozen=True):
    """Events of interest, and how far the feed was read for them.

    It goes on from `position`, whether or not anything was found; `is_end` where there was no more.
    """

    events: list[ScannedEvent]
    position: Position
    is_end: bool


class LastTry(Struct, frozen=True):
    """When the last try of a delivery was made, how long it took, and whether it delivered."""

    at: datetime
    took: timedelta | None
    is_delivered: bool


class LastTries(Struct, frozen=True):
    """The last tries of deliveries, the oldest first.

    They are complete from `since` on; None if these are all. A try that was followed by another one of the
    same delivery is not among them.
    """

    since: datetime | None
    tries: Sequence[LastTry]
