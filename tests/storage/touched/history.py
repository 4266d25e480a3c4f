"""A database with a long past: jobs in every state and line, written by plain SQL, most of them long over.

However long it is, the same few jobs are there for a verb to work on: some to claim, some whose timers are
due, or whose leases have run out. All of them are younger than the past, and stand before it in line.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, NamedTuple, Protocol
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.reading import Position
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.touched.cost import Costs
from tests.storage.verbs import claim, seconds

OTHER, PAUSED, FULL, CALL, MAIL, BULK, REPORT = LINES = (
    Line("default", "other"),
    Line("default", "paused"),
    Line("default", "full"),
    Line("default", "call"),
    Line("default", "mail"),
    Line("bulk", "mail"),
    Line("bulk", "report"),
)
"""By number, from 1 on. No worker serves the first, and nothing can be claimed from the next two."""

KEYED = [NewJob(definition="report", queue="bulk", key=f"key {number}") for number in range(20)]
KEYED = [NewJob(definition="report", queue="bulk", key=f"key {number}") for number in range(20)]
LIMITS = {FULL: (Limit("full"),), CALL: (Limit("calls", size=50),)}

PAST = """
    INSERT INTO tenure.job (id, line, priority, max_attempts, created_at, timeout_ms, grace_ms,
                            backoff_base_ms, backoff_cap_ms, on_lost, namespace, scope, params, tags, mark)
    SELECT id, line, -rank, 3, at, 60000, 5000, 1000, 60000, 'retry',
           CASE WHEN tags IS NULL THEN 'default' ELSE 'globex' END, '', '{}', tags, mark
      FROM past;
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, fence, seq, updated_at, due_at,
                                  queued_at, started_at, finished_at, attempt, has_result)
    SELECT id, line, rank, 3, state, steps, fence, i, at, due_at, at, CASE WHEN fence > 0 THEN at END,
           CASE WHEN state IN ('succeeded', 'failed', 'cancelled', 'buried') THEN at END,
           CASE WHEN fence > 0 THEN 1 ELSE 0 END, state = 'succeeded'
      FROM past;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
    SELECT id, 2, 'queued', 'running', 1, fence, at, 'started', 'past', mark FROM past WHERE fence > 0;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
    SELECT id, 3, 'running', state, 1, fence, at, CAST(state AS text), 'past', mark FROM past WHERE fence > 0;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
    SELECT id, 2, 'queued', state, 0, 0, at, 'cancelled', 'past', mark FROM past WHERE state = 'cancelled';
    INSERT INTO tenure.attempt (job, fence, started_at, ended_at, number, ending, worker)
    SELECT id, fence, at, at, 1,
           CASE CAST(state AS text) WHEN 'succeeded' THEN 'succeeded' WHEN 'failed' THEN 'unrecoverable'
                                    WHEN 'buried' THEN 'lost' ELSE 'recoverable' END, 'past'
      FROM past WHERE fence > 0;
    INSERT INTO tenure.log (job, fence, n, at, level, text)
    SELECT id, fence, 1, at, 'info', 'hello' FROM past WHERE fence > 0;
    INSERT INTO tenure.result (job, body) SELECT id, '{}' FROM past WHERE state = 'succeeded';
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT state, id, at, CASE CAST(state AS text) WHEN 'failed' THEN 'mail:000000000001'
                                                   WHEN 'buried' THEN 'mail:000000000002' END
      FROM past WHERE state IN ('failed', 'cancelled', 'buried');
    INSERT INTO tenure.step (job, name, kind, status, fence, at, size, body)
    SELECT id, 'fetch', 'step', 'done', fence, at, 1, '1' FROM past WHERE fence > 0 AND i % 4 = 0;
    INSERT INTO tenure.kept (job, fence, steps, bytes)
    SELECT id, fence, 1, 1 FROM past WHERE fence > 0 AND i % 4 = 0;
    INSERT INTO tenure.wait (job, fence, at, kind, step, signal)
    SELECT id, fence, at, 'signal', 'wait:approved', 'approved' FROM past WHERE fence > 0 AND i % 4 = 0;
    INSERT INTO tenure.signal (job, name, at, by, body)
    SELECT id, 'approved', at, 'ann', '1' FROM past WHERE fence > 0 AND i % 4 = 0;
    INSERT INTO tenure.tag (name, job) SELECT 'red', id FROM past WHERE tags IS NOT NULL;
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, i, id FROM past WHERE state = 'queued';
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT due_at, id, CASE WHEN state = 'retrying' THEN 'retry' ELSE 'scheduled' END
      FROM past WHERE due_at IS NOT NULL;
    INSERT INTO tenure.timer (due_at, job, kind) SELECT at, id, 'newer' FROM past WHERE rank < 0;
"""
"""What the table `past` says, as the verbs would have written it; each store makes that table in its way."""

STATES = {
    **dict.fromkeys(range(11), "succeeded"),
    **dict.fromkeys(range(11, 13), "failed"),
    **dict.fromkeys(range(13, 14), "cancelled"),
    **dict.fromkeys(range(14, 15), "buried"),
    **dict.fromkeys(range(15, 17), "queued"),
    **dict.fromkeys(range(17, 18), "scheduled"),
    **dict.fromkeys(range(18, 20), "retrying"),
}
"""The states of twenty jobs of the past in a row."""

RECOUNT = (
    "DELETE FROM tenure.tally",
    "INSERT INTO tenure.tally SELECT line, state, count(*) FROM tenure.job_state GROUP BY line, state",
)


class Past(NamedTuple):
    """How much has gone before: jobs in all states and lines, and a crowd in line.

    A quarter of the crowd stands where jobs are claimed, the others before them where none can be. All of
    them have timers of a kind that only a newer version knows, which were due before all others.
    """

    jobs: int
    crowd: int = 0


class Scene(NamedTuple):
    """What there is to work on, and the middle of the past."""

    leases: Sequence[Lease]
    in_line: Sequence[UUID]
    held: Sequence[UUID]
    failed: Sequence[UUID]
    retrying: Sequence[UUID]
    first_under_full: UUID
    middle: UUID
    in_feed: Position


class PastBackend(Backend, Protocol):
    """A database that can be given a past, and a store on it that counts what its statements cost."""

    ways: ClassVar[Mapping[str, str]]
    """How statements may be planned, and how in the small database that is their measure."""

    async def fill(self, past: Past) -> Position:
        """Write the past; returns its middle. Nothing else may have been written before."""

    async def settle_down(self) -> None:
        """Do what the database does by itself some time after so much was written."""

    def watched(self, way: str) -> AbstractAsyncContextManager[tuple[Store, Costs]]:
        """A store whose writes are undone, call by call, and what its statements have cost so far."""


def states_in_sql(number: str) -> str:
    """The state of a job of the past by its number."""
    cases = " ".join(f"WHEN {rest} THEN '{state}'" for rest, state in STATES.items())
    return f"CASE {number} % {len(STATES)} {cases} END"


async def set_scene(backend: PastBackend, past: Past) -> Scene:
    """Give a database a past, and something to do."""
    middle = await backend.fill(past)
    store = backend.store()
    await store.open()
    # One after the other, so that they are numbered in this order.
    for line in LINES:
        await store.enqueue(_jobs(line, 1, priority=0))
    await store.verify()
    leases = await _busy_workers(store)
    await store.pause(PAUSED)
    queued = await store.enqueue([*_jobs(MAIL, 100), *_jobs(CALL, 30), *_jobs(BULK, 10, delay=seconds(30))])
    await store.enqueue(KEYED)
    held = await store.enqueue(_jobs(MAIL, 20, hold=True))
    await backend.clock.advance(seconds(60))
    await store.close()
    for statement in RECOUNT:
        await backend.sql(statement)
    await backend.settle_down()
    return Scene(
        leases=leases,
        in_line=[one.id for one in queued[80:100]],
        held=[one.id for one in held],
        failed=await _ids(
            backend, "SELECT job FROM tenure.finished WHERE state = 'failed' ORDER BY job LIMIT 20"
        ),
        retrying=await _ids(
            backend, "SELECT job FROM tenure.timer WHERE kind = 'retry' ORDER BY job LIMIT 20"
        ),
        first_under_full=(await _ids(backend, _FIRST_UNDER_FULL))[0],
        middle=middle.job,
        in_feed=middle,
    )


_FIRST_UNDER_FULL = (
    "SELECT ready.job FROM tenure.ready AS ready JOIN tenure.line AS line ON line.id = ready.line "
    f"WHERE line.queue = '{FULL.queue}' AND line.definition = '{FULL.definition}' "
    "ORDER BY ready.rank, ready.seq LIMIT 1"
)
"""The job that would be claimed next under the limit that is used up."""


async def _ids(backend: Backend, query: str) -> list[UUID]:
    return [UUID(str(job)) for (job,) in await backend.sql(query)]


async def _busy_workers(store: Store) -> list[Lease]:
    """Three workers that were lost, one that fills a limit, and one that lives: the leases of the last."""
    await store.enqueue(_jobs(REPORT, 26))
    for number in range(3):
        await claim(store, f"lost {number}", limit=2, lines=[REPORT], lease_for=seconds(10))
    [_] = await claim(store, "busy", limit=1, lines=[FULL], lease_for=seconds(3600))
    await store.enqueue(_jobs(FULL, 1, priority=0))
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=20, lines=(MAIL, REPORT)))
    return [one.lease for one in await claim(store, "a", limit=20, lines=[REPORT], lease_for=seconds(3600))]


def _jobs(line: Line, count: int, *, priority: int = 10, **fields: object) -> list[NewJob]:
    job = NewJob(
        definition=line.definition,
        queue=line.queue,
        priority=priority,
        limits=LIMITS.get(line, ()),
        **fields,  # type: ignore[arg-type]
    )
    return [job] * count
