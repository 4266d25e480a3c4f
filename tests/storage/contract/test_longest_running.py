"""The jobs at work for longest: by their start, with who runs them and how far they say they are."""

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Progress, Pulse
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, seconds, settle, succeeded


async def test_the_longest_comes_first_and_what_ended_is_left_out(store: Store, clock: Clock) -> None:
    names = ("third", "first", "over", "second")
    made = await store.enqueue([NewJob(definition=name) for name in names])
    jobs = dict(zip(names, (one.id for one in made), strict=True))
    claims = {}
    for name in ("first", "over", "second", "third"):
        [claims[name]] = await claim(store, lines=[Line("default", name)], worker=f"of {name}")
        await clock.advance(seconds(3))
    await settle(store, [succeeded(claims["over"])], worker="of over")
    said = Progress(0.25, "a quarter")
    lease = claims["second"].lease
    await store.heartbeat(Pulse(worker="of second", leases=(lease,), progress={lease: said}))
    await store.cancel([jobs["third"]])
    found = await store.longest_running(limit=5)
    assert [(one.job, one.definition, one.worker, one.state, one.progress) for one in found] == [
        (jobs["first"], "first", "of first", State.RUNNING, None),
        (jobs["second"], "second", "of second", State.RUNNING, said),
        (jobs["third"], "third", "of third", State.CANCELLING, None),
    ]
    assert [one.started_at for one in found] == sorted(one.started_at for one in found)
    assert [one.definition for one in await store.longest_running(limit=1)] == ["first"]


async def test_where_nothing_runs_nothing_is_told(store: Store) -> None:
    await store.enqueue([NewJob(definition="mail")])
    assert await store.longest_running() == []
