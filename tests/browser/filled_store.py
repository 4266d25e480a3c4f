"""Fills a store with something of every kind: jobs in every state, a pause, workers, schedules, webhooks."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from msgspec import structs

from tenure.core.model.durable import StepDraft, StepKind, StepStatus
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line, Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import (
    Outcome,
    Recoverable,
    Report,
    Stopped,
    Succeeded,
    Suspended,
    Unrecoverable,
)
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.core.model.trail import CUSTOM, LogLine, Note, Trail, Usage
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueTick,
    Firing,
    NewSchedule,
    Overlap,
    ScheduledJob,
    ScheduleName,
    Source,
    TickOutcome,
    with_ids,
)
from tenure.core.values import documents
from tenure.core.values.failure import Excerpt, Failure
from tenure.core.webhooks.delivery import DeliveryState, NewDelivery
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, settle
from tests.storage.webhook_verbs import try_due

HOUR = timedelta(hours=1)
FAILING_WEBHOOK = UUID(int=1)
TRACEBACK = """Traceback (most recent call last):
  File "/app/shop/jobs.py", line 41, in charge
    receipt = await gateway.charge(params.card, params.amount)
  File "/app/shop/gateway.py", line 17, in charge
    answer = await self.client.post("/charges", json=body)
  File "/app/.venv/lib/python3.11/site-packages/httpx/_client.py", line 1892, in post
    return await self.request("POST", url, json=json)
  File "/app/.venv/lib/python3.11/site-packages/httpcore/_async/connection_pool.py", line 216, in handle
    raise exc from None
  File "/usr/lib/python3.11/asyncio/streams.py", line 48, in open_connection
    transport, _ = await loop.create_connection(
  File "/app/.venv/lib/python3.11/site-packages/httpcore/_exceptions.py", line 14, in map_exceptions
    raise to_exc(exc) from exc
PermissionError: the card was declined
"""
SOURCE = (
    Excerpt(
        "/app/shop/jobs.py",
        41,
        39,
        (
            "    gateway = Gateway(params.account)",
            "    ctx.log.info('charging', amount=params.amount)",
            "    receipt = await gateway.charge(params.card, params.amount)",
            "    return receipt",
        ),
    ),
    Excerpt(
        "/app/shop/gateway.py",
        17,
        15,
        (
            "    async def charge(self, card, amount):",
            '        body = {"card": card.token, "amount": amount, "currency": self.currency}',
            '        answer = await self.client.post("/charges", json=body)',
            "        answer.raise_for_status()",
            '        return answer.json()["receipt"]',
        ),
    ),
)
DECLINED = Failure("PermissionError", "the card was declined", TRACEBACK, SOURCE)
SLOW = Failure("TimeoutError", "no answer from mail.example within 30 s")
SPECS = (
    Spec(
        key="mail.welcome",
        tags=("mail",),
        params_schema=documents.write(
            {
                "type": "object",
                "properties": {
                    "to": {"type": "string", "description": "where it goes"},
                    "copies": {"type": "integer", "default": 1},
                    "amount": {"type": "number"},
                    "language": {"enum": ["en", "de"]},
                    "urgent": {"type": "boolean"},
                    "at": {"type": "string", "format": "date-time"},
                    "lines": {"type": "array"},
                    "address": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
                "required": ["to"],
            }
        ),
    ),
    Spec(key="card.charge"),
    Spec(key="report.build", priority=5),
    Spec(key="video.encode"),
)
LINES = (
    *(Line("default", spec.key) for spec in SPECS),
    Line("media", "video.encode"),
)
_USED = Usage(exit_code=0, cpu=timedelta(milliseconds=340), peak_memory=48 * 2**20)


def _job(definition: str, params: Any = None, **rest: Any) -> NewJob:
    return NewJob(definition=definition, params=documents.write(params or {}), **rest)


OWNED = {
    # Stopped on another day, whatever the hour of the test: such a date is the longest there.
    "running": _job(
        "video.encode",
        {"file": "talk.mp4", "apiKey": "sk-123"},
        tags=("media", "urgent"),
        policy=Policy(timeout=50 * HOUR),
    ),
    "cancelling": _job("video.encode", {"file": "keynote.mp4"}),
    "retrying": _job("mail.welcome", {"to": "ada@example.com"}, key="welcome-ada"),
    "suspended": _job("report.build", {"month": "2026-10"}),
    "succeeded": _job("report.build", {"month": "2026-09"}, tags=("monthly",)),
    "failed": _job("card.charge", {"amount": 990, "card": {"token": "tok_1"}}),
    "failed alike": _job("card.charge", {"amount": 120}),
    "stopped": _job("video.encode", {"file": "holiday.mp4"}),
    "buried": _job("card.charge", {"amount": 55}, policy=Policy(on_lost=OnLost.BURY)),
}
WAITING = {
    "created": _job("report.build", hold=True),
    "scheduled": _job("report.build", {"month": "2026-11"}, delay=HOUR),
    "queued": _job("mail.welcome", {"to": "grace@example.com"}, priority=7),
    "paused": _job("video.encode", {"file": "late.mp4"}, queue="media"),
    "unserved": _job("fax.send", {"to": "+44 1"}, limits=(Limit("fax"), Limit("tenant", "ann", 2))),
    "cancelled": _job("mail.welcome", {"to": "nobody@example.com"}),
}


async def fill(store: Store) -> dict[str, UUID]:
    """Fill a store; returns the jobs by name. A job with the name of a state is in that state."""
    known = [Definition(key=spec.key, version=1, spec=spec.document()) for spec in SPECS]
    await store.put_definitions(known)
    await store.enlist(WorkerInfo(id="a", host="worker-1", pid=4242, version="0.1.0", slots=8, lines=LINES))
    await store.enlist(WorkerInfo(id="b", host="worker-2", pid=17, version="0.1.0", slots=4, lines=LINES[:1]))
    jobs = await _enqueued(store, OWNED)
    owned = {one.lease.job: one for one in await claim(store, limit=100, lines=LINES, lease_for=HOUR)}
    await _attempted(store, {name: owned[job] for name, job in jobs.items()})
    await store.enqueue([_job("mail.welcome", {"to": "the speaker"}, parent=jobs["running"], hold=True)])
    jobs |= await _enqueued(store, WAITING)
    await store.cancel([jobs["cancelled"]], reason="sent by mistake")
    await store.pause("media", by="ann", reason="the encoder is being replaced")
    await _scheduled(store)
    await _told(store)
    return jobs


async def _told(store: Store) -> None:
    """A webhook whose deliveries ended in every way, one that is paused, and one of another namespace."""
    now = await store.now()
    sent = NewWebhook(
        id=FAILING_WEBHOOK,
        url="https://crm.partner.example/in/7f",
        events=("onEnd",),
        definitions=("card.charge",),
    )
    rests = NewWebhook(id=UUID(int=2), url="https://old.example/jobs", events=("onFail",))
    theirs = NewWebhook(id=UUID(int=3), url="https://acme.example/", events=("failed",), namespace="acme")
    for new in (sent, rests, theirs):
        await store.add_webhook(new, secret=random_secret())
    await store.pause_webhook(rests.id, by="ann", reason="it moves")
    endings: dict[str, dict[str, Any]] = {
        "taken": {"state": DeliveryState.DELIVERED, "status": 200},
        "gone": {"state": DeliveryState.DEAD, "status": 410},
        "slow": {
            "state": DeliveryState.WAITING,
            "status": None,
            "problem": "no answer within 10 s",
            "retry_after": HOUR,
        },
        "broken": {"state": DeliveryState.WAITING, "status": 504, "retry_after": HOUR},
    }
    for name in (*endings, "new"):
        message = f"msg_{uuid4().hex}_{name}"
        await store.add_delivery(
            NewDelivery(webhook=sent.id, message=message, type="failed", at=now, body="{}", job=uuid4(), n=3)
        )
        if name in endings:
            await try_due(store, **endings[name])


async def _scheduled(store: Store) -> None:
    """A schedule with a history of every outcome, one that is paused, and one of another namespace."""
    now = await store.now()
    begin = now.replace(minute=0, second=0, microsecond=0) - 6 * HOUR
    job = ScheduledJob(definition="report.build", params=documents.write({"apiKey": "sk-123", "full": True}))
    hourly = NewSchedule(
        id="report.hourly",
        job=job,
        recurrence=Recurrence(cron="0 * * * *", timezone="Europe/Berlin", starts_at=begin),
        overlap=Overlap.SKIP,
        jitter=timedelta(minutes=2),
        source=Source.CODE,
    )
    interval = Recurrence(every=timedelta(minutes=15), starts_at=begin)
    partner = NewSchedule(id="partner.export", job=job, recurrence=interval, creator="ann")
    await store.add_schedule(hourly, next_at=begin)
    await store.add_schedule(partner, next_at=now + HOUR)
    await store.add_schedule(structs.replace(partner, namespace="acme"), next_at=now + HOUR)
    await store.pause_schedule(
        ScheduleName("default", "partner.export"), by="ann", reason="the partner moves its server"
    )
    made = NewJob(definition="report.build", creator="schedule:report.hourly")
    ticks = [
        DueTick(at=begin, outcome=TickOutcome.MISSED, count=3, until=begin + 2 * HOUR),
        DueTick(at=begin + 3 * HOUR, outcome=TickOutcome.FAILED, problem="params: 'month' is missing"),
        DueTick(at=begin + 4 * HOUR, outcome=TickOutcome.FIRED, job=made),
        DueTick(at=begin + 5 * HOUR, outcome=TickOutcome.OVERLAPPED),
    ]
    firing = Firing(
        namespace="default",
        schedule=hourly.id,
        revision=1,
        expected=begin,
        next_at=begin + 7 * HOUR,
        ticks=ticks,
    )
    assert await store.fire([with_ids(firing, uuid4)]) != [None]


async def _enqueued(store: Store, jobs: dict[str, NewJob]) -> dict[str, UUID]:
    made = await store.enqueue(list(jobs.values()))
    return dict(zip(jobs, [one.id for one in made], strict=True))


async def _attempted(store: Store, owned: dict[str, Claimed]) -> None:
    await _log(store, owned)
    progress = {owned["running"].lease: Progress(0.35, "frame 7 of 20")}
    await store.heartbeat(
        Pulse(worker="a", leases=[one.lease for one in owned.values()], lease_for=HOUR, progress=progress)
    )
    steps = [("read the file", StepKind.STEP, StepStatus.DONE), ("tell", StepKind.ONCE, StepStatus.INTENDED)]
    lease = owned["running"].lease
    await store.keep_steps(
        "a",
        [(lease, StepDraft(name=name, kind=kind, status=status)) for name, kind, status in steps],
    )
    await store.cancel(
        [owned[name].lease.job for name in ("cancelling", "stopped")], reason="taking too long"
    )
    ends: dict[str, Outcome] = {
        "retrying": Recoverable(SLOW, HOUR),
        "suspended": Suspended(HOUR),
        "succeeded": Succeeded(documents.write({"pages": 12, "url": "https://reports.example/9"})),
        "failed": Unrecoverable(DECLINED),
        "failed alike": Unrecoverable(DECLINED),
        "stopped": Stopped(),
    }
    await settle(store, [Report(owned[name].lease, end, _USED) for name, end in ends.items()])
    await store.hand_back("a", unstarted=[], killed=[owned["buried"].lease])


async def _log(store: Store, owned: dict[str, Claimed]) -> None:
    now = datetime.now(UTC)
    lines = tuple(
        LogLine(n, now + timedelta(milliseconds=n), level, text)
        for n, (level, text) in enumerate(
            [
                ("info", "opening"),
                ("stdout", "frame 1 of 20"),
                ("warning", "disk is slow"),
                ("error", "torn"),
            ],
            1,
        )
    )
    notes = (Note(f"{CUSTOM}opened", documents.write({"by": "ann"})),)
    await store.record("a", [Trail(owned[name].lease, lines, notes) for name in ("running", "failed")])
