"""A webhook: an endpoint, the events that it asks for, and how it does."""

import difflib
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.states import FINAL
from tenure.core.model.trail import CUSTOM
from tenure.core.reports.reading import EVENT_TYPES, Position
from tenure.core.values.bounds import distinct, named, whole, within

GROUPS = {
    "onStart": ("started",),
    "onSuccess": ("succeeded",),
    "onFail": ("failed", "buried"),
    "onEnd": tuple(sorted(FINAL)),
}
"""Names for groups of events; every type of event has its own name besides."""

MOST_EVENTS = 50
MOST_NAMES = 100
MOST_TRIES = 15
LONGEST_TIMEOUT = timedelta(seconds=30)
MOST_AT_ONCE = 5
"""Deliveries to one endpoint that are under way at a time, among all processes."""
FAILURES_TO_CLOSE = 5
"""Failures in a row, after which an endpoint is tried by one delivery at a time."""
MOST_WAITING = 100_000
"""With more deliveries waiting a webhook is paused."""
BY_ITSELF = "tenure"
"""Who paused a webhook that nobody paused."""

_LONGEST_TYPE = 64


class NewWebhook(Struct, frozen=True, kw_only=True):
    """What is asked for: send these events to this URL.

    Without a `namespace` it gets the events of all. `definitions`, `queues` and `tags` narrow it down; of
    several names any one matches, and empty ones do not filter. `creator` is the key of the request: params
    and results are sent only while that key may read them.
    """

    id: UUID
    url: str
    events: tuple[str, ...]
    namespace: str | None = None
    definitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    with_params: bool = False
    with_result: bool = False
    tries: int = MOST_TRIES
    timeout: timedelta = timedelta(seconds=10)
    creator: str | None = None

    def __post_init__(self) -> None:
        if not self.events:
            raise InvalidInput("events", "is empty", f"give some of {', '.join([*GROUPS, *EVENT_TYPES])}")
        distinct("events", self.events, MOST_EVENTS)
        for event in self.events:
            _check_event(event)
        for field in ("definitions", "queues", "tags"):
            names: tuple[str, ...] = getattr(self, field)
            distinct(field, names, MOST_NAMES)
            for name in names:
                named(field, name)
        if self.namespace is not None:
            named("namespace", self.namespace)
        whole("tries", self.tries, 1, MOST_TRIES)
        within("timeout", self.timeout, timedelta(seconds=1), LONGEST_TIMEOUT)

    @property
    def types(self) -> frozenset[str]:
        """The types of events that it asks for."""
        return frozenset().union(*(GROUPS.get(event, (event,)) for event in self.events))


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook on record. `revision` counts changes of what is asked for, `rotation` those of its secret.

    `after` is where it begins: it gets what comes behind this position. `failing_since` is when the first of
    the `failures` in a row was; until `closed_until` nothing is tried. Of one that is paused, events up to
    `paused_behind` were fanned out.
    """

    asked: NewWebhook
    revision: int
    rotation: int
    after: Position
    created_at: datetime
    updated_at: datetime
    paused_at: datetime | None = None
    paused_by: str | None = None
    reason: str | None = None
    paused_behind: Position | None = None
    failing_since: datetime | None = None
    failures: int = 0
    closed_until: datetime | None = None
    delivered_at: datetime | None = None

    @property
    def id(self) -> UUID:
        """Its id."""
        return self.asked.id

    @property
    def namespace(self) -> str | None:
        """The namespace whose events it gets; None for those of all."""
        return self.asked.namespace


class UnreadableWebhook(Struct, frozen=True, kw_only=True):
    """A webhook that this version cannot read, and leaves to those that can; `problem` says why.

    A newer version has written it, or its row was changed by hand. `after` is where it begins, if that much
    can be read.
    """

    id: UUID
    after: Position | None
    namespace: str | None
    creator: str | None
    revision: int
    created_at: datetime
    updated_at: datetime
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    failing_since: datetime | None
    failures: int
    closed_until: datetime | None
    delivered_at: datetime | None
    problem: str


KnownWebhook = Webhook | UnreadableWebhook
"""A webhook on record, as far as this version can read it."""


class Secret(Struct, frozen=True):
    """A secret of a webhook by the number of its rotation; `text` is None where it is derived, not stored."""

    rotation: int
    text: str | None

    def __repr__(self) -> str:
        return f"Secret(rotation={self.rotation})"


class WebhookFigures(Struct, frozen=True, kw_only=True):
    """How the deliveries of a webhook do: by state, and since when the oldest that waits is noted.

    Of those that were delivered, the ones noted within a day are counted; those given up as long as they are
    kept. Both are counted up to 100,000.
    """

    waiting: int
    oldest_waiting: datetime | None
    delivered: int
    dead: int


def types_of(webhooks: Iterable[Webhook]) -> frozenset[str]:
    """The types of events that any of them asks for."""
    return frozenset().union(*(webhook.asked.types for webhook in webhooks))


def _check_event(event: str) -> None:
    known = [*GROUPS, *EVENT_TYPES]
    if event in known:
        return
    if event.startswith(CUSTOM):
        named("events", event.removeprefix(CUSTOM))
        return
    # Compared in lower case and cut short: a long text must not take long.
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(event[:_LONGEST_TYPE].lower(), by_lower, n=1)
    remedy = (
        f"did you mean {by_lower[close[0]]}?"
        if close
        else f"give {CUSTOM}<name>, or some of {', '.join(known)}"
    )
    raise InvalidInput("events", f"has {event!r:.64}", remedy)
