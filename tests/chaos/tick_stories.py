"""Short lives of schedules in which two processes meet, told on a sound store and on a sabotaged one."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from chaos.schedules.client import ScheduleClient
from tenure.core.model.spec import Spec
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import Firing, NewSchedule, Overlap, ScheduledJob, ScheduleName
from tenure.engine.client.admission import Admission
from tenure.engine.client.quota import Quota
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.schedules.firer import Firer
from tenure.engine.schedules.job_maker import JobMaker
from tests.chaos.scene import LEASE, Scene
from tests.storage.clock import START
from tests.storage.verbs import claim, seconds, settle, succeeded

NAME = ScheduleName("default", "often")
Meanwhile = Callable[[], Awaitable[object]]


class Overtaken:
    """A store as a process sees it that read what is due, and stood still before it fired."""

    def __init__(self, scene: Scene, meanwhile: Meanwhile) -> None:
        self._store = scene.store
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fire(self, firings: list[Firing]) -> Any:
        await self._meanwhile()
        return await self._store.fire(firings)


async def nothing() -> None:
    """What happens when nobody is quicker."""


def asked(every: float = 10, **terms: Any) -> NewSchedule:
    """A schedule of so many seconds."""
    rule = terms.pop("recurrence", Recurrence(every=seconds(every), starts_at=START))
    return NewSchedule(id=NAME.name, job=ScheduledJob(definition="mail"), recurrence=rule, **terms)


async def begun(scene: Scene, new: NewSchedule) -> ScheduleClient:
    """A schedule, and who made it."""
    await save_definitions(scene.store, [Spec(key="mail")], "test")
    client = ScheduleClient(scene.store, lambda: scene.now)
    scene.schedule_calls = client.calls
    await client.create(new)
    await scene.wait(1)
    return client


async def fire(scene: Scene, meanwhile: Meanwhile = nothing) -> bool:
    """Let one process fire what is due; something else happens after it has read that."""
    store: Any = Overtaken(scene, meanwhile)
    jobs = JobMaker(Admission(store, Registry()), Quota(store, 0))
    return await Firer(store, jobs, lambda _: None).fire_due()


async def work(scene: Scene) -> None:
    """Whatever stands in line is done."""
    for one in await claim(scene.store, "a", lease_for=LEASE):
        scene.wrote(one, "start", "effect", "end")
        await settle(scene.store, [succeeded(one)])


async def two_schedulers(scene: Scene) -> None:
    """Two processes read that a schedule is due; then both fire it."""
    await begun(scene, asked(remaining=5))
    for _ in range(2):
        await scene.wait(10)
        await fire(scene, lambda: fire(scene))
        await work(scene)


async def edited_meanwhile(scene: Scene) -> None:
    """The rule is changed while a process fires by the old one."""
    client = await begun(scene, asked(10))

    async def edit() -> None:
        read = await client.get(NAME)
        assert read is not None
        await client.edit(read, asked(7))

    await scene.wait(10)
    await fire(scene, edit)
    for _ in range(4):
        await fire(scene)
        await scene.wait(7)
        await work(scene)


async def paused_meanwhile(scene: Scene) -> None:
    """It is paused while a process fires it, and goes on later."""
    client = await begun(scene, asked())
    await scene.wait(10)

    async def pause() -> None:
        await client.pause(NAME)
        await scene.wait(2)

    await fire(scene, pause)
    await scene.wait(30)
    await fire(scene)
    await client.resume(NAME)
    await scene.wait(10)
    await fire(scene)
    await work(scene)


async def edited_in_a_pause(scene: Scene) -> None:
    """It is paused, ticks pass, and it is given another rule before it goes on."""
    client = await begun(scene, asked(10))
    await scene.wait(10)
    await fire(scene)
    await client.pause(NAME)
    await scene.wait(25)
    read = await client.get(NAME)
    assert read is not None
    await client.edit(read, asked(7))
    await client.resume(NAME)
    await scene.wait(7)
    await fire(scene)
    await work(scene)


async def deleted_meanwhile(scene: Scene) -> None:
    """It is deleted while a process fires it, and made again later."""
    client = await begun(scene, asked())
    await scene.wait(10)
    await fire(scene)
    await scene.wait(10)

    async def delete() -> None:
        await client.delete(NAME)
        await scene.wait(1)

    await fire(scene, delete)
    await scene.wait(1)
    await client.create(asked())
    await scene.wait(10)
    await fire(scene)
    await work(scene)


async def slept_through(scene: Scene) -> None:
    """Nothing fires for a while; then the last tick does, and the others are noted."""
    await begun(scene, asked(missed=Missed.ONE))
    for wait in (10, 45, 10):
        await scene.wait(wait)
        await fire(scene)
        await work(scene)


async def tidied(scene: Scene) -> None:
    """Ticks that are not old, and somebody who clears away old ones."""
    await begun(scene, asked())
    for _ in range(2):
        await scene.wait(10)
        await fire(scene)
    await work(scene)
    await scene.store.tidy()


async def looked_at_too_soon(scene: Scene) -> None:
    """Somebody fires before anything is due."""
    await begun(scene, asked())
    await fire(scene)
    await scene.wait(10)
    await fire(scene)
    await work(scene)


async def by_cron(scene: Scene) -> None:
    """A rule by the clock, in a zone, through several of its ticks."""
    rule = Recurrence(cron="*/2 * * * *", timezone="Europe/Berlin", starts_at=START)
    client = await begun(scene, asked(recurrence=rule, missed=Missed.ALL))
    await client.trigger(NAME)
    for _ in range(2):
        await scene.wait(300)
        await fire(scene)
        await work(scene)


async def still_at_work(scene: Scene) -> None:
    """A run takes longer than the gap to the next tick, which is skipped for it."""
    await begun(scene, asked(overlap=Overlap.SKIP))
    for _ in range(3):
        await scene.wait(10)
        await fire(scene)
    await work(scene)
    await scene.wait(10)
    await fire(scene)
    await work(scene)


async def one_after_the_other(scene: Scene) -> None:
    """Runs that are late are done one at a time."""
    await begun(scene, asked(overlap=Overlap.QUEUE))
    for _ in range(2):
        await scene.wait(10)
        await fire(scene)
    await scene.wait(1)
    for _ in range(3):
        held = await claim(scene.store, "a", lease_for=LEASE)
        for one in held:
            scene.wrote(one, "start", "effect", "end")
        await scene.wait(1)
        for one in held:
            await settle(scene.store, [succeeded(one)])


async def taken_the_place_of(scene: Scene) -> None:
    """A run that has not begun is cancelled for the next one."""
    await begun(scene, asked(overlap=Overlap.CANCEL))
    for _ in range(2):
        await scene.wait(10)
        await fire(scene)
    await scene.wait(1)
    await work(scene)
    await scene.wait(1)


async def edited_while_one_fires(scene: Scene) -> None:
    """An edit has computed its next tick when that one fires; then the edit is written."""
    client = await begun(scene, asked(remaining=5))
    await scene.wait(8.9)
    read = await client.get(NAME)
    assert read is not None
    late: Any = Late(scene)
    late_client = ScheduleClient(late, lambda: scene.now)
    late_client.calls = client.calls
    await late_client.edit(read, replace(read.asked, job=replace(read.asked.job, priority=5)))
    await scene.wait(20)
    await fire(scene)
    await fire(scene)
    await work(scene)


class Late:
    """A store that changes schedules late: a tick fires first that was to come when the change was made."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scene.store, name)

    async def change_schedule(self, *given: Any, **named: Any) -> Any:
        await self._scene.wait(0.2)
        await fire(self._scene)
        return await self._scene.store.change_schedule(*given, **named)
