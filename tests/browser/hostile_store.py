"""Fills every text that somebody may choose and a page may show with one that does harm if it is not escaped.

Names (of definitions, queues, tags, namespaces, limits and schedules) hold letters, digits and `._:-` alone:
these are as long as they may be.
"""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID, uuid4

from msgspec import structs

from tenure.core.model.durable import StepDraft, StepKind, StepStatus, Suspension, Wait, WaitKind
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Report, Succeeded
from tenure.core.model.spec import Spec
from tenure.core.model.trail import CUSTOM, LogLine, Note, Trail
from tenure.core.reports.access import AuditEntry
from tenure.core.reports.operations import Definition, PauseScope, WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueTick,
    Firing,
    NewSchedule,
    ScheduledJob,
    ScheduleName,
    TickOutcome,
)
from tenure.core.values.documents import write
from tenure.core.values.failure import Excerpt, Failure
from tenure.core.webhooks.delivery import DeliveryState, NewDelivery
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.contract.store import Store
from tests.browser.filled_store import HOUR
from tests.storage.verbs import claim, recoverable, settle, unrecoverable
from tests.storage.webhook_verbs import try_due
from tests.surfaces.http.auth.test_keys import make

ENDS_NOWHERE = "W" * 90
"""A word that a line can only break inside."""
MARKUP = (
    "\"'><img src=x onerror=alert(1)></style></textarea></script><script>alert(1)</script>"
    '<b data-made hx-get=/ui/jobs hx-trigger=load>" onmouseover="alert(1)" data-made="'
)
UNSEEN = "\x00\x07\x1b[31m\r\u202e\u2066\u2028\x9b"
"""What turns a text around, or is taken for an order by a terminal."""
_SOUGHT = ("/ui/jobs?q=", "/ui/dead-letters?q=", "/ui/schedules?q=", "/ui/")
LONG = "L" + "o" * 116 + "ng"
"""The longest name."""


class Texts:
    """Hostile texts, each of which begins with a mark of its own; `marks` has those that were given."""

    def __init__(self) -> None:
        self.marks: set[str] = set()

    def free(self, field: str) -> str:
        """A text that may hold anything."""
        return f"{self._mark(field)} {MARKUP} {UNSEEN} 🦊 {ENDS_NOWHERE}"

    def stored(self, field: str) -> str:
        """The same without the NUL that stores refuse."""
        return self.free(field).replace("\x00", "")

    def printable(self, field: str) -> str:
        """A text of 255 printable characters at most."""
        return f"{self._mark(field)} {MARKUP} 🦊{ENDS_NOWHERE}"[:255]

    def step(self, field: str) -> str:
        """The name of a step: 200 bytes, without a few characters."""
        return f"{self._mark(field)} \"'><img src=x onerror=alert(1)><b data-made>{ENDS_NOWHERE}"

    def document(self, field: str) -> dict[str, str]:
        """An object whose name and value are hostile."""
        return {self.stored(f"{field}-name"): self.stored(f"{field}-value")}

    def _mark(self, field: str) -> str:
        mark = f"MARK-{field}-"
        self.marks.add(mark)
        return mark


async def fill(store: Store, texts: Texts) -> list[str]:
    """Fill a store; returns the addresses of all pages that show it."""
    own = (Limit(LONG, texts.printable("limit-key"), 2),)
    described = {
        texts.stored("param"): {"enum": [texts.stored("choice")], "description": texts.stored("about")}
    }
    spec = Spec(
        key=LONG, queue=LONG, tags=(LONG,), params_schema=write({"type": "object", "properties": described})
    )
    await store.put_definitions([Definition(key=LONG, version=1, spec=spec.document(), registered_by="a")])
    worker = texts.printable("worker")
    version = texts.printable("version")
    line = Line(LONG, LONG)
    await store.enlist(
        WorkerInfo(id=worker, host=texts.printable("host"), pid=1, version=version, slots=2, lines=(line,))
    )
    await store.note_receiver(worker, LONG, texts.printable("receiver"))
    await store.set_retention(LONG, {"succeeded": HOUR}, by=texts.printable("keeper"))
    failed = await _failed(store, texts, worker, line, own)
    others = await _others(store, texts, worker, line)
    await _paused(store, texts)
    schedule = await _schedule(store, texts)
    webhooks = await _webhooks(store, texts)
    key = await make(store, "read", name=texts.printable("key"))
    entry = AuditEntry(
        who=texts.printable("who"),
        action=texts.printable("action"),
        target=texts.printable("target"),
        request=uuid4(),
    )
    await store.end_audit_entry(await store.begin_audit_entry(entry), texts.stored("outcome"))
    return [
        *("/", "/?period=week&order=failing", "/?first=run", "/ui/jobs", "/ui/dead-letters"),
        *(f"/ui/jobs/{job}" for job in others),
        *(f"/ui/jobs/{failed}?trace={view}&events=0" for view in ("own", "all", "text")),
        *(f"/ui/jobs/{failed}/replay-with", f"/ui/jobs?q=definition:{LONG}"),
        *("/ui/schedules", schedule, f"{schedule}/edit", f"/ui/schedules/new?definition={LONG}"),
        *("/ui/queues", "/ui/limits", "/ui/workers", "/ui/definitions", f"/ui/definitions/{LONG}"),
        *(f"/ui/definitions/{LONG}?form=json", f"/ui/definitions/{LONG}/versions/1/policy"),
        *(f"{path}{quote(f'{MARKUP}{chr(0x202E)} {ENDS_NOWHERE}', safe='')}" for path in _SOUGHT),
        *("/ui/webhooks", *webhooks, f"{webhooks[0]}/edit", "/ui/keys", f"/ui/keys/{key[4:14]}/revoke"),
    ]


async def _failed(store: Store, texts: Texts, worker: str, line: Line, limits: tuple[Limit, ...]) -> UUID:
    """A job that has failed twice, with a log and notes."""
    new = NewJob(
        definition=LONG,
        queue=LONG,
        tags=(LONG,),
        limits=limits,
        params=write(texts.document("params")),
        key=texts.printable("idempotency"),
        creator=texts.printable("creator"),
        traceparent=texts.printable("trace"),
    )
    [made] = await store.enqueue([new])
    [owned] = await claim(store, worker, lines=[line], lease_for=HOUR)
    said = LogLine(1, datetime.now(UTC), "warning", texts.free("log"), write(texts.document("fields")))
    note = Note(f"{CUSTOM}{'n' * 120}", write(texts.document("note")))
    await store.record(worker, [Trail(owned.lease, (said,), (note,))])
    # Of an earlier attempt the page shows no source.
    earlier = structs.replace(_failure(texts, "earlier"), source=())
    await settle(store, [recoverable(owned, timedelta(0), earlier)], worker)
    await store.promote(10)
    [owned] = await claim(store, worker, lines=[line], lease_for=HOUR)
    error = _failure(texts, "error")
    excerpt = Excerpt(_file(texts, "error"), 3, 3, (texts.stored("source"),))
    await settle(store, [unrecoverable(owned, structs.replace(error, source=(excerpt,)))], worker)
    return made.id


async def _others(store: Store, texts: Texts, worker: str, line: Line) -> list[UUID]:
    """Jobs: one runs with an effect in doubt, one waits for a signal, one has a result, one was cancelled."""
    plain = NewJob(definition=LONG, queue=LONG)
    [running] = await store.enqueue([plain])
    effect = StepDraft(name=texts.step("effect"), kind=StepKind.ONCE, status=StepStatus.INTENDED)
    result = write(texts.document("step-result"))
    step = StepDraft(name=texts.step("step"), kind=StepKind.STEP, status=StepStatus.DONE, body=result)
    [first] = await claim(store, worker, lines=[line], lease_for=HOUR)
    await store.keep_steps(worker, [(first.lease, step), (first.lease, effect)])
    await settle(store, [recoverable(first, timedelta(0))], worker)
    await store.promote(10)
    [again] = await claim(store, worker, lines=[line], lease_for=HOUR)
    progress = {again.lease: Progress(0.5, texts.stored("progress"))}
    await store.heartbeat(Pulse(worker=worker, leases=[again.lease], lease_for=HOUR, progress=progress))

    [suspended] = await store.enqueue([plain])
    [owned] = await claim(store, worker, lines=[line], lease_for=HOUR)
    wait = Wait(kind=WaitKind.SIGNAL, step=texts.step("wait"), signal=texts.step("signal"), timeout=HOUR)
    await store.suspend(worker, [Suspension(owned.lease, wait)])

    [done] = await store.enqueue([plain])
    [owned] = await claim(store, worker, lines=[line], lease_for=HOUR)
    await settle(store, [Report(owned.lease, Succeeded(write(texts.document("result"))))], worker)
    [cancelled] = await store.enqueue([plain])
    await store.cancel([cancelled.id], reason=texts.printable("cancel"))
    return [running.id, suspended.id, done.id, cancelled.id]


def _failure(texts: Texts, name: str) -> Failure:
    kind, message = texts.stored(f"{name}-kind"), texts.stored(f"{name}-message")
    code, file = texts.stored(f"{name}-code"), _file(texts, name)
    lines = (
        "Traceback (most recent call last):",
        f'  File "{file}", line 3, in {texts.stored(f"{name}-function")}',
        f"    {code}",
        f'  File "/usr/lib/python3.11/{file}", line 4, in run',
        f"    {code}",
        f"{kind}: {message}",
    )
    return Failure(kind, message, "\n".join(lines))


def _file(texts: Texts, name: str) -> str:
    """A path as a traceback names it, on one line and without a quotation mark."""
    return "/app/" + re.sub('[^ -~]|"', "", texts.stored(f"{name}-file"))


async def _paused(store: Store, texts: Texts) -> None:
    for scope, name in ((PauseScope(queue=LONG), "queue"), (PauseScope(definition=LONG), "definition")):
        await store.pause(
            scope, by=texts.printable(f"{name}-pauser"), reason=texts.printable(f"{name}-reason")
        )


async def _schedule(store: Store, texts: Texts) -> str:
    now = await store.now()
    rule = Recurrence(every=HOUR, starts_at=now - HOUR)
    job = ScheduledJob(
        definition=LONG, params=write(texts.document("schedule-params")), tags=(LONG,), queue=LONG
    )
    new = NewSchedule(id=LONG, job=job, recurrence=rule, creator=texts.printable("scheduler"))
    await store.add_schedule(new, next_at=now - HOUR)
    tick = DueTick(at=now - HOUR, outcome=TickOutcome.FAILED, problem=texts.stored("tick"))
    await store.fire(
        [
            Firing(
                namespace="default",
                schedule=LONG,
                revision=1,
                expected=now - HOUR,
                next_at=now + HOUR,
                ticks=[tick],
            )
        ]
    )
    await store.pause_schedule(
        ScheduleName("default", LONG),
        by=texts.printable("schedule-pauser"),
        reason=texts.printable("schedule-reason"),
    )
    return f"/ui/schedules/default/{LONG}"


async def _webhooks(store: Store, texts: Texts) -> list[str]:
    """One whose deliveries fail, and one that is paused."""
    now = await store.now()
    hooks = [
        NewWebhook(
            id=uuid4(),
            url=f"https://a.example/{texts.stored(f'{name}-url')}",
            events=("failed", f"{CUSTOM}{'e' * 57}"),
            definitions=(LONG,),
            queues=(LONG,),
            tags=(LONG,),
            creator=texts.printable(f"{name}-maker"),
        )
        for name in ("failing", "paused")
    ]
    for hook in hooks:
        await store.add_webhook(hook, secret=None)
    await store.add_delivery(
        NewDelivery(
            webhook=hooks[0].id, message="m" * 100, type="failed", at=now, body="{}", job=uuid4(), n=1
        )
    )
    answer = {
        "state": DeliveryState.WAITING,
        "status": None,
        "problem": texts.stored("answer"),
        "retry_after": HOUR,
    }
    await try_due(store, **answer)  # type: ignore[arg-type]
    await store.pause_webhook(
        hooks[1].id, by=texts.printable("webhook-pauser"), reason=texts.printable("webhook-reason")
    )
    return [f"/ui/webhooks/{hook.id}" for hook in hooks]
