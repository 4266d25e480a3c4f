"""Why a job does not run: a test for each code, brought about on a real store."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.lease import Line, Order
from tenure.core.model.states import State
from tenure.core.reports.operations import PauseScope
from tenure.core.reports.why import WhyCode
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.engine.explaining import AT, also, serve, why
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    job_in,
    recoverable,
    seconds,
    settle,
    succeeded,
    unrecoverable,
)


async def test_held(store: Store) -> None:
    job = await job_in(store, State.CREATED)
    answer = await why(store, job)
    assert answer.code is WhyCode.HELD
    assert answer.sentence == f"It is held until you release it. Run `tenure jobs accept {job}`."


async def test_scheduled(store: Store) -> None:
    await serve(store)
    job = await enqueue_one(store, delay=seconds(90))
    answer = await why(store, job)
    assert (answer.code, answer.until) == (WhyCode.SCHEDULED, START + seconds(90))
    assert answer.sentence == (
        f"It is scheduled for {AT}:01:30 UTC, in 2 minutes. Run it now with `tenure jobs run-now {job}`."
    )
    assert also(answer) == []


async def test_what_is_due_is_about_to_be_queued(store: Store, clock: Clock) -> None:
    """As long as something does so."""
    job = await enqueue_one(store, delay=seconds(60))
    await clock.advance(seconds(70))
    await serve(store)
    answer = await why(store, job)
    assert (answer.code, answer.sentence) == (
        WhyCode.SCHEDULED,
        "Its time has come: it is queued any moment.",
    )


async def test_backing_off_tells_the_error(store: Store) -> None:
    await serve(store)
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, error=Failure("ValueError", "line one\nline two"))])
    answer = await why(store, job)
    assert (answer.code, answer.until) == (WhyCode.BACKING_OFF, START + seconds(5))
    assert answer.sentence == (
        "Attempt 1 of 3 failed with ValueError: line one line two. "
        f"It is tried again at {AT}:00:05 UTC, in 5 s. Run it now with `tenure jobs run-now {job}`."
    )


async def test_sleeping(store: Store) -> None:
    await serve(store, lines=(Line("default", "suspended"),))
    answer = await why(store, await job_in(store, State.SUSPENDED))
    assert (answer.code, answer.until) == (WhyCode.SLEEPING, START + seconds(60))
    assert answer.sentence == f"It gave its slot back and sleeps until {AT}:01:00 UTC, in 60 s."


async def test_paused_queue(store: Store, clock: Clock) -> None:
    await serve(store)
    job = await enqueue_one(store)
    await store.pause("default", by="ann", reason="rain")
    answer = await why(store, job)
    assert (answer.code, answer.since, answer.until) == (WhyCode.PAUSED_QUEUE, START, None)
    assert answer.sentence == (
        "Queue default is paused by ann (rain) until it is resumed. "
        "Resume it with `tenure queues resume default`."
    )
    assert also(answer) == [WhyCode.IN_LINE]
    fenced = await why(store, job, namespace="acme")
    assert fenced.sentence.startswith("Queue default is paused until it is resumed.")
    await store.pause("default", until=START + seconds(60))
    answer = await why(store, job)
    assert (answer.until, f"until {AT}:01:00 UTC" in answer.sentence) == (START + seconds(60), True)


@pytest.mark.parametrize(
    ("scope", "text", "command"),
    [
        (
            PauseScope("", "mail"),
            "Definition mail is paused by api until it is resumed.",
            "tenure definitions resume mail",
        ),
        (
            PauseScope("default", "mail", 1),
            "Definition mail@1 in queue default is paused by api until it is resumed.",
            "tenure definitions resume mail --version 1 --queue default",
        ),
    ],
)
async def test_paused_definition(store: Store, scope: PauseScope, text: str, command: str) -> None:
    await serve(store)
    job = await enqueue_one(store)
    await store.pause(scope)
    answer = await why(store, job)
    assert answer.code is WhyCode.PAUSED_DEFINITION
    assert answer.sentence == f"{text} Resume it with `{command}`."
    await store.pause("default")
    both = await why(store, job)
    assert (both.code, also(both)) == (
        WhyCode.PAUSED_QUEUE,
        [WhyCode.PAUSED_DEFINITION, WhyCode.IN_LINE],
    )


async def test_unserved_definition(store: Store) -> None:
    job = await enqueue_one(store)
    answer = await why(store, job)
    assert (answer.code, answer.since) == (WhyCode.UNSERVED_DEFINITION, START)
    assert answer.sentence == "Nobody runs mail@1. Start a worker whose app has it: `tenure worker APP`."
    await serve(store, lines=(Line("default", "mail", 2), Line("default", "post")))
    assert "(workers in queue default serve mail@2)" in (await why(store, job)).sentence


async def test_unserved_queue(store: Store) -> None:
    job = await enqueue_one(store, queue="slow")
    await serve(store, lines=(MAIL, Line("fast", "mail")))
    answer = await why(store, job)
    assert answer.code is WhyCode.UNSERVED_QUEUE
    assert answer.sentence == (
        "Nobody runs mail@1 in queue slow; workers serve it in default and fast. "
        "Start one with `tenure worker APP --queues slow`."
    )


async def test_a_worker_that_is_gone_serves_nothing(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    await serve(store)
    await clock.advance(seconds(36))
    assert (await why(store, job)).code is WhyCode.UNSERVED_DEFINITION


async def test_workers_not_ready(store: Store) -> None:
    job = await enqueue_one(store)
    await serve(store, ready=False)
    answer = await why(store, job)
    assert answer.code is WhyCode.WORKERS_NOT_READY
    assert answer.sentence.startswith("1 worker serves it, but cannot run jobs now")
    await serve(store, "b")
    await store.drain("b")
    assert "2 workers serve it (1 drained by an operator)" in (await why(store, job)).sentence
    await store.drain("a")
    assert "2 workers serve it, but drain and claim no more jobs" in (await why(store, job)).sentence


async def test_workers_busy(store: Store) -> None:
    await serve(store, slots=1)
    *_, job = [await enqueue_one(store) for _ in range(2)]
    await claim(store, limit=1)
    answer = await why(store, job)
    assert answer.code is WhyCode.WORKERS_BUSY
    assert answer.sentence.startswith("1 worker can run it, and no slot is free: 1 of 1 are busy.")
    assert also(answer) == [WhyCode.IN_LINE]


async def test_in_line(store: Store) -> None:
    """Its place is that in its line; how long it takes is told only if jobs start at all."""
    await serve(store, slots=9)
    *_, job = [await enqueue_one(store) for _ in range(4)]
    answer = await why(store, job)
    assert (answer.code, answer.data.starts_in) == (WhyCode.IN_LINE, None)
    assert answer.sentence == "3 jobs stand before it in line, among those of mail@1 in queue default."
    await claim(store, limit=1)
    answer = await why(store, job)
    assert answer.data.ahead is not None
    assert (answer.data.ahead.n, answer.data.starts_in) == (2, timedelta(minutes=2))
    assert answer.sentence.endswith("By the pace of the queue it starts in about 2 minutes.")
    await claim(store, limit=2)
    assert (await why(store, job)).sentence.startswith("It is the next of mail@1 in queue default")


async def test_running(store: Store) -> None:
    await enqueue_one(store)
    [owned] = await claim(store, "worker-7")
    answer = await why(store, owned.lease.job)
    assert (answer.code, answer.since) == (WhyCode.RUNNING, START)
    assert answer.sentence == f"It runs: attempt 1 of 3, since {AT}:00:00 UTC on worker worker-7."
    assert "worker-7" not in (await why(store, owned.lease.job, namespace="acme")).sentence


async def test_cancelling(store: Store) -> None:
    answer = await why(store, await job_in(store, State.CANCELLING))
    assert (answer.code, answer.since) == (WhyCode.CANCELLING, START)
    assert answer.sentence.startswith(f"It was asked to stop at {AT}:00:00 UTC and still runs on worker a.")


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (State.SUCCEEDED, "It succeeded at"),
        (
            State.FAILED,
            f"It failed for good at {AT}:00:00 UTC, after 1 attempt, with ValueError: boom.",
        ),
        (State.CANCELLED, "It was cancelled at"),
        (State.BURIED, "Its worker was lost, or stopped before it ended, at"),
    ],
)
async def test_finished(store: Store, state: State, text: str) -> None:
    job = await job_in(store, state)
    await store.pause("default")
    answer = await why(store, job)
    assert (answer.code, answer.since, also(answer)) == (WhyCode.FINISHED, START, [])
    assert answer.sentence.startswith(text)
    assert (f"tenure jobs replay {job}" in answer.sentence) is (state is not State.SUCCEEDED)


async def test_nothing_promotes_what_is_due(store: Store, clock: Clock) -> None:
    """Before it is due, this is told behind the time that it waits for."""
    job = await enqueue_one(store, delay=seconds(60))
    early = await why(store, job)
    assert (early.code, WhyCode.NOTHING_PROMOTES in also(early)) == (WhyCode.SCHEDULED, True)
    await clock.advance(seconds(66))
    answer = await why(store, job)
    assert (answer.code, answer.since) == (WhyCode.NOTHING_PROMOTES, START + seconds(60))
    assert answer.sentence == (
        f"It has been due since {AT}:01:00 UTC, and nothing queues it. No live worker, `tenure api` or "
        "`tenure serve` uses this database. Start one of them."
    )
    assert also(answer)[0] is WhyCode.SCHEDULED


async def test_a_server_that_is_no_worker_promotes_as_well(store: Store, clock: Clock) -> None:
    """It is not on record: minutes that it records tell of it, unless it leaves things undone."""
    job = await enqueue_one(store, delay=seconds(60))
    await clock.advance(seconds(66))
    await store.note_pace(waits={}, runs={})
    answer = await why(store, job)
    assert answer.code is WhyCode.SCHEDULED
    assert "unless the server that did this has just ended. No live worker is known." in answer.sentence
    await clock.advance(seconds(56))
    assert (await why(store, job)).code is WhyCode.NOTHING_PROMOTES
    await store.promote(10)
    second = await enqueue_one(store, delay=seconds(600))
    assert WhyCode.NOTHING_PROMOTES not in also(await why(store, second))
    await clock.advance(seconds(120))
    assert WhyCode.NOTHING_PROMOTES in also(await why(store, second))


async def test_nothing_takes_back_the_job_of_a_lost_worker(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(40))
    answer = await why(store, job)
    assert (answer.code, also(answer)) == (WhyCode.NOTHING_PROMOTES, [WhyCode.RUNNING])
    assert answer.sentence.startswith(f"Its worker was lost at {AT}:00:30 UTC, and nothing takes it back.")
    await serve(store, "b")
    answer = await why(store, job)
    assert answer.code is WhyCode.RUNNING
    assert "is taken back soon" in answer.sentence


async def test_aside_comes_before_everything(store: Store, backend: Backend) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store, limit=1)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await store.settle_and_claim([succeeded(owned)], Order(worker="a", lines=(), limit=0))
    answer = await why(store, job)
    assert (answer.code, answer.since) == (WhyCode.ASIDE, START)
    begin = f"It has been aside since {AT}:00:00 UTC, because the database refuses to settle it ("
    assert answer.sentence.startswith(begin)
    assert answer.sentence.endswith(f"Mend its rows, then run `tenure jobs put-back {job}`.")


async def test_stuck(store: Store, backend: Backend) -> None:
    await serve(store)
    job = await enqueue_one(store)
    await backend.sql("DELETE FROM tenure.ready")
    answer = await why(store, job)
    assert answer.code is WhyCode.STUCK
    assert "It is queued but has no place in line" in answer.sentence
    assert "tenure doctor" in answer.sentence


async def test_a_long_error_is_cut(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned, Failure("ValueError", "x" * 10_000))])
    assert len((await why(store, job)).sentence) < 600


def test_every_code_has_a_test() -> None:
    """A new code comes with the cause that brings it about."""
    told = "".join(file.read_text() for file in Path(__file__).parent.glob("test_why*.py"))
    for code in WhyCode:
        assert f"def test_{code.replace('-', '_')}" in told, code


def test_every_code_is_in_the_reference() -> None:
    """In the order in which they are told."""
    page = (Path(__file__).parents[2] / "docs/reference/why.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == [code.value for code in WhyCode]
