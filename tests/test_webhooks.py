"""`tenure.webhooks`, which receivers use, in both directions against the reference of the standard."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from standardwebhooks import Webhook

from tenure import webhooks
from tenure.core.errors import InvalidInput, TenureError
from tenure.core.webhooks.signature import random_secret, signed_headers

SECRET, OTHER = random_secret(), random_secret()
JOB = UUID(int=3)
BODY = json.dumps(
    {
        "type": "failed",
        "timestamp": "2026-01-02T03:04:05.600Z",
        "jobId": str(JOB),
        "definition": "mail",
        "version": 1,
        "queue": "default",
        "namespace": "default",
        "tags": ["a"],
        "state": "failed",
        "attempt": 3,
        "n": 7,
        "error": {"kind": "ValueError", "message": "no é"},
        "payload": {"paid": 5},
        "unheardOf": 1,
    },
    ensure_ascii=False,
).encode()


def headers(*secrets: str, body: bytes = BODY, late: timedelta = timedelta(0)) -> dict[str, str]:
    return signed_headers("msg_1", datetime.now(UTC) - late, body, secrets or [SECRET])


def test_what_we_send_is_verified_by_the_reference() -> None:
    """S1.73"""
    assert Webhook(SECRET).verify(BODY, headers())["jobId"] == str(JOB)
    assert Webhook(OTHER).verify(BODY, headers(SECRET, OTHER))["n"] == 7


def test_what_the_reference_signs_is_verified_by_us() -> None:
    """S1.73"""
    now = datetime.now(UTC)
    event = webhooks.verify(
        BODY,
        {
            "Webhook-Id": "msg_1",
            "WEBHOOK-TIMESTAMP": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign("msg_1", now, BODY.decode()),
        },
        SECRET,
    )
    assert (event.id, event.type, event.job_id, event.state, event.n) == ("msg_1", "failed", JOB, "failed", 7)
    assert event.error == webhooks.WebhookError(kind="ValueError", message="no é")
    assert event.payload == {"paid": 5}
    assert event.timestamp == datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


@pytest.mark.parametrize("body", [BODY, BODY.decode(), bytearray(BODY)])
def test_a_body_is_bytes_or_text(body: bytes | str) -> None:
    assert webhooks.verify(body, headers(), SECRET).attempt == 3


def test_any_secret_will_do_while_one_is_replaced_by_another() -> None:
    for known in ([SECRET], [OTHER], [OTHER, SECRET], SECRET, OTHER):
        assert webhooks.verify(BODY, headers(SECRET, OTHER), known).n == 7
    assert webhooks.verify(BODY, headers(OTHER), [SECRET, OTHER]).n == 7


def _with(name: str, value: str | None) -> Callable[[dict[str, str]], dict[str, str]]:
    def change(given: dict[str, str]) -> dict[str, str]:
        rest = {key: one for key, one in given.items() if key != name}
        return rest if value is None else {**rest, name: value}

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with("webhook-id", "msg_2"), "no signature fits"),
        (_with("webhook-id", None), "webhook-id is missing"),
        (_with("webhook-id", ""), "webhook-id is missing"),
        (_with("webhook-id", "msg_\udcff"), "no signature fits"),
        (_with("webhook-timestamp", None), "webhook-timestamp is missing"),
        (_with("webhook-timestamp", "now"), "not a time"),
        (_with("webhook-timestamp", "9" * 400), "not a time"),
        (_with("webhook-timestamp", "1700000000"), "no signature fits"),
        (_with("webhook-signature", None), "webhook-signature is missing"),
        (_with("webhook-signature", "v1,é"), "no signature fits"),
        (_with("webhook-signature", "v1,\udcff"), "no signature fits"),
        (_with("webhook-signature", "v1a,AAAA v2,BBBB"), "no signature fits"),
        (_with("webhook-signature", "v1,AAAA " * 1000), "no signature fits"),
    ],
)
def test_a_request_that_is_not_whole_is_refused(
    change: Callable[[dict[str, str]], dict[str, str]], said: str
) -> None:
    with pytest.raises(webhooks.NotVerified, match=said):
        webhooks.verify(BODY, change(headers()), SECRET)


def test_a_body_that_was_changed_is_refused() -> None:
    with pytest.raises(webhooks.NotVerified, match="no signature fits"):
        webhooks.verify(BODY.replace(b"mail", b"male"), headers(), SECRET)


def test_text_that_no_bytes_stand_for_is_refused() -> None:
    with pytest.raises(webhooks.NotVerified, match="no signature fits"):
        webhooks.verify(BODY.decode() + "\udcff", headers(), SECRET)


def test_another_secret_is_refused() -> None:
    with pytest.raises(webhooks.NotVerified, match="no signature fits") as caught:
        webhooks.verify(BODY, headers(OTHER), SECRET)
    assert isinstance(caught.value, TenureError)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_a_request_of_another_time_is_refused_unless_it_is_tolerated(late: timedelta) -> None:
    with pytest.raises(webhooks.NotVerified, match="0:05:00 away"):
        webhooks.verify(BODY, headers(late=late), SECRET)
    assert webhooks.verify(BODY, headers(late=late), SECRET, tolerance=timedelta(minutes=7)).n == 7


def test_only_so_many_signatures_are_looked_at() -> None:
    """What a stranger sends costs a bounded amount of work."""
    given = headers()
    many = " ".join(["v1,AAAA"] * 1000)
    second = _with("webhook-signature", f"v1,A {given['webhook-signature']}")
    assert webhooks.verify(BODY, second(given), SECRET).n == 7
    with pytest.raises(webhooks.NotVerified):
        webhooks.verify(
            BODY, _with("webhook-signature", f"{many} {given['webhook-signature']}")(given), SECRET
        )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"type":1}', b"\xff\xfe", b'{"type":"failed"}'])
def test_a_signed_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(webhooks.NotVerified, match="not an event"):
        webhooks.verify(body, headers(body=body), SECRET)


def test_a_secret_that_is_none_is_the_receiver_s_own_mistake() -> None:
    with pytest.raises(InvalidInput, match="secret: is no secret of a webhook"):
        webhooks.verify(BODY, headers(), "whsec_typo")
    with pytest.raises(InvalidInput, match="secret: is missing"):
        webhooks.verify(BODY, headers(), [])
