"""`briefs`: what lists tell of jobs besides their state."""

from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.outcome import Unrecoverable
from tenure.core.reports.reading import Brief
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, report, settle, succeeded


async def test_a_brief_tells_of_params_creator_worker_and_error(store: Store) -> None:
    failed = await enqueue_one(store, params='{"to":"ann"}', creator="ops")
    [owned] = await claim(store, worker="a")
    await settle(
        store,
        [report(owned, Unrecoverable(Failure("OSError", "no route " + "x" * 2000, "trace")))],
        worker="a",
    )
    done = await enqueue_one(store)
    await settle(store, [succeeded(one) for one in await claim(store, worker="b")], worker="b")
    running = await enqueue_one(store)
    await claim(store, worker="c")
    waiting = await enqueue_one(store)
    found = await store.briefs([failed, done, running, waiting, uuid4()])
    assert (
        found[failed]
        == Brief(
            job=failed,
            params='{"to":"ann"}',  # type: ignore[arg-type]
            creator="ops",
            worker="a",
            error=("OSError", ("no route " + "x" * 2000)[:1000]),
        )
    )
    assert {job: found[job].worker for job in (done, running, waiting)} == {
        done: "b",
        running: "c",
        waiting: None,
    }
    assert len(found) == 4
    assert await store.briefs([]) == {}


async def test_long_params_are_not_read(store: Store) -> None:
    job = await enqueue_one(store, params='"' + "x" * 4095 + '"')
    assert (await store.briefs([job]))[job].params is None


async def test_no_more_than_a_page_is_asked_for(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.briefs([UUID(int=n) for n in range(201)])
