"""What follows from one try: how it ended, when the next one is, and what becomes of the endpoint."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from random import random

from tenure.core.webhooks.delivery import DeliveryState, DueDelivery, Try
from tenure.core.webhooks.webhook import FAILURES_TO_CLOSE
from tenure.relay.answer import Answer

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(hours=12)
LONGEST_CLOSED = timedelta(hours=1)
"""The longest time in which an endpoint that is away is not tried at all."""

FAILS_FOR = timedelta(days=3)
"""After so long a time of nothing but failures an endpoint is paused."""

REFUSED_MESSAGE = frozenset({400, 413, 415, 422})
"""Statuses that speak of one message: its tries count even where nothing else was delivered for long."""

GONE = 410
TOO_MANY = frozenset({429, 503})
"""Statuses that speak for the endpoint as a whole: its `Retry-After` holds for all that waits for it."""

_SECONDS = re.compile(r"[0-9]{1,9}")

Random = Callable[[], float]


def judged(due: DueDelivery, answer: Answer, took: timedelta, now: datetime, *, draw: Random = random) -> Try:
    """What to record of a try. `now` is the store's time."""
    webhook, delivery = due.webhook, due.delivery
    if answer.status is not None and 200 <= answer.status < 300:
        return _tried(due, answer, took, DeliveryState.DELIVERED)
    is_away = webhook.failures >= FAILURES_TO_CLOSE and answer.status not in REFUSED_MESSAGE
    tries = delivery.tries + 1
    told = _told(answer.retry_after, now)
    if not is_away and tries >= webhook.asked.tries:
        state, again = DeliveryState.DEAD, None
    else:
        state, again = DeliveryState.WAITING, max(pause_after(tries, draw=draw), told or timedelta(0))
    return Try(
        webhook=webhook.id,
        message=delivery.message,
        state=state,
        took=took,
        status=answer.status,
        problem=answer.problem,
        retry_after=again,
        closes_for=_closes_for(webhook.failures + 1, answer, told, draw),
        pauses=_pauses(due, answer, now),
        counts=not is_away,
    )


def unsigned(due: DueDelivery) -> Try:
    """What to record where this process has no secret to sign with: it is tried again, by others as well."""
    return Try(
        webhook=due.webhook.id,
        message=due.delivery.message,
        state=DeliveryState.WAITING,
        took=timedelta(0),
        problem="cannot be signed: its secret is derived, and this process has no TENURE_WEBHOOK_KEY",
        retry_after=timedelta(minutes=1),
        counts=False,
    )


def pause_after(tries: int, *, longest: timedelta = LONGEST_PAUSE, draw: Random = random) -> timedelta:
    """How long to wait after so many failures: twice as long each time, and by a quarter more or less."""
    pause = min(FIRST_PAUSE * 2.0 ** min(max(tries, 1) - 1, 30), longest)
    return min(pause * (0.75 + draw() / 2), longest)


def _tried(due: DueDelivery, answer: Answer, took: timedelta, state: DeliveryState) -> Try:
    return Try(
        webhook=due.webhook.id, message=due.delivery.message, state=state, took=took, status=answer.status
    )


def _closes_for(failures: int, answer: Answer, told: timedelta | None, draw: Random) -> timedelta | None:
    own = None
    if failures >= FAILURES_TO_CLOSE:
        own = pause_after(failures - FAILURES_TO_CLOSE + 1, longest=LONGEST_CLOSED, draw=draw)
    if told is not None and answer.status in TOO_MANY:
        return min(max(told, own or timedelta(0)), LONGEST_CLOSED)
    return own


def _pauses(due: DueDelivery, answer: Answer, now: datetime) -> str | None:
    if answer.status == GONE:
        return "it answered 410: it is gone for good"
    since = due.webhook.failing_since
    if since is not None and now - since >= FAILS_FOR:
        return f"nothing but failures since {since:%Y-%m-%d %H:%MZ}"
    return None


def _told(text: str | None, now: datetime) -> timedelta | None:
    """What a header `Retry-After` asks for, within bounds; None if it says nothing that can be understood."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return min(timedelta(seconds=int(text)), LONGEST_PAUSE)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max(aware - now, timedelta(0)), LONGEST_PAUSE)
