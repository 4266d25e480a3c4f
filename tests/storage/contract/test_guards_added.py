"""Rows added to what is on record of a job: refused where the guard is cheap, else found by an inspection."""

from uuid import UUID, uuid4

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.damaged_rows import past_the_guards
from tests.storage.verbs import (
    claim,
    enqueue_one,
    job_in,
    line,
    note,
    record_of,
    settle,
    spoil_next_event,
    state_of,
    succeeded,
    trail,
)

REFUSED = {"sqlite": {"attempt", "result"}, "postgres": set[str]()}
"""On which tables a guard asks whether a step has written the row; elsewhere it would cost too much."""

TABLES = ["event", "attempt", "result"]


def added(table: str, job: UUID, n: int = 99, fence: int = 1) -> str:
    """SQL for a row that no step of the job has written."""
    columns = {
        "event": "job, n, source, target, attempt, fence, at, type, actor, mark",
        "attempt": "job, fence, started_at, ended_at, number, ending, worker",
        "result": "job, body",
    }
    values = {
        "event": f"'{job}', {n}, 'running', 'running', 1, {fence}, at, 'custom:forged', 'x', mark",
        "attempt": f"'{job}', {fence}, at, at, 1, 'succeeded', 'x'",
        "result": f"'{job}', '{{}}'",
    }
    # Times and marks are those of an event that is there, whatever a store's types are.
    return (
        f"INSERT INTO tenure.{table} ({columns[table]})"
        f" SELECT {values[table]} FROM (SELECT at, mark FROM tenure.event LIMIT 1) AS known"
    )


async def named(store: Store) -> list[tuple[UUID, str]]:
    """Whom an inspection names, and of what table the row is."""
    return sorted((finding.job, finding.kind) for finding in await store.inspect())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING, State.RETRYING, State.FAILED, None])
async def test_a_row_that_no_step_has_written_is_refused_or_found(
    store: Store, backend: Backend, state: State | None, table: str
) -> None:
    """S0.14, S1.44: for a job that goes on, that has ended, and that is not there at all."""
    await job_in(store, State.SUCCEEDED)
    job = uuid4() if state is None else await job_in(store, state)
    # An owned job has the second fence, and its attempt has not ended; the last fence was never given.
    row = added(table, job, fence=2 if state and state.is_owned else 99)
    if table in REFUSED[backend.kind]:
        with pytest.raises(Refused, match=f"tenure: {table}: "):
            await backend.sql(row)
    else:
        await backend.sql(row)
        assert await named(store) == [(job, table)]


@pytest.mark.parametrize("table", TABLES)
async def test_the_way_out_that_an_inspection_names_leads_out(
    store: Store, backend: Backend, table: str
) -> None:
    """S0.14: whoever stands in the way of a step is removed by the very words, and the step is taken."""
    job, neighbour = await enqueue_one(store), await enqueue_one(store)
    owned = await claim(store)
    await past_the_guards(backend.address, added(table, job, n=3, fence=owned[0].lease.fence))

    [finding] = await store.inspect()
    assert (finding.job, finding.kind) == (job, table)
    words = finding.cure.removeprefix("delete it: ")
    for statement in [words] if backend.kind == "sqlite" else words.split("; "):
        await backend.sql(statement)

    assert await store.inspect() == []
    assert (await settle(store, map(succeeded, owned))).lost == []
    assert [await state_of(store, one) for one in (job, neighbour)] == [State.SUCCEEDED] * 2


async def test_a_whole_step_taken_by_hand_passes(store: Store, backend: Backend) -> None:
    """S0.11: state first, then what goes with it; nothing is found wrong with that."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await backend.sql(
        "UPDATE tenure.job_state SET state = 'succeeded', n = n + 1, lease = NULL,"
        f" has_result = true, finished_at = updated_at WHERE id = '{job}'"
    )
    done = added("event", job, n=3, fence=owned.lease.fence)
    await backend.sql(done.replace("'running', 'running'", "'running', 'succeeded'"))
    await backend.sql(added("attempt", job, fence=owned.lease.fence))
    await backend.sql(added("result", job))

    assert await store.inspect() == []
    _, events, attempts = await record_of(store, job)
    assert (len(events), len(attempts)) == (3, 1)


async def test_notes_behind_the_end_are_nothing_to_be_found(store: Store) -> None:
    """S1.44: nobody counts them, and they are believed."""
    await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note(), note())])
    await settle(store, [succeeded(owned)])
    assert await store.annotate(owned.lease, note("late"))
    assert await store.annotate(owned.lease, note("later"))
    assert await store.inspect() == []


@pytest.mark.parametrize("table", ["job", "job_state", "event", "attempt", "log", "result"])
async def test_a_refusal_names_its_table(store: Store, backend: Backend, table: str) -> None:
    """S0.72: whoever is refused in a shell is told where."""
    await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note(), line(1))])
    await settle(store, [succeeded(owned)])
    with pytest.raises(Refused, match=f"tenure: {table}: "):
        await backend.sql(f"DELETE FROM tenure.{table}")


async def test_who_was_put_aside_is_named_for_the_row_and_not_for_being_out_of_line(
    store: Store, backend: Backend
) -> None:
    """S0.14: that it stands in no line is known; the row that is to blame, and how to remove it, is told."""
    job = await enqueue_one(store, key="spoilt")
    await spoil_next_event(backend, "spoilt")
    with pytest.raises(JobsAside):
        await claim(store)
    assert {finding.kind for finding in await store.inspect() if finding.job == job} == {"aside", "event"}
