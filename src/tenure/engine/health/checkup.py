"""What is wrong with a store and with those that work on it, from bounded readings; nothing is changed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tenure.core.model.aside import Aside
from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.core.reports.operations import WORKER_ALIVE, WorkerStatus
from tenure.engine.client.attention import Attention, AttentionCheck, PausedQueue, Unserved
from tenure.engine.health.stuck_jobs import find_stuck
from tenure.storage.contract.store import Store

MOST_AHEAD = timedelta(seconds=60)
"""How far a store's clock may be ahead of the machine's."""


async def examine(store: Store, *, deep: bool = False) -> Checkup:
    """Look at a store whose schema fits: its clock, workers, pauses, lines, and jobs that are stuck.

    Only the newest jobs are looked at one by one, unless `deep`.
    """
    ahead = await store.now() - datetime.now(UTC)
    attention = await AttentionCheck(store).look()
    workers = await store.workers()
    alive = sum(worker.is_alive for worker in workers)
    stuck = await find_stuck(store, deep=deep)
    vitals = await store.vitals()
    return Checkup(
        facts=[
            Fact("store", str(await store.store_id())),
            Fact("clock", f"{round(ahead.total_seconds()):+,} s from this machine's"),
            Fact("workers", f"{alive} alive, {len(workers) - alive} silent"),
            *stuck.facts,
            *vitals.facts,
        ],
        symptoms=[
            *_clock(ahead),
            *map(_silent, attention.silent),
            *_more("worker-silent", "workers", attention.silent_in_all - len(attention.silent)),
            *(_unready(worker) for worker in workers if _is_unready(worker, attention.at)),
            *map(_unserved, attention.unserved),
            *_more("unserved", "lines", attention.unserved_in_all - len(attention.unserved)),
            *map(_paused, attention.paused),
            *_more("paused", "pauses", attention.paused_in_all - len(attention.paused)),
            *map(_aside, attention.aside),
            *_more("aside", "jobs", attention.aside_in_all - len(attention.aside)),
            *_overdue(attention, alive),
            *stuck.symptoms,
            *vitals.symptoms,
        ],
    )


def _clock(ahead: timedelta) -> Iterator[Symptom]:
    if ahead > MOST_AHEAD:
        yield Symptom(
            kind="clock-ahead",
            what=f"the store's clock is {ahead.total_seconds():,.0f} s ahead of this machine's: in a file it "
            "stands still until the machine has caught up, and so do leases, delays and retries",
            cure="set the clocks of this machine and of the database's server right, by NTP; a file that was "
            "used while its machine was far ahead is to be replaced by a new one",
        )


def _silent(worker: WorkerStatus) -> Symptom:
    return Symptom(
        kind="worker-silent",
        what=f"worker {worker.worker.id} on {worker.worker.host} (pid {worker.worker.pid}) sends no "
        "heartbeats: it is dead, frozen or cut off",
        since=worker.seen_at,
        cure="look at its log and start it again; it is forgotten after a day of silence",
    )


def _is_unready(worker: WorkerStatus, now: datetime) -> bool:
    # A worker that has just started is not ready before its app is imported.
    is_new = now - worker.started_at < WORKER_ALIVE
    return worker.is_alive and not worker.is_ready and not worker.draining and not is_new


def _unready(worker: WorkerStatus) -> Symptom:
    return Symptom(
        kind="worker-unready",
        what=f"worker {worker.worker.id} on {worker.worker.host} (pid {worker.worker.pid}) is alive and "
        "cannot run jobs",
        cure="its log says why: it is about to end, the database refuses it, or its app cannot be imported",
    )


def _unserved(line: Unserved) -> Symptom:
    definition = f"{line.line.definition}@{line.line.version}"
    return Symptom(
        kind="unserved",
        what=f"{_jobs(line.jobs)} of {definition} in queue {line.line.queue}, and no live worker serves them",
        since=line.oldest,
        cure=f"start a worker whose app has {definition} and which serves this queue: `tenure worker APP`",
    )


def _paused(held: PausedQueue) -> Symptom:
    until = "until it is resumed" if held.pause.until is None else f"until {held.pause.until:%Y-%m-%d %H:%MZ}"
    reason = f": {held.pause.reason}" if held.pause.reason else ""
    scope = held.pause.scope
    options = f" --version {scope.version}" * bool(scope.version) + f" --queue {scope.queue}" * bool(
        scope.queue
    )
    command = (
        f"definitions resume {scope.definition}{options}"
        if scope.definition
        else f"queues resume {scope.queue}"
    )
    return Symptom(
        kind="paused",
        what=f"{_jobs(held.jobs)} under the pause of {scope} by {held.pause.by}, {until}{reason}",
        since=held.pause.at,
        cure=f"when the reason is gone: `tenure {command}`",
        needs_person=held.pause.until is None,
    )


def _aside(job: Aside) -> Symptom:
    return Symptom(
        kind="aside",
        what=f"job {job.job} is aside, because the database refused to move it ({job.verb}): {job.why}",
        since=job.since,
        cure=f"mend its rows, then `tenure jobs put-back {job.job}`",
    )


def _overdue(attention: Attention, alive: int) -> Iterator[Symptom]:
    if attention.overdue and not alive:
        yield Symptom(
            kind="overdue",
            what=f"the leases of {attention.overdue} jobs have run out, and no live worker takes them back",
            cure="start a worker, `tenure api` or `tenure serve`: each of them does so",
        )


def _more(kind: str, things: str, count: int) -> Iterator[Symptom]:
    if count > 0:
        yield Symptom(kind=kind, what=f"and {count} {things} more", cure="the same")


def _jobs(count: int) -> str:
    return "1 job waits" if count == 1 else f"{count:,} jobs wait"
