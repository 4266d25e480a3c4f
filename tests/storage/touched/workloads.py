"""What is done to a database with a past, and how much must come of it: the same however long the past is.

Those that only read come first: what the others leave behind when they are undone is in the way of readers.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from tenure.core.model.durable import Keeping, Suspension
from tenure.core.model.job import KeysTaken, NewJob
from tenure.core.model.lease import Lease, Line, Order, Progress, Pulse
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.durable_verbs import approval, done, for_signal
from tests.storage.touched.history import CALL, FULL, KEYED, LINES, MAIL, PAUSED, REPORT, Scene
from tests.storage.verbs import EVERY_JOB, line, note, succeeded, trail

Workload = Callable[[Store, Scene], Awaitable[int]]
"""Calls of a store; returns how many rows or jobs came of it."""

PAGE = 20
_MANY = 100
_NAMED = Filter(queue="default", definition="mail")
_TAGGED = Filter(tag="red")
_FAILED = Filter(states=frozenset({State.FAILED}))
_ALIKE = Filter(fingerprint="mail:000000000001")
_RETRYING = Filter(states=frozenset({State.RETRYING}))
_QUEUED = Filter(states=frozenset({State.QUEUED}))
_RUNNING = Filter(states=frozenset({State.RUNNING}))
_SUCCEEDED = Filter(states=frozenset({State.SUCCEEDED}))
_FILTERS = {
    "all": EVERY_JOB,
    "by line": _NAMED,
    "of a namespace": Filter(namespace="globex"),
    "by tag": _TAGGED,
    "that failed": _FAILED,
    "that died of the same": _ALIKE,
    "that are retried": _RETRYING,
    "in line": _QUEUED,
    "that succeeded": _SUCCEEDED,
}


def claiming(lines: tuple[Line, ...], limit: int, *, reports: bool = False) -> Workload:
    """A worker's turn."""

    async def claim(store: Store, scene: Scene) -> int:
        order = Order(worker="a", lines=lines, limit=limit)
        turn = await store.settle_and_claim([succeeded(lease) for lease in scene.leases if reports], order)
        return len(turn.claimed) + len(turn.settled.accepted)

    return claim


def paging(which: Filter, *, newest_first: bool, from_middle: bool) -> Workload:
    """A page of a list, the first one or one in the middle of the past."""

    async def page(store: Store, scene: Scene) -> int:
        after = scene.middle if from_middle else None
        found = await store.page(which, after=after, newest_first=newest_first, limit=PAGE)
        return sum(not after or _is_behind(job.id, after, newest_first=newest_first) for job in found.jobs)

    return page


def _is_behind(job: UUID, after: UUID, *, newest_first: bool) -> bool:
    return job < after if newest_first else job > after


async def _promote(store: Store, _: Scene) -> int:
    return len(await store.promote(_MANY))


async def _reap(store: Store, _: Scene) -> int:
    return len(await store.reap(_MANY))


async def _beat(store: Store, scene: Scene) -> int:
    progress = {lease: Progress(0.5, "half") for lease in scene.leases}
    return len((await store.heartbeat(Pulse(worker="a", leases=scene.leases, progress=progress))).kept)


async def _record(store: Store, scene: Scene) -> int:
    trails = [trail(lease, line(1), line(2), note()) for lease in scene.leases]
    return len(trails) - len((await store.record("a", trails)).lost)


async def _annotate(store: Store, scene: Scene) -> int:
    failed = await store.get(scene.failed[0])
    ended = [Lease(failed.id, failed.fence)] if failed else []
    return sum([await store.annotate(lease, note()) for lease in [*ended, *scene.leases]])


async def _hand_back(store: Store, scene: Scene) -> int:
    return len((await store.hand_back("a", unstarted=scene.leases, killed=[])).accepted)


async def _accept(store: Store, scene: Scene) -> int:
    return sum(standing.moved for standing in await store.accept(scene.held))


async def _cancel(store: Store, scene: Scene) -> int:
    running = [lease.job for lease in scene.leases]
    return sum(standing.moved for standing in await store.cancel([*running, *scene.held, *scene.retrying]))


async def _give_up(store: Store, scene: Scene) -> int:
    return len(await store.give_up(scene.retrying))


async def _reschedule(store: Store, scene: Scene) -> int:
    return sum(standing.moved for standing in await store.reschedule(scene.retrying))


async def _replay(store: Store, scene: Scene) -> int:
    return sum(replayed.fresh for replayed in await store.replay(scene.failed))


async def _enqueue(store: Store, _: Scene) -> int:
    # New keys: what was rolled back is still in the index, and would be read again.
    new = [NewJob(definition="mail", key=str(uuid4()), tags=("red",)) for _ in range(_MANY)]
    return sum(made.fresh for made in await store.enqueue(new))


async def _spawn(store: Store, scene: Scene) -> int:
    new = [NewJob(definition="mail", key=str(uuid4())) for _ in range(_MANY)]
    return sum(made.fresh for made in await store.spawn("a", scene.leases[0], new) or [])


async def _enqueue_again(store: Store, _: Scene) -> int:
    return sum(not made.fresh for made in await store.enqueue(KEYED))


async def _feed_from_middle(store: Store, scene: Scene) -> int:
    return len(await store.feed(scene.in_feed))


async def _feed_at_end(store: Store, _: Scene) -> int:
    return len(await store.feed(await store.end_of_feed()))


async def _prune(store: Store, _: Scene) -> int:
    return (await store.prune(Retention(), limit=_MANY)).jobs


async def _prune_in_middle(store: Store, scene: Scene) -> int:
    return (await store.prune(Retention(), after=scene.middle, limit=_MANY)).jobs


async def _lines(store: Store, _: Scene) -> int:
    return len(await store.lines())


async def _recent(store: Store, _: Scene) -> int:
    return int(bool((await store.recent(limit=1_000)).ends))


async def _unfinished(store: Store, _: Scene) -> int:
    return await store.unfinished("acme", most=10)


async def _flows(store: Store, _: Scene) -> int:
    return int(bool((await store.flows(limit=1_000)).now))


async def _dead_letter_hours(store: Store, _: Scene) -> int:
    causes = [group.fingerprint for group in (await store.dead_letters()).groups]
    return len(await store.dead_letter_hours(causes))


async def _dead_letters(store: Store, _: Scene) -> int:
    return len((await store.dead_letters()).groups)


async def _paces(store: Store, _: Scene) -> int:
    await store.note_pace(waits={1: 1}, runs={})
    return int(bool((await store.paces(timedelta(days=1))).ended))


async def _longest(store: Store, _: Scene) -> int:
    return len(await store.longest_running(limit=5))


async def _pace_details(store: Store, _: Scene) -> int:
    for by_hour in (False, True):
        await store.pace_details(timedelta(days=8), by_hour=by_hour)
    return 0


async def _trouble(store: Store, _: Scene) -> int:
    return (await store.trouble(timedelta(days=365))).dead.n


async def _counts(store: Store, _: Scene) -> int:
    counts = [await store.counts(which) for which in (EVERY_JOB, _NAMED, _TAGGED, _ALIKE)]
    return sum(bool(count.n) for states in counts for count in states.values())


async def _strictly(store: Store, _: Scene) -> int:
    new = [NewJob(definition="mail", key=str(uuid4())) for _ in range(_MANY)]
    answers = await store.enqueue_strictly([*KEYED, *new])
    return 0 if isinstance(answers, KeysTaken) else len(answers)


async def _outlook(store: Store, _: Scene) -> int:
    return int((await store.outlook(LINES)).waiting)


async def _workers(store: Store, _: Scene) -> int:
    return len(await store.workers())


async def _end_of_log(store: Store, scene: Scene) -> int:
    return len(await store.last_logs(scene.middle))


async def _one_job(store: Store, scene: Scene) -> int:
    of_it: list[Any] = [await store.get(scene.middle)]
    of_it += [*await store.events(scene.middle), *await store.attempts(scene.middle)]
    return len([*of_it, *await store.logs(scene.middle)])


async def _obstacles(store: Store, scene: Scene) -> int:
    """Of a job that is the first in line under a limit that is used up, and of one that ended long ago."""
    looked = [await store.obstacles(job) for job in (scene.first_under_full, scene.failed[0])]
    return sum(bool(one and (one.job.state.is_final or one.limits[0].holders)) for one in looked)


async def _ending_in(store: Store, scene: Scene) -> int:
    return len(await store.ending_in(scene.held[0].hex[-8:], among=1_000))


async def _briefs(store: Store, scene: Scene) -> int:
    return len(await store.briefs([*scene.failed[:10], *scene.in_line[:10]]))


async def _children(store: Store, scene: Scene) -> int:
    """Of a job that has started none."""
    return len(await store.children(scene.held[0])) + 1


async def _claim_these(store: Store, scene: Scene) -> int:
    """Of jobs that others stand before."""
    order = Order(worker="a", lines=(MAIL,), limit=20)
    return len((await store.claim_these(order, scene.in_line)).claimed)


async def _keep_steps(store: Store, scene: Scene) -> int:
    kept = await store.keep_steps("a", [(lease, done()) for lease in scene.leases])
    return kept.count(Keeping.KEPT)


async def _recall(store: Store, scene: Scene) -> int:
    return sum([await store.recall("a", lease) is not None for lease in scene.leases])


async def _forget(store: Store, scene: Scene) -> int:
    return sum([await store.forget_steps("a", lease, "") is not None for lease in scene.leases])


async def _suspend(store: Store, scene: Scene) -> int:
    return len(await store.suspend("a", [Suspension(lease, for_signal()) for lease in scene.leases]))


async def _signal(store: Store, scene: Scene) -> int:
    return sum([await store.signal(job, approval()) is not None for job in scene.held])


async def _progress(store: Store, scene: Scene) -> int:
    """The one step of a job, and what jobs wait for: nothing, though rows of old waits are there."""
    seen = [*await store.steps(scene.middle), *await store.open_waits(scene.failed)]
    return (
        len(seen) + len(await store.effects_in_doubt()) + len(await store.effects_in_doubt(job=scene.middle))
    )


CLAIMS: dict[str, tuple[Workload, int]] = {
    "a claim": (claiming((MAIL,), _MANY), _MANY),
    "a claim beside a line that is paused": (claiming((PAUSED, MAIL), _MANY), _MANY),
    "a claim beside a line whose limit is used up": (claiming((FULL, MAIL), _MANY), _MANY),
    "a claim beside both": (claiming((PAUSED, FULL, MAIL), _MANY), _MANY),
    "a claim under a limit": (claiming((CALL,), 20), 20),
    "a claim by id": (_claim_these, 20),
}
_AT_THE_FRONT: dict[str, tuple[Workload, int]] = {
    "outlook": (_outlook, 1),
    "what is in the way of a job": (_obstacles, 2),
    "promote": (_promote, 10),
}
BESIDE_A_CROWD = {**CLAIMS, **_AT_THE_FRONT}
"""Must not see a crowd that is not theirs: before them in line, or with timers of kinds that are unknown."""

_LISTS: dict[str, tuple[Workload, int]] = {
    f"jobs {name}, {order} first, from the {begin}": (
        paging(which, newest_first=order == "newest", from_middle=begin == "middle"),
        PAGE,
    )
    for name, which in _FILTERS.items()
    for order in ("newest", "oldest")
    for begin in ("outset", "middle")
}
WORKLOADS: dict[str, tuple[Workload, int]] = {
    **_LISTS,
    "jobs that run": (paging(_RUNNING, newest_first=True, from_middle=False), PAGE),
    "one job": (_one_job, 6),
    "the end of a job's log": (_end_of_log, 1),
    "the feed from the middle": (_feed_from_middle, 1_000),
    "the feed at its end": (_feed_at_end, 0),
    "lines": (_lines, len(LINES)),
    "outlook": (_outlook, 1),
    "how jobs ended lately": (_recent, 1),
    "the unfinished of a namespace": (_unfinished, 0),
    "what passes through the queues": (_flows, 1),
    "dead letters": (_dead_letters, 2),
    "when dead letters ended": (_dead_letter_hours, 2),
    "the pace of jobs": (_paces, 1),
    "what definitions did": (_pace_details, 0),
    "the longest at work": (_longest, 5),
    "trouble": (_trouble, 1_000),
    "counts": (_counts, 20),
    "workers": (_workers, 1),
    "what is in the way of a job": (_obstacles, 2),
    "a job by the end of its id": (_ending_in, 1),
    "what lists tell of jobs": (_briefs, 20),
    "the jobs that a job started": (_children, 1),
    **CLAIMS,
    "a claim under a limit with others": (claiming((CALL, MAIL, REPORT), _MANY), _MANY),
    "a turn that settles": (claiming((MAIL, REPORT), _MANY, reports=True), _MANY + 20),
    "promote": (_promote, 10),
    "reap": (_reap, 6),
    "a heartbeat": (_beat, 20),
    "a record": (_record, 20),
    "notes": (_annotate, 21),
    "a hand-back": (_hand_back, 20),
    "accept": (_accept, 20),
    "cancel": (_cancel, 60),
    "give up": (_give_up, 20),
    "reschedule": (_reschedule, 20),
    "replay": (_replay, 20),
    "steps are kept": (_keep_steps, 20),
    "steps are recalled": (_recall, 20),
    "steps are forgotten": (_forget, 20),
    "a suspension": (_suspend, 20),
    "a signal": (_signal, 20),
    "what jobs have kept": (_progress, 1),
    "enqueue": (_enqueue, _MANY),
    "enqueue all or none": (_strictly, _MANY + len(KEYED)),
    "spawn": (_spawn, _MANY),
    "enqueue again": (_enqueue_again, 20),
    "prune": (_prune, 75),
    "prune in the middle": (_prune_in_middle, 75),
}
