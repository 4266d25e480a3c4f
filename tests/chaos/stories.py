"""Short lives in which something goes wrong, so that it shows whether Tenure stands it.

Each is told the same way on a sound store, where it breaks nothing, and on a sabotaged one.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from tenure.core.model.aside import JobsAside
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease, Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.core.reports.retention import Retention
from tests.chaos.scene import LEASE, Scene
from tests.storage.verbs import claim, recoverable, seconds, settle, stopped, succeeded

Story = Callable[[Scene], Awaitable[None]]
OVER = LEASE.total_seconds() + 1
KEPT = Retention(succeeded=timedelta(days=7))


async def begin(scene: Scene, **asked: object) -> Claimed:
    """One job, claimed by `a`, whose handler has started."""
    await scene.enqueue({"job": NewJob(definition="mail", key="job", **asked)})  # type: ignore[arg-type]
    await scene.wait(1)
    held = (await scene.claim("a", "job"))["job"]
    scene.wrote(held, "start")
    return held


async def plain(scene: Scene) -> None:
    """A job that is claimed and done."""
    held = await begin(scene)
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)])
    await scene.wait(1)


async def reported_whatever_is_said(scene: Scene) -> None:
    """A job that is claimed and done; its worker goes on, should the report be kept aside."""
    held = await begin(scene)
    scene.wrote(held, "effect", "end")
    with suppress(JobsAside):
        await settle(scene.store, [succeeded(held)])
    await scene.wait(1)


async def finish(scene: Scene, worker: str) -> None:
    """Whatever stands in line is claimed and done well."""
    for one in await claim(scene.store, worker, lease_for=LEASE):
        scene.wrote(one, "start", "effect", "end")
        await scene.wait(1)
        await settle(scene.store, [succeeded(one)], worker)
    await scene.wait(1)


async def late_report(scene: Scene) -> None:
    """`a` loses its lease, `b` has the job, and then `a` reports."""
    old = await begin(scene)
    await scene.wait(OVER)
    await scene.store.reap(10)
    [new] = await claim(scene.store, "b", lease_for=LEASE)
    await settle(scene.store, [recoverable(old)], "a")
    scene.wrote(new, "start", "effect", "end")
    await scene.wait(1)
    await settle(scene.store, [succeeded(new)], "b")
    await scene.wait(10)
    await scene.store.promote(10)
    await finish(scene, "b")


async def late_report_of_the_owner_itself(scene: Scene) -> None:
    """`a` loses its lease and has the job again, and then its first attempt reports."""
    old = await begin(scene)
    await scene.wait(OVER)
    await scene.store.reap(10)
    [new] = await claim(scene.store, "a", lease_for=LEASE)
    scene.wrote(old, "effect", "end")
    scene.wrote(new, "start")
    await settle(scene.store, [succeeded(old)], "a")
    await scene.wait(1)
    if (await scene.store.heartbeat(Pulse(worker="a", leases=[new.lease], lease_for=LEASE))).kept:
        scene.wrote(new, "effect", "end")
        await settle(scene.store, [succeeded(new)], "a")
    await scene.wait(1)


async def late_report_before_the_reaper(scene: Scene) -> None:
    """`a` reports when its lease is over, and it was not noticed yet."""
    old = await begin(scene)
    await scene.wait(OVER)
    await scene.see("job")
    scene.wrote(old, "effect", "end")
    await settle(scene.store, [succeeded(old)], "a")
    await scene.store.reap(10)
    await finish(scene, "b")


async def reaped_while_it_runs(scene: Scene) -> None:
    """A reaper runs while `a` is at work and has its lease."""
    held = await begin(scene)
    await scene.wait(1)
    await scene.store.reap(10)
    await finish(scene, "b")
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)], "a")
    await scene.wait(1)


async def child_of_the_late(scene: Scene) -> None:
    """`a` has lost its job, and makes a child of it."""
    old = await begin(scene)
    await scene.wait(OVER)
    await scene.store.reap(10)
    await scene.wait(5)
    await scene.store.spawn("a", old.lease, [NewJob(definition="mail")])
    await scene.wait(5)
    await finish(scene, "b")


async def reaped_when_done(scene: Scene) -> None:
    """A reaper runs when `a` is done and its lease, which is not needed any more, has run out."""
    held = await begin(scene)
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)], "a")
    await scene.wait(OVER)
    await scene.store.reap(10)
    await scene.wait(1)


async def key_used_twice(scene: Scene) -> None:
    """A client that heard no answer asks again."""
    await scene.enqueue({"job": NewJob(definition="mail", key="job")})
    await scene.enqueue({"job": NewJob(definition="mail", key="job")})
    await finish(scene, "a")


async def batch(scene: Scene) -> None:
    """Two jobs asked for in one call."""
    await scene.enqueue({name: NewJob(definition="mail", key=name) for name in ("one", "other")}, batch=True)
    await scene.wait(1)
    await finish(scene, "a")


async def poison(scene: Scene) -> None:
    """A job that takes every worker with it."""
    await scene.enqueue({"job": NewJob(definition="mail", key="job", policy=Policy(max_attempts=2))})
    for worker in ("a", "b", "c"):
        for one in await claim(scene.store, worker, lease_for=LEASE):
            scene.wrote(one, "start")
        await scene.wait(OVER)
        await scene.store.reap(10)
    await scene.wait(1)


async def lost_under_a_limit(scene: Scene) -> None:
    """A job under a limit whose worker dies."""
    await begin(scene, limits=(Limit("api", size=1),))
    await scene.wait(OVER)
    await scene.store.reap(10)
    await finish(scene, "b")


async def cancelled_in_line(scene: Scene) -> None:
    """A job that is cancelled before it is claimed."""
    await scene.enqueue({"job": NewJob(definition="mail", key="job")})
    await scene.cancel("job")
    await scene.wait(5)
    await finish(scene, "a")


async def cancelled_twice(scene: Scene) -> None:
    """A job that is asked to stop twice while it runs."""
    held = await begin(scene)
    await scene.cancel("job")
    await scene.cancel("job")
    await settle(scene.store, [stopped(held)])
    await scene.wait(1)


async def cancelled_and_failing(scene: Scene) -> None:
    """A job that is asked to stop, and answers with an error."""
    held = await begin(scene)
    await scene.cancel("job")
    await settle(scene.store, [recoverable(held)])
    await scene.wait(6)
    await scene.store.promote(10)
    await finish(scene, "a")


async def delayed(scene: Scene) -> None:
    """A job for later, and a promotion that comes too soon."""
    await scene.enqueue({"job": NewJob(definition="mail", key="job", delay=seconds(60))})
    for _ in range(2):
        await scene.wait(30)
        await scene.store.promote(10)
        await finish(scene, "a")


async def backing_off(scene: Scene) -> None:
    """A job that has to wait before it is tried again, and a promotion that comes too soon."""
    await settle(scene.store, [recoverable(await begin(scene), seconds(60))])
    for _ in range(2):
        await scene.wait(30)
        await scene.store.promote(10)
        await finish(scene, "a")


async def progress_when_done(scene: Scene) -> None:
    """A last word of progress that comes behind the end."""
    held = await begin(scene)
    await scene.store.heartbeat(Pulse(worker="a", leases=[held.lease], lease_for=LEASE))
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)])
    await scene.wait(1)
    told: dict[Lease, Progress] = {held.lease: Progress(0.9, "nearly")}
    await scene.store.heartbeat(Pulse(worker="a", leases=[held.lease], lease_for=LEASE, progress=told))
    await scene.wait(1)


async def claimed_by_two(scene: Scene) -> None:
    """Two workers that ask for jobs at one time."""
    held = await begin(scene)
    await scene.wait(1)
    await finish(scene, "b")
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)])
    await scene.wait(1)


async def replayed_twice(scene: Scene) -> None:
    """A job that failed, and two requests to run it again."""
    await begin(scene, policy=Policy(max_attempts=1))
    await scene.wait(OVER)
    await scene.store.reap(10)
    await scene.replay("job", "again")
    await scene.replay("job", "again")
    await scene.wait(1)
    await finish(scene, "b")


async def beats_for_one_of_two(scene: Scene) -> None:
    """`a` holds two jobs and speaks of one; then it is gone."""
    held = await begin(scene)
    await scene.enqueue({"other": NewJob(definition="mail", key="other")})
    await scene.claim("a", "other")
    await scene.store.heartbeat(Pulse(worker="a", leases=[held.lease], lease_for=LEASE))
    await scene.wait(OVER + 60)
    await scene.store.reap(10)
    await finish(scene, "b")


async def of_another_kind(scene: Scene) -> None:
    """A job that no worker knows."""
    await scene.enqueue({"job": NewJob(definition="wire", key="job")})
    await scene.wait(1)
    await finish(scene, "a")


async def by_priority(scene: Scene) -> None:
    """Jobs of more and of less importance, done one by one."""
    for priority in (0, 5, -5):
        name = f"priority {priority}"
        await scene.enqueue({name: NewJob(definition="mail", key=name, priority=priority)})
    await scene.wait(1)
    for _ in range(3):
        for one in await claim(scene.store, "a", 1, lease_for=LEASE):
            scene.wrote(one, "start", "effect", "end")
            await settle(scene.store, [succeeded(one)])
        await scene.wait(1)


async def pruned(scene: Scene) -> None:
    """A job that has just ended, and a prune."""
    await plain(scene)
    await scene.wait(60)
    await scene.store.prune(KEPT)
