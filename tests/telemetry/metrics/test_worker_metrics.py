"""What a worker counts of jobs that end in every way, on both stores."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease, Line, Order
from tenure.core.model.outcome import Ending, Report, Succeeded
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.reports.access import AUDIT_KEPT
from tenure.core.signals import (
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    DutyDone,
    WebhookTried,
    WorkerReady,
)
from tenure.core.values.documents import Document
from tenure.core.webhooks.delivery import NewDelivery
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog, LogEntry
from tenure.telemetry.metrics import queue_gauges
from tenure.telemetry.metrics.instruments import OTHER
from tenure.telemetry.metrics.timed_store import timed
from tenure.telemetry.metrics.worker_metrics import MOST_TYPES, WorkerMetrics
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one
from tests.telemetry.metrics_page import OF_WORKERS, check_whole
from tests.telemetry.sample_signals import WORKER
from tests.telemetry.scrape import Scrape
from tests.until import until
from tests.worker.running_worker import appear, enqueue, reach, run_worker


async def scraped(metrics: WorkerMetrics) -> Scrape:
    return Scrape(await metrics.text())


ENDED = {
    ("echo", "succeeded"): 1,
    ("fail_first", "retrying"): 1,
    ("fail_first", "succeeded"): 1,
    ("fail_first", "failed"): 1,
    ("die", "failed"): 1,
    ("snooze_once", "suspended"): 1,
    ("snooze_once", "succeeded"): 1,
    ("wait", "cancelled"): 1,
}
"""Attempts by how they ended."""

KILLED = {("wait", "queued"): 1, ("wait", "buried"): 1}
"""Attempts that had begun and were given back, by what became of their jobs."""

BURIED = {"on_lost": OnLost.BURY, "max_attempts": 1}
GIVEN_BACK = {("wait", "queued"): 2, ("wait", "buried"): 1}
"""Of two slots and one place to wait: what was killed, what must not run twice, and what never began."""


def waiting(folder: Path, name: str) -> dict[str, str]:
    return {"begun": str(folder / name), "end": str(folder / "end")}


async def test_attempts_are_counted_by_how_they_ended(store: Store, tmp_path: Path) -> None:
    """S2.51, S2.53, S1.75: every outcome that a worker has a say in, and the whole of what it tells."""
    metrics = WorkerMetrics()
    async with run_worker(store, slots=2, buffer=1, shutdown=0, metrics=metrics) as running:
        ended = await end_in_every_way(store, tmp_path, metrics)
        jobs = [await enqueue(store, "wait", waiting(tmp_path, "killed"))]
        jobs.append(await enqueue(store, "wait", waiting(tmp_path, "buried"), policy=BURIED))
        for name in ("killed", "buried"):
            await appear(tmp_path / name)
        jobs.append(await enqueue(store, "wait", waiting(tmp_path, "never")))
        await reach(store, jobs[-1], State.RUNNING)
        await until(lambda: len(running.signals(DutyDone)) > 0)
        running.stop()
    endings = {attempt.ending for job in (*ended, *jobs) for attempt in await store.attempts(job)}
    assert endings == set(Ending) - {Ending.LOST}
    scrape = await scraped(metrics)
    check_counts(scrape)
    check_whole(scrape, OF_WORKERS)


async def end_in_every_way(store: Store, folder: Path, metrics: WorkerMetrics) -> list[UUID]:
    """Jobs whose attempts are told of by an outcome."""
    stopped = await enqueue(store, "wait", waiting(folder, "stopped"))
    await appear(folder / "stopped")
    scrape = await scraped(metrics)
    assert scrape.value("job_active_count", job_type="wait") == 1
    assert scrape.value("job_active_count", job_type="echo") == 0
    await store.cancel([stopped])
    fatal = RetryPolicy(fatal_on=("ValueError",))
    jobs = [
        stopped,
        await enqueue(store, "echo"),
        await enqueue(store, "fail_first", {"failures": 1}),
        await enqueue(store, "fail_first", {"failures": 1}, policy={"retry": fatal}),
        await enqueue(store, "die", policy={"max_attempts": 1}),
        await enqueue(store, "snooze_once", {"snoozed": str(folder / "snoozed")}),
    ]
    for job in jobs:
        await reach(store, job, State.SUCCEEDED, State.FAILED, State.CANCELLED)
    return jobs


def check_counts(scrape: Scrape) -> None:
    for (job_type, status), n in {**ENDED, **KILLED}.items():
        labels = {"job_type": job_type, "status": status}
        assert scrape.value("job_processed_total", **labels) == n
        assert scrape.value("job_processing_duration_seconds_count", **labels) == n
        assert scrape.value("job_processing_duration_seconds_sum", **labels) > 0
    for (job_type, state), n in GIVEN_BACK.items():
        assert scrape.value("tenure_handed_back_total", job_type=job_type, state=state) == n
    processed = scrape.families["job_processed_total"].samples
    assert sum(processed.values()) == sum(ENDED.values()) + sum(KILLED.values())
    assert sum(scrape.families["tenure_handed_back_total"].samples.values()) == sum(GIVEN_BACK.values())
    assert scrape.value("job_queue_latency_milliseconds_count", job_type="fail_first") == 3
    assert scrape.value("tenure_retries_total", job_type="fail_first") == 1
    assert scrape.value("tenure_settle_delay_seconds_count") == sum(ENDED.values())
    assert scrape.value("tenure_jobs_promoted_total", state="queued") == 2
    assert scrape.value("tenure_child_starts_total") == sum(ENDED.values()) + 2
    assert scrape.value("tenure_worker_slots") == 2


async def test_how_long_a_job_stood_in_line_is_told_in_milliseconds(backend: Backend, clock: Clock) -> None:
    """S2.52: from when it was put in line to its claim, each time that it was."""
    metrics, store = WorkerMetrics(), backend.store()
    await store.open()
    await enqueue_one(store)
    await clock.advance(timedelta(milliseconds=1250))
    [first] = await claim(store)
    metrics(AttemptStarted(first))
    scrape = await scraped(metrics)
    assert scrape.value("job_queue_latency_milliseconds_sum", job_type="mail") == pytest.approx(1250)
    assert scrape.value("job_queue_latency_milliseconds_bucket", job_type="mail", le="1000.0") == 0
    assert scrape.value("job_queue_latency_milliseconds_bucket", job_type="mail", le="1500.0") == 1

    await store.hand_back("a", unstarted=[first.lease], killed=[])
    await clock.advance(timedelta(milliseconds=40))
    metrics(AttemptStarted(*await claim(store)))
    scrape = await scraped(metrics)
    assert scrape.value("job_queue_latency_milliseconds_sum", job_type="mail") == pytest.approx(1290)
    assert scrape.value("job_queue_latency_milliseconds_bucket", job_type="mail", le="50.0") == 1
    await store.close()


async def test_attempts_that_run_are_counted_by_their_definition(store: Store, tmp_path: Path) -> None:
    """S2.61: as many as there are, while they are."""
    metrics = WorkerMetrics()
    async with run_worker(store, slots=3, metrics=metrics):
        jobs = [await enqueue(store, "wait", waiting(tmp_path, name)) for name in ("one", "two")]
        for name in ("one", "two"):
            await appear(tmp_path / name)
        scrape = await scraped(metrics)
        assert scrape.value("job_active_count", job_type="wait") == 2
        assert scrape.value("job_active_count", job_type="echo") == 0
        (tmp_path / "end").touch()
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
        assert (await scraped(metrics)).value("job_active_count", job_type="wait") == 0


async def test_attempts_of_a_lost_worker_are_counted_by_who_reaps_them(store: Store) -> None:
    """S2.43, S2.51, S2.53: with their definition, how long they were held and what became of their jobs."""
    metrics = WorkerMetrics()
    entries: list[LogEntry] = []
    logs = EventLog(entries.append)
    await enqueue(store, "echo", policy={"max_attempts": 1})
    order = Order(worker="ghost", lines=(Line("default", "echo"),), limit=1, lease_for=timedelta(seconds=1))
    [lost] = (await store.settle_and_claim([], order)).claimed
    async with run_worker(store, metrics=metrics) as running:
        await reach(store, lost.lease.job, State.FAILED)
        reaping = await running.wait_for(DutyDone)
    logs(reaping)
    scrape = await scraped(metrics)
    labels = {"job_type": "echo", "status": "failed"}
    assert scrape.value("job_processed_total", **labels) == 1
    assert scrape.value("job_processing_duration_seconds_count", **labels) == 1
    assert scrape.value("job_processing_duration_seconds_sum", **labels) >= 1
    [reaped] = [entry for entry in entries if entry.event == "attempt.reaped"]
    assert reaped.level == "error"
    assert reaped.fields["durationSeconds"] >= 1
    known = (
        "jobId",
        "definition",
        "attempt",
        "worker",
        "state",
        "outcome",
        "retries",
        "maxAttempts",
        "reason",
    )
    assert [reaped.fields[name] for name in known] == [
        *(lost.lease.job, "echo", 1, "ghost", "failed", "lost", 0, 1, "WorkerLost: the lease ran out")
    ]


async def test_what_stands_in_line_is_told_for_all_of_the_store(store: Store) -> None:
    """S2.62, S1.75, S3.66: depth and age of unclaimed jobs, whichever worker serves them."""
    metrics = WorkerMetrics()
    metrics.on(store)
    for _ in range(4):
        await enqueue(store, "echo")
    await enqueue(store, "die", hold=True)
    assert len(await claim(store, limit=1, lines=[Line("default", "echo")])) == 1
    scrape = await scraped(metrics)
    assert scrape.value("tenure_jobs", job_type="echo", state="running") == 1
    assert scrape.value("job_queue_depth", job_type="echo") == 3
    assert scrape.value("job_queue_depth", job_type="die") == 0
    assert scrape.value("tenure_queue_oldest_seconds", job_type="echo") > 0
    assert scrape.value("tenure_jobs", job_type="die", state="created") == 1
    assert scrape.value("tenure_store_up") == 1


async def test_many_who_scrape_cost_the_store_no_more_than_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_gauges, "FRESH", 3600)
    verbs: list[str] = []
    metrics = WorkerMetrics()
    metrics.on(timed(store, lambda verb, _seconds, _error: verbs.append(verb)))
    scrapes = await asyncio.gather(*(scraped(metrics) for _ in range(5)))
    assert [each.value("tenure_store_up") for each in scrapes] == [1] * 5
    assert verbs == ["lines", "now", "webhooks", "effects_in_doubt"]


async def test_the_store_s_verbs_are_timed_and_their_failures_named(store: Store) -> None:
    """S2.57, S2.58."""
    metrics = WorkerMetrics()
    measured = metrics.on(store)
    await measured.now()
    await measured.close()
    with pytest.raises(StoreError) as raised:
        await measured.now()
    scrape = await scraped(metrics)
    assert scrape.value("db_query_duration_seconds_count", query_type="now") == 2
    assert scrape.value("tenure_store_seconds_count", verb="now") == 2
    assert scrape.value("db_query_errors_total", query_type="now", error_type=raised.type.__name__) == 1
    assert scrape.value("tenure_store_up") == 0
    assert not scrape.families["job_queue_depth"].samples


async def test_a_verb_with_a_new_name_keeps_its_label(store: Store) -> None:
    """Dashboards and alerts that name it go on to work."""
    verbs: list[str] = []
    await timed(store, lambda verb, _seconds, _error: verbs.append(verb)).prune_audit_entries(AUDIT_KEPT, 10)
    assert verbs == ["prune_deeds"]


async def test_leases_that_ran_out_are_counted_by_the_one_who_reaps(store: Store) -> None:
    """S1.75."""
    metrics = WorkerMetrics()
    async with run_worker(store, lease=1, metrics=metrics) as running:
        job = await enqueue(store, "wait_elsewhere")
        order = Order(
            worker="lost", lines=(Line("default", "wait_elsewhere"),), limit=1, lease_for=timedelta(seconds=1)
        )
        [claimed] = (await store.settle_and_claim([], order)).claimed
        await until(lambda: any(signal.duty == "reap" for signal in running.signals(DutyDone)))
        assert claimed.lease.job == job
    scrape = await scraped(metrics)
    assert scrape.value("tenure_lease_expirations_total", state="queued") == 1


async def test_ten_thousand_definitions_are_a_bounded_number_of_series(store: Store) -> None:
    """S2.51, S2.53, S2.62."""
    metrics = WorkerMetrics()
    metrics.on(store)
    await store.enqueue([NewJob(definition=f"d{n}") for n in range(MOST_TYPES + 50)])
    for n in range(10_000):
        claimed = claimed_of(f"d{n}")
        metrics(AttemptStarted(claimed))
        metrics(AttemptSettled(claimed, Report(claimed.lease, Succeeded()), State.SUCCEEDED, 0.1, 0.1))
    scrape = await scraped(metrics)
    for name in ("job_processed_total", "job_queue_depth", "job_active_count", "tenure_jobs"):
        samples = scrape.families[name].samples
        assert len(samples) <= MOST_TYPES + 1, name
    assert scrape.value("job_processed_total", job_type=OTHER, status="succeeded") == 10_000 - MOST_TYPES
    assert scrape.value("job_queue_depth", job_type=OTHER) == 50
    assert sum(len(family.samples) for family in scrape.families.values()) < 10_000


async def test_what_a_worker_serves_is_known_by_name_whatever_else_is_in_the_store(store: Store) -> None:
    metrics = WorkerMetrics()
    metrics.on(store)
    metrics(WorkerReady(WORKER))
    own = WORKER.lines[0].definition
    await store.enqueue([NewJob(definition=f"a{n}") for n in range(MOST_TYPES + 1)])
    await store.enqueue([NewJob(definition=own)])
    scrape = await scraped(metrics)
    assert scrape.value("job_queue_depth", job_type=own) == 1
    assert scrape.value("job_active_count", job_type=own) == 0


def test_a_lost_attempt_is_counted_by_who_noticed() -> None:
    metrics = WorkerMetrics()
    claimed = claimed_of("a")
    metrics(AttemptLost(claimed, fenced=True))
    metrics(AttemptLost(claimed, fenced=False))
    metrics(AttemptLost(claimed, fenced=False))
    scrape = asyncio.run(scraped(metrics))
    assert scrape.value("tenure_leases_given_up_total", job_type="a") == 1
    assert scrape.value("tenure_stale_writes_refused_total", job_type="a") == 2


def claimed_of(definition: str) -> Claimed:
    now = datetime.now(UTC)
    return Claimed(
        lease=Lease(uuid4(), 1),
        namespace="default",
        definition=definition,
        version=1,
        queue="default",
        params=Document("{}"),
        policy=Policy(),
        attempt=1,
        traceparent=None,
        queued_at=now,
        started_at=now,
    )


async def test_tries_of_webhooks_are_counted_and_what_waits_is_seen(store: Store) -> None:
    """S1.75: how many, how long they took, and since when the oldest waits."""
    metrics = WorkerMetrics()
    hook = NewWebhook(id=uuid4(), url="https://example.com", events=("failed",))
    webhook = await metrics.on(store).add_webhook(hook, secret="whsec_")
    now = await store.now()
    for message in ("msg_1", "msg_2"):
        await store.add_delivery(
            NewDelivery(webhook=webhook.id, message=message, type="test", at=now, body="{}")
        )
    for outcome, took in (("delivered", 0.2), ("failed", 1.0), ("failed", 0.1), ("dead", 0.1)):
        metrics(WebhookTried(webhook.id, outcome, took))
    seen = await scraped(metrics)
    counted = {
        one: seen.value("tenure_webhook_deliveries_total", outcome=one)
        for one in ("delivered", "failed", "dead")
    }
    assert counted == {"delivered": 1, "failed": 2, "dead": 1}
    assert seen.value("tenure_webhook_delivery_seconds_count") == 4
    assert seen.value("tenure_webhook_waiting") == 2
    assert seen.value("tenure_webhook_oldest_seconds") >= 0
    check_whole(seen, OF_WORKERS)
