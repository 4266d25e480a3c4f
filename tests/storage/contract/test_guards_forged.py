"""Rows added by hand past the guards, or where there is none: readers ignore them."""

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.damaged_rows import past_the_guards
from tests.storage.verbs import fed, job_in, record_of


async def test_what_is_added_behind_a_finished_jobs_back_is_not_believed(
    store: Store, backend: Backend
) -> None:
    """S0.15, S0.17: a result or an event that no step wrote changes nothing that is read."""
    job = await job_in(store, State.FAILED)
    before = await record_of(store, job)
    await past_the_guards(backend.address, f"INSERT INTO tenure.result (job, body) VALUES ('{job}', '{{}}')")
    await past_the_guards(
        backend.address,
        f"""
        INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
        SELECT job, 99, source, 'succeeded', attempt, fence, at, 'succeeded', actor, mark
          FROM tenure.event WHERE job = '{job}' AND n = 2""",
    )
    assert await record_of(store, job) == before


async def test_a_note_that_nobody_counted_is_not_believed_while_the_job_goes_on(
    store: Store, backend: Backend
) -> None:
    """S1.44: only behind the end, where nobody counts, is a note believed by itself."""
    job = await job_in(store, State.RUNNING)
    before = await record_of(store, job)
    await backend.sql(f"""
        INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
        SELECT job, 99, 'running', 'running', attempt, fence, at, 'custom:forged', actor, mark
          FROM tenure.event WHERE job = '{job}' AND n = 2""")
    assert await record_of(store, job) == before
    assert [entry.event for entry in await fed(store, 2)] == before[1]
    assert await backend.sql("SELECT 1 FROM tenure.job_events WHERE event_type = 'custom:forged'") == []
