"""The clock of the harness: retries, delays and snoozes at their own time, and jobs without an end."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tenure import (
    Context,
    JobFailed,
    Retry,
    State,
)
from tenure.testing import Endless, Harness, harness
from tests.testing.shop_app import (
    Order,
    Welcome,
    again,
    app,
    pack,
    place,
    poll,
    ship,
    welcome,
)


@pytest.fixture
def t() -> Iterator[Harness]:
    with harness(app) as entered:
        yield entered


def test_a_failed_attempt_is_tried_again_when_its_backoff_is_over(t: Harness) -> None:
    t.fail_next(welcome, ConnectionError("no mail today"), times=2)
    job = t.enqueue(welcome, Welcome("ada"))
    began = t.now
    assert t.drain() == 1
    [waiting] = t.jobs(state=State.RETRYING)
    assert waiting.error is not None
    assert (waiting.error.kind, waiting.due_at) == ("ConnectionError", began + timedelta(seconds=2))
    assert t.advance(1.9) == 0
    assert t.advance(timedelta(seconds=0.1)) == 1
    assert t.advance("4s") == 1
    assert job.result_sync() == {"sent": "ada", "attempt": 3}
    assert t.now == began + timedelta(seconds=6)


def test_a_job_whose_attempts_are_used_up_is_a_dead_letter(t: Harness) -> None:
    t.fail_next(welcome, ConnectionError("no mail today"), times=3)
    job = t.enqueue("email.welcome", {"to": "ada"})
    assert t.advance("1h") == 3
    [dead] = t.jobs(welcome, state="failed")
    assert dead.attempt == 3
    with pytest.raises(JobFailed, match="no mail today"):
        job.result_sync()
    assert [event.target for event in job.events_sync()].count(State.RETRYING) == 2


def test_a_fatal_error_is_not_tried_again(t: Harness) -> None:
    t.enqueue(place, Order(-1))
    assert t.advance("1d") == 1
    [dead] = t.jobs(place)
    assert dead.error is not None
    assert (dead.state, dead.error.kind) == (State.FAILED, "Fatal")


def test_time_goes_from_one_due_job_to_the_next(t: Harness) -> None:
    """Each runs at its own time, as it would by the hour: what a job enqueues counts from then."""
    began = t.now
    t.enqueue(ship, Order(7), delay=3600)
    t.enqueue(welcome, Welcome("ada"), run_at=began + timedelta(minutes=30))
    assert t.advance("29m") == 0
    assert t.advance("1m") == 1
    assert [job.state for job in t.jobs(welcome)] == [State.SUCCEEDED]
    assert t.advance("30m") == 1
    [_, child] = t.jobs(welcome)
    assert (child.params["to"], child.state, child.due_at) == (
        "customer-7",
        State.SCHEDULED,
        began + timedelta(minutes=61),
    )
    assert t.advance("2m") == 1
    assert t.now == began + timedelta(minutes=62)


def test_a_job_that_snoozes_comes_back_without_using_up_an_attempt(t: Harness) -> None:
    job = t.enqueue(poll)
    assert t.drain() == 1
    assert t.advance("10m") == 1
    assert t.advance("10m") == 1
    assert job.result_sync() == "in stock"
    assert t.job(job).attempt == 1


def test_waiting_for_a_request_to_stop_takes_no_time(t: Harness) -> None:
    t.replace(pack, lambda ctx: ctx.cancelled.block(86_400))
    t.enqueue(pack, Order(1))
    t.drain()
    assert t.jobs(pack)[0].result is False


def test_jobs_without_an_end_are_named(t: Harness) -> None:
    t.enqueue(welcome, Welcome("ada"))
    t.enqueue(again)
    with pytest.raises(
        Endless, match=r"after 20 rounds.*order\.again@1 goes on, with 1\d attempts; does it enqueue itself"
    ):
        t.drain(rounds=20)


def test_what_a_handler_leaves_of_time_is_seen_step_by_step(t: Harness) -> None:
    """A job that snoozes for a minute runs sixty times an hour, and not once."""
    ran: list[datetime] = []

    def snooze(ctx: Context) -> None:
        ran.append(t.now)
        raise Retry(after=60)

    t.replace(poll, snooze)
    t.enqueue(poll, max_attempts=60)
    assert t.advance("59m") == 60
    assert {after - before for before, after in pairwise(ran)} == {timedelta(minutes=1)}


def test_the_clock_may_begin_anywhere() -> None:
    with harness(app, at=datetime(2030, 1, 1, tzinfo=UTC)) as t:
        t.enqueue(welcome, Welcome("ada"))
        t.advance("36h")
        assert t.now == datetime(2030, 1, 2, 12, tzinfo=UTC)
        assert t.jobs()[0].created_at == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_job_that_was_interrupted_is_taken_back_when_its_lease_ends(t: Harness) -> None:
    def interrupted(params: Order) -> None:
        raise KeyboardInterrupt

    t.replace(pack, interrupted)
    job = t.enqueue(pack, Order(1))
    with pytest.raises(KeyboardInterrupt):
        t.drain()
    assert job.status_sync() is State.RUNNING
    t.replace(pack, lambda: "packed")
    assert t.drain() == 0
    assert t.advance("30s") == 1
    assert (t.job(job).result, t.job(job).attempt) == ("packed", 2)
