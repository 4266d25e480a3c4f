"""What follows from one try, without a clock and without a network."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tenure.core.reports.reading import START
from tenure.core.webhooks.delivery import Delivery, DeliveryState, DueDelivery
from tenure.core.webhooks.webhook import FAILURES_TO_CLOSE, NewWebhook, Webhook
from tenure.relay.answer import Answer
from tenure.relay.retry import judged, pause_after

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
TOOK = timedelta(seconds=1)
HOOK = UUID(int=1)


def due(tries: int = 0, **of_webhook: Any) -> DueDelivery:
    asked = NewWebhook(
        id=HOOK, url="https://example.com", events=("failed",), tries=of_webhook.pop("most", 15)
    )
    webhook = Webhook(
        asked=asked, revision=1, rotation=1, after=START, created_at=NOW, updated_at=NOW, **of_webhook
    )
    delivery = Delivery(
        webhook=HOOK, message="msg_1", type="failed", at=NOW, job=None, n=1, tries=tries,
        state=DeliveryState.WAITING, noted_at=NOW, next_at=NOW,
    )  # fmt: skip
    return DueDelivery(delivery=delivery, body="{}", webhook=webhook, secrets=())


def judge(one: DueDelivery, status: int | None = 500, retry_after: str | None = None) -> Any:
    return judged(one, Answer(status, None, retry_after), TOOK, NOW, draw=lambda: 0.5)


def test_pauses_grow_from_five_seconds_to_twelve_hours() -> None:
    """S1.73"""
    pauses = [pause_after(n, draw=lambda: 0.5).total_seconds() for n in range(1, 16)]
    assert pauses[:4] == [5, 10, 20, 40]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 12 * 3600
    assert pause_after(1, draw=lambda: 0).total_seconds() == 3.75
    assert pause_after(1, draw=lambda: 1).total_seconds() == 6.25
    assert pause_after(10**6, draw=lambda: 1) == timedelta(hours=12)


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_an_answer_of_success_delivers(status: int) -> None:
    tried = judge(due(14), status)
    assert (tried.state, tried.retry_after, tried.closes_for, tried.counts) == (
        DeliveryState.DELIVERED, None, None, True,
    )  # fmt: skip


@pytest.mark.parametrize("status", [302, 400, 404, 500, None])
def test_any_other_answer_is_tried_again_until_the_tries_are_used_up(status: int | None) -> None:
    """S1.73: the policy is the subscription's own."""
    assert judge(due(0), status).state is DeliveryState.WAITING
    assert judge(due(13), status).state is DeliveryState.WAITING
    last = judge(due(14), status)
    assert (last.state, last.retry_after, last.counts) == (DeliveryState.DEAD, None, True)
    assert judge(due(2, most=3), status).state is DeliveryState.DEAD


def test_while_an_endpoint_is_away_no_delivery_spends_its_tries() -> None:
    tried = judge(due(14, failures=FAILURES_TO_CLOSE, failing_since=NOW))
    assert (tried.state, tried.counts) == (DeliveryState.WAITING, False)
    assert tried.closes_for == timedelta(seconds=10)


@pytest.mark.parametrize("status", [400, 422])
def test_a_message_that_a_receiver_refuses_is_given_up_though_nothing_else_is_delivered(status: int) -> None:
    """Else it would be tried until its endpoint is paused."""
    closed: dict[str, Any] = {"failures": FAILURES_TO_CLOSE, "failing_since": NOW}
    assert judge(due(3, **closed), status).counts
    assert judge(due(14, **closed), status).state is DeliveryState.DEAD


def test_an_endpoint_is_left_alone_from_its_fifth_failure_on_for_longer_and_longer() -> None:
    closed = [judge(due(0, failures=n)).closes_for for n in range(16)]
    assert closed[:4] == [None] * 4
    assert closed[4:7] == [timedelta(seconds=n) for n in (5, 10, 20)]
    assert closed[15] == timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60),
        (" 60 ", 60),
        ("0", 5),
        ("999999999", 12 * 3600),
        ("9e99", 5),
        ("-1", 5),
        ("soon", 5),
        ("", 5),
        ("Fri, 02 Jan 2026 12:02:00 GMT", 120),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 5),
        ("Fri, 02 Jan 2099 12:02:00 GMT", 12 * 3600),
        ("Fri, 02 Jan 99999 12:02:00 GMT", 5),
        ("1" * 100, 5),
    ],
)
def test_what_the_receiver_asks_for_is_honoured_within_bounds(text: str, seconds: int) -> None:
    assert judge(due(), 429, text).retry_after == timedelta(seconds=seconds)
    assert judge(due(), 500, text).retry_after == timedelta(seconds=seconds)


def test_too_many_requests_close_the_endpoint_for_all_that_waits() -> None:
    assert judge(due(), 429, "60").closes_for == timedelta(seconds=60)
    assert judge(due(), 503, "99999").closes_for == timedelta(hours=1)
    assert judge(due(), 429).closes_for is None
    assert judge(due(), 500, "60").closes_for is None


def test_gone_for_good_and_three_days_of_failure_pause_the_endpoint() -> None:
    assert "410" in judge(due(), 410).pauses
    assert judge(due(), 410).state is DeliveryState.WAITING
    young, old = NOW - timedelta(days=2.9), NOW - timedelta(days=3)
    assert judge(due(failures=9, failing_since=young)).pauses is None
    assert "since 2025-12-30" in judge(due(failures=9, failing_since=old)).pauses
    assert judge(due(failures=9, failing_since=old), 200).pauses is None


def test_what_is_recorded_is_of_the_delivery_that_was_tried() -> None:
    tried = judge(due(3), 500)
    assert msgspec.structs.replace(tried, retry_after=None) == msgspec.structs.replace(
        tried, retry_after=None, webhook=HOOK, message="msg_1", took=TOOK, status=500
    )
