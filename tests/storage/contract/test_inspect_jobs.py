"""`inspect_jobs` and `loose_slots`: rows changed by hand, found in bounded readings."""

from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.damaged_rows import MAILBOX, take_all_places
from tests.storage.verbs import claim, enqueue_one, job_in, one_in_each_state, settle, succeeded


async def kinds(store: Store) -> dict[UUID, str]:
    """The jobs that are found, and what is wrong with each."""
    return {finding.job: finding.kind for finding in (await store.inspect_jobs()).findings}


async def test_a_store_that_only_verbs_have_changed_is_well(store: Store) -> None:
    await one_in_each_state(store)
    found = await store.inspect_jobs()
    assert (found.findings, found.next) == ([], None)
    assert found.jobs >= len(State)
    assert await store.loose_slots() == []


@pytest.mark.parametrize(
    ("state", "table", "kind"),
    [
        (State.QUEUED, "ready", "no_place"),
        (State.SCHEDULED, "timer", "no_timer"),
        (State.RETRYING, "timer", "no_timer"),
        (State.SUSPENDED, "timer", "no_timer"),
        (State.RUNNING, "lease", "no_lease"),
        (State.CANCELLING, "lease", "no_lease"),
    ],
)
async def test_a_job_without_the_row_that_would_move_it_on_is_found(
    store: Store, backend: Backend, state: State, table: str, kind: str
) -> None:
    job = await job_in(store, state)
    assert await kinds(store) == {}
    await backend.sql(f"DELETE FROM tenure.{table}")
    [finding] = (await store.inspect_jobs()).findings
    assert (finding.job, finding.kind) == (job, kind)
    assert finding.since is not None
    assert "tenure doctor --mend" in finding.cure
    assert [(one.job, one.kind) for one in await store.inspect()] == [(job, kind)]


async def test_portions_go_down_by_id_and_leave_none_out(store: Store, backend: Backend) -> None:
    jobs = [await enqueue_one(store) for _ in range(7)]
    await backend.sql("DELETE FROM tenure.ready")
    seen: list[UUID] = []
    sizes: list[int] = []
    before: UUID | None = None
    while True:
        portion = await store.inspect_jobs(before=before, limit=3)
        seen += [finding.job for finding in portion.findings]
        sizes.append(portion.jobs)
        if (before := portion.next) is None:
            break
    assert sizes == [3, 3, 1]
    assert sorted(seen) == sorted(jobs)


async def test_an_empty_store_has_one_empty_portion(store: Store) -> None:
    assert await store.inspect_jobs() == ([], 0, None)


@pytest.mark.parametrize("limit", [0, 10_001])
async def test_a_portion_has_bounds(store: Store, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await store.inspect_jobs(limit=limit)


async def test_a_place_that_a_running_job_holds_is_not_loose(store: Store) -> None:
    for _ in range(3):
        await enqueue_one(store, limits=(MAILBOX,))
    held = await claim(store)
    assert len(held) == 2
    assert await store.loose_slots() == []
    await settle(store, [succeeded(one) for one in held])
    assert await store.loose_slots() == []


async def test_a_place_that_no_job_holds_is_found(store: Store, backend: Backend) -> None:
    await enqueue_one(store, limits=(MAILBOX,))
    await claim(store)
    await enqueue_one(store, limits=(MAILBOX,))
    await take_all_places(backend)
    assert await store.loose_slots() == [("mailbox", "ann", 1)]
    assert await claim(store) == []
