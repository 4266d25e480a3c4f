"""Lines as operators see them: what is queued where, since when, and whether a worker serves it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.reports.operations import WORKER_ALIVE, LineStatus, WorkerInfo
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.contract.histories import lives, standing
from tests.storage.verbs import MAIL, claim, enqueue_one, one_in_each_state, seconds, settle, succeeded

POST = Line("default", "post")


def worker(id_: str, *lines: Line) -> WorkerInfo:
    return WorkerInfo(id=id_, host="here", pid=7, version="1", slots=4, lines=lines)


async def line(store: Store, line: Line = MAIL) -> LineStatus:
    """One line of all."""
    [status] = [status for status in await store.lines() if status.line == line]
    return status


async def counts(store: Store) -> dict[Line, Mapping[State, int]]:
    """The counts of every line that has any."""
    statuses = await store.lines()
    assert len({status.line for status in statuses}) == len(statuses)
    return {status.line: status.counts for status in statuses if status.counts}


async def test_a_store_without_jobs_has_no_line(store: Store) -> None:
    assert await store.lines() == []


async def test_a_line_is_listed_that_has_or_had_jobs_or_has_a_live_worker(store: Store, clock: Clock) -> None:
    """Not where a job was refused, nor where a worker once served."""
    await enqueue_one(store, key="mine")
    await enqueue_one(store, key="mine", queue="other", limits=(Limit("api", size=1),))
    assert [status.line for status in await store.lines()] == [MAIL]

    await store.enlist(worker("w", POST))
    assert [status.line for status in await store.lines()] == [MAIL, POST]
    await clock.advance(WORKER_ALIVE + seconds(1))
    assert [status.line for status in await store.lines()] == [MAIL]

    await settle(store, [succeeded(one) for one in await claim(store)])
    assert [status.counts for status in await store.lines()] == [{State.SUCCEEDED: 1}]
    await clock.advance(seconds(1))
    nothing = timedelta(0)
    await store.prune(Retention(succeeded=nothing, others=nothing, keyed=nothing))
    for _ in range(2):
        assert [(status.line, status.counts) for status in await store.lines()] == [(MAIL, {})]
        await store.tidy()


async def test_after_every_verb_the_counts_are_those_of_the_jobs(store: Store, clock: Clock) -> None:
    """A running total is only as good as the last verb that forgot it."""
    seen: set[State] = set()
    async for verb, jobs in lives(store, clock):
        expected = await standing(store, jobs)
        assert await counts(store) == expected, verb
        for queue in {line.queue for line in expected}:
            in_line = [
                states.get(State.QUEUED, 0) for line, states in expected.items() if line.queue == queue
            ]
            assert await store.depth(queue) == sum(in_line), verb
        seen |= {state for states in expected.values() for state in states}
    assert seen == set(State)


async def test_a_queue_is_as_deep_as_jobs_stand_in_its_lines(store: Store) -> None:
    """Of any definition, and none that waits for something else."""
    assert await store.depth("default") == 0
    await enqueue_one(store)
    await enqueue_one(store, "post", version=3)
    await enqueue_one(store, limits=(Limit("api", size=1),))
    await enqueue_one(store, hold=True)
    await enqueue_one(store, delay=seconds(60))
    await enqueue_one(store, queue="slow")
    assert await store.depth("default") == 3
    assert await store.depth("slow") == 1
    await claim(store, limit=1)
    assert await store.depth("default") == 2


async def test_two_stores_count_together(store: Store, other: Store) -> None:
    """The totals are the database's, not a process's."""
    jobs = [await enqueue_one((store, other)[n % 2]) for n in range(6)]
    for claimed in await claim(other, limit=2):
        await settle(other, [succeeded(claimed)])
    await store.cancel(jobs[-1:])
    for each in (store, other):
        expected = {State.QUEUED: 3, State.SUCCEEDED: 2, State.CANCELLED: 1}
        assert (await line(each)).counts == expected


async def test_what_was_refused_is_not_counted(store: Store, clock: Clock) -> None:
    """Neither a late report, nor a second cancel, nor a key that was taken."""
    job = await enqueue_one(store, key="mine")
    [late] = await claim(store, lease_for=seconds(10))
    await clock.advance(seconds(11))
    assert (await settle(store, [succeeded(late)])).lost == [late.lease]
    assert await enqueue_one(store, key="mine") == job
    for _ in range(2):
        await store.cancel([job, job])
    assert (await line(store)).counts == {State.CANCELLING: 1}
    await store.reap(10)
    await store.cancel([job])
    assert (await line(store)).counts == {State.CANCELLED: 1}


async def test_jobs_under_different_limits_stand_in_one_line(store: Store) -> None:
    """How a store keeps them apart is its own affair."""
    limits: Sequence[tuple[Limit, ...]] = [
        (),
        (Limit("api", size=5),),
        (Limit("tenant", "a"),),
        (Limit("tenant", "b"), Limit("api")),
    ]
    await store.enqueue([NewJob(definition="mail", limits=each) for each in limits])
    [running] = await claim(store, limit=1)

    [status] = await store.lines()
    assert status.line == MAIL
    assert status.counts == {State.QUEUED: 3, State.RUNNING: 1}
    await settle(store, [succeeded(running)])
    assert (await line(store)).counts == {State.QUEUED: 3, State.SUCCEEDED: 1}


async def test_tidying_changes_no_count(store: Store, clock: Clock) -> None:
    async for verb, jobs in lives(store, clock):
        await store.tidy()
        assert await counts(store) == await standing(store, jobs), verb
    before = await store.lines()
    await store.tidy()
    assert await store.lines() == before


async def test_tidying_while_others_work_loses_no_count(store: Store, other: Store) -> None:
    """Whatever is folded is folded once."""
    jobs: list[UUID] = []
    for _ in range(5):
        jobs += [job.id for job in await store.enqueue([NewJob(definition="mail") for _ in range(20)])]
        await other.tidy()
        await settle(store, [succeeded(claimed) for claimed in await claim(store, limit=10)])
        await store.tidy()
    assert await counts(other) == await standing(store, jobs)


async def test_pruning_lowers_the_counts(store: Store, clock: Clock) -> None:
    jobs = await one_in_each_state(store)
    await clock.advance(seconds(1))
    nothing = timedelta(0)
    await store.prune(Retention(succeeded=nothing, others=nothing, keyed=nothing))
    left = [job for state, job in jobs.items() if not state.is_final]
    assert await counts(store) == await standing(store, left)


async def test_the_oldest_is_who_has_stood_in_line_longest(store: Store, clock: Clock) -> None:
    """By the time of queueing, whatever its priority."""
    await enqueue_one(store, priority=-5)
    later = await clock.advance(seconds(5))
    await enqueue_one(store, priority=5, limits=(Limit("api"),))
    assert (await line(store)).oldest == START

    assert len(await claim(store, limit=1)) == 1
    assert (await line(store)).oldest == START
    assert len(await claim(store, limit=1)) == 1
    assert (await line(store)).oldest is None

    await enqueue_one(store)
    assert (await line(store)).oldest == later


async def test_nobody_is_oldest_where_nobody_stands_in_line(store: Store, clock: Clock) -> None:
    """Jobs that wait for something else do not count."""
    await enqueue_one(store, hold=True)
    await enqueue_one(store, delay=seconds(60))
    assert (await line(store)).oldest is None
    now = await clock.advance(seconds(60))
    await store.promote(10)
    assert (await line(store)).oldest == now


async def test_a_line_that_nobody_serves_says_so(store: Store) -> None:
    """Otherwise its jobs wait forever without a visible reason."""
    await enqueue_one(store)
    await enqueue_one(store, "post")
    await store.enlist(worker("w", POST, Line("slow", "mail"), Line("default", "mail", 2)))
    assert ((await line(store)).workers, (await line(store, POST)).workers) == (0, 1)


async def test_every_worker_that_serves_a_line_counts_once(store: Store) -> None:
    await enqueue_one(store)
    for id_ in ("a", "b", "c", "b"):
        await store.enlist(worker(id_, MAIL, POST, MAIL))
    assert (await line(store)).workers == 3
    await store.dismiss("b")
    assert (await line(store)).workers == 2


async def test_a_worker_that_has_fallen_silent_serves_nobody(store: Store, clock: Clock) -> None:
    await enqueue_one(store)
    await store.enlist(worker("silent", MAIL))
    await store.enlist(worker("alive", MAIL))
    await clock.advance(WORKER_ALIVE)
    assert (await line(store)).workers == 2
    await store.heartbeat(Pulse(worker="alive", leases=[]))
    await clock.advance(seconds(1))
    assert (await line(store)).workers == 1
    await store.heartbeat(Pulse(worker="silent", leases=[]))
    assert (await line(store)).workers == 2


async def test_lines_come_in_an_order(store: Store) -> None:
    """The same for everybody, so that nothing jumps on an operator's screen."""
    requested = [("slow", "mail", 1), ("default", "wire", 2), ("default", "mail", 1), ("default", "wire", 1)]
    await store.enqueue([NewJob(queue=q, definition=d, version=v) for q, d, v in requested])
    lines = [status.line for status in await store.lines()]
    assert lines == sorted(Line(*each) for each in requested)
