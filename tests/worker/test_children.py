"""What a handler enqueues: a job that is tried again finds the children it has made before."""

import json
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.child_keys import marked
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.engine.worker.hook_output import HookOutput
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, listed
from tests.until import until
from tests.worker.running_worker import enqueue, reach, run_worker

JOBS = [{"to": "ada"}, {"to": "bob"}, {"to": "ada"}]
"""What the sample's handlers ask for in every attempt: the same twice is two jobs."""


async def children(store: Store, parent: UUID) -> list[str]:
    """Whom the children of a job are for."""
    ids = [one.id for one in await listed(store, Filter(definition="echo")) if one.parent == parent]
    found = [await store.get(job) for job in ids]
    return sorted(json.loads(job.params)["to"] for job in found if job is not None)


@pytest.mark.parametrize("how", ["one by one", "at once", "plainly", "together"])
async def test_a_parent_that_is_tried_again_finds_its_children(store: Store, how: str) -> None:
    """S0.56: each as often as one attempt asks for it, however many attempts there are."""
    async with run_worker(store):
        job = await enqueue(store, "fan_out", {"jobs": JOBS, "how": how, "failures": 2})
        done = await reach(store, job, State.SUCCEEDED)
    assert done.attempt == 3
    made = json.loads(done.result or "")
    assert len({one["id"] for one in made}) == len(JOBS)
    assert not any(one["fresh"] for one in made)
    assert await children(store, job) == ["ada", "ada", "bob"]


async def test_a_parent_that_comes_back_from_a_snooze_finds_them_too(store: Store) -> None:
    async with run_worker(store):
        job = await enqueue(store, "fan_out", {"jobs": JOBS, "how": "at once", "failures": 0, "snoozes": 1})
        await reach(store, job, State.SUCCEEDED)
    assert await children(store, job) == ["ada", "ada", "bob"]


async def test_one_that_asks_for_more_gets_more(store: Store) -> None:
    """Of what it asks for again, the rest is new."""
    async with run_worker(store):
        params = {"jobs": JOBS, "how": "at once", "failures": 1, "more_each_time": [{"to": "bob"}]}
        job = await enqueue(store, "fan_out", params)
        done = await reach(store, job, State.SUCCEEDED)
    assert [one["fresh"] for one in json.loads(done.result or "")] == [False] * 4 + [True]
    assert Counter(await children(store, job)) == {"ada": 2, "bob": 3}


async def test_who_wants_new_ones_each_time_says_so(store: Store) -> None:
    async with run_worker(store):
        job = await enqueue(
            store, "fan_out", {"jobs": JOBS, "how": "at once", "failures": 1, "unkeyed": True}
        )
        await reach(store, job, State.SUCCEEDED)
    assert await children(store, job) == ["ada", "ada", "ada", "ada", "bob", "bob"]


async def test_a_child_that_has_failed_is_not_made_again(store: Store, tmp_path: Path) -> None:
    async with run_worker(store):
        params = {"how": "one by one", "of": "fail_first", "failures": 1, "end": str(tmp_path / "end")}
        job = await enqueue(store, "fan_out", {"jobs": [{"failures": 9}], **params})
        made = await until(lambda: listed(store, Filter(definition="fail_first")))
        await reach(store, made[0].id, State.FAILED)
        (tmp_path / "end").touch()
        [found] = json.loads((await reach(store, job, State.SUCCEEDED)).result or "")
    assert found == {"id": str(made[0].id), "fresh": False, "state": "failed"}


async def test_two_parents_have_children_of_their_own(store: Store) -> None:
    async with run_worker(store):
        params = {"jobs": JOBS, "how": "at once", "failures": 0}
        parents = [await enqueue(store, "fan_out", params) for _ in range(2)]
        for parent in parents:
            await reach(store, parent, State.SUCCEEDED)
    assert [await children(store, parent) for parent in parents] == [["ada", "ada", "bob"]] * 2


async def test_what_a_hook_enqueues_has_no_key_and_one_that_it_gives_stays(store: Store) -> None:
    """A hook runs once for what it speaks of."""
    await enqueue(store, "echo")
    [claimed] = await claim(store, lines=[Line("default", "echo")])
    keyed = NewJob(definition="echo", scope="echo", key="own")
    jobs = [marked(job) for job in (NewJob(definition="echo"), NewJob(definition="echo"), keyed)]
    made = await HookOutput(store, claimed, lambda _: None).spawn(jobs)
    found = [await store.get(one.id) for one in made]
    assert [(job.parent, job.scope, job.key) for job in found if job is not None] == [
        (claimed.lease.job, "", None),
        (claimed.lease.job, "", None),
        (claimed.lease.job, "echo", "own"),
    ]
