"""The guards inside the database: with nothing but SQL, no step is possible that the table does not have."""

from uuid import UUID, uuid4

import pytest

from tenure.core.model.policy import Policy
from tenure.core.model.states import FIRST, MOVES, State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    columns_of,
    copy_row,
    enqueue_one,
    job_in,
    line,
    note,
    record_of,
    seconds,
    settle,
    succeeded,
    trail,
)

FINAL = [state for state in State if state.is_final]
UNOWNED = [state for state in State if not state.is_owned and not state.is_final]


async def passes(backend: Backend, text: str) -> bool:
    """Whether the database lets a statement pass."""
    try:
        await backend.sql(text)
    except Refused:
        return False
    return True


def move(job: UUID, source: State, target: State, n: str = "n + 1") -> str:
    """SQL for a change of state that is right in everything but, perhaps, the step itself."""
    lease = "lease = NULL"
    if target.is_owned:
        lease = "lease = fence" if source.is_owned else "fence = fence + 1, lease = fence + 1"
    return f"UPDATE tenure.job_state SET state = '{target}', n = {n}, {lease} WHERE id = '{job}'"


def change(job: UUID, what: str) -> str:
    """SQL for any other change of a job's state row."""
    return f"UPDATE tenure.job_state SET {what} WHERE id = '{job}'"


async def reached_from(store: Store, backend: Backend, source: State) -> set[State]:
    """The states into which the database lets a job go from this one; all eleven are tried."""
    jobs = {target: await job_in(store, source) for target in State}
    return {target for target, job in jobs.items() if await passes(backend, move(job, source, target))}


@pytest.mark.parametrize("source", list(State))
async def test_exactly_the_steps_of_the_table_pass(store: Store, backend: Backend, source: State) -> None:
    """S0.11, S0.24: every other change of state is refused by the database itself."""
    stay = set() if source.is_final else {source}
    assert await reached_from(store, backend, source) - stay == {
        target for start, target in MOVES if start is source
    }


async def test_a_job_begins_in_one_of_three_states(store: Store, backend: Backend) -> None:
    """S0.24: nothing is born running or finished."""
    await enqueue_one(store, key="model")
    [(model,)] = await backend.sql("SELECT id FROM tenure.job")
    born = set()
    for state in State:
        new = f"'{uuid4()}'"
        fence = "1" if state.is_owned else "0"
        lease = "1" if state.is_owned else "NULL"
        await copy_row(backend, "tenure.job", f"id = '{model}'", id=new, key="NULL")
        try:
            await copy_row(
                backend,
                "tenure.job_state",
                f"id = '{model}'",
                id=new,
                state=f"'{state}'",
                fence=fence,
                lease=lease,
            )
        except Refused:
            continue
        born.add(state)
    assert born == set(FIRST)


async def test_a_succeeded_job_goes_nowhere(store: Store, backend: Backend) -> None:
    """S0.15, S2.16: success is the end."""
    assert await reached_from(store, backend, State.SUCCEEDED) == set()


async def test_a_failed_job_goes_nowhere(store: Store, backend: Backend) -> None:
    """S0.17, S2.17: a dead letter stays one."""
    assert await reached_from(store, backend, State.FAILED) == set()


async def test_a_queued_job_has_no_outcome_that_nobody_worked_for(store: Store, backend: Backend) -> None:
    """S2.18, S2.19, S2.20: neither to be retried, nor failed, nor completed."""
    reached = await reached_from(store, backend, State.QUEUED)
    assert not reached & {State.RETRYING, State.FAILED, State.SUCCEEDED}


async def test_a_word_that_is_no_state_is_refused(store: Store, backend: Backend) -> None:
    """S0.29: a state is one of the eleven words."""
    job = await enqueue_one(store)
    for word in ("done", "RUNNING", "", "queued "):
        assert not await passes(backend, change(job, f"state = '{word}', n = n + 1"))


@pytest.mark.parametrize("state", FINAL)
async def test_a_finished_job_cannot_be_changed_at_all(
    store: Store, clock: Clock, backend: Backend, state: State
) -> None:
    """S0.11, S0.15: terminal is terminal, in every column."""
    job = await job_in(store, state)
    await clock.advance(seconds(1))
    unlike = await job_in(store, State.CANCELLING, priority=5, policy=Policy(max_attempts=9))
    before = await record_of(store, job)
    columns = await columns_of(backend, "tenure.job_state")
    rows = [f"SELECT * FROM tenure.job_state WHERE id = '{each}'" for each in (job, unlike)]
    [mine], [theirs] = [await backend.sql(row) for row in rows]
    differ = [
        name for name, one, two in zip(columns, mine, theirs, strict=True) if one != two and name != "id"
    ]

    assert {"state", "updated_at", "finished_at", "max_attempts"} <= set(differ)
    for column in differ:
        stolen = f"(SELECT {column} FROM tenure.job_state WHERE id = '{unlike}')"
        assert not await passes(backend, change(job, f"{column} = {stolen}")), column
    for what in ("progress = '{}'", "failures = failures + 1", "hand_backs = 3", "attempt = 0", "n = n + 1"):
        assert not await passes(backend, change(job, what)), what
    assert await record_of(store, job) == before


async def test_what_was_asked_cannot_be_changed(store: Store, clock: Clock, backend: Backend) -> None:
    """S0.59, S3.17: the row of intent is written once."""
    job = await enqueue_one(store, key="mine")
    await clock.advance(seconds(1))
    unlike = await enqueue_one(
        store,
        "fax",
        version=2,
        params=Document("[1]"),
        queue="fast",
        priority=9,
        namespace="theirs",
        scope="s",
        key="theirs",
        run_at=clock.now + seconds(60),
        policy=Policy(max_attempts=9, timeout=seconds(9), grace=seconds(9)),
        parent=job,
        replay_of=job,
        traceparent="00-1-2-01",
    )
    before = await record_of(store, job)
    for column in await columns_of(backend, "tenure.job"):
        stolen = f"(SELECT {column} FROM tenure.job WHERE id = '{unlike}')"
        assert not await passes(backend, f"UPDATE tenure.job SET {column} = {stolen} WHERE id = '{job}'"), (
            column
        )
    assert not await passes(backend, f"UPDATE tenure.job SET id = '{uuid4()}' WHERE id = '{job}'")
    assert await record_of(store, job) == before


async def job_with_a_past(store: Store) -> UUID:
    """A finished job with something in every table of records."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, line(1), note())])
    await settle(store, [succeeded(owned)])
    return job


@pytest.mark.parametrize("table", ["job", "job_state", "event", "attempt", "log", "result"])
async def test_nothing_that_is_known_of_a_job_can_be_deleted(
    store: Store, backend: Backend, table: str
) -> None:
    """S0.72: the audit trail stays whole."""
    job = await job_with_a_past(store)
    before = await record_of(store, job)
    assert await backend.sql(f"SELECT 1 FROM tenure.{table}")
    assert not await passes(backend, f"DELETE FROM tenure.{table}")
    assert await record_of(store, job) == before


@pytest.mark.parametrize("state", list(State))
async def test_no_job_can_be_deleted_whatever_its_state(store: Store, backend: Backend, state: State) -> None:
    """S0.72: neither what was asked nor where it is."""
    job = await job_in(store, state)
    assert not await passes(backend, f"DELETE FROM tenure.job WHERE id = '{job}'")
    assert not await passes(backend, f"DELETE FROM tenure.job_state WHERE id = '{job}'")


async def test_history_cannot_be_rewritten(store: Store, backend: Backend) -> None:
    """S0.72: events, attempts, log lines and results are only ever added to."""
    job = await job_with_a_past(store)
    before = await record_of(store, job)
    for table in ("event", "attempt", "log", "result"):
        for column in await columns_of(backend, f"tenure.{table}"):
            assert not await passes(backend, f"UPDATE tenure.{table} SET {column} = {column}"), column
    assert await record_of(store, job) == before


async def test_nothing_can_be_written_over(store: Store, backend: Backend) -> None:
    """S0.24, S0.72: to insert a row that is there already is no way round the guards."""
    job = await job_with_a_past(store)
    before = await record_of(store, job)
    keys = {"job": "id", "job_state": "id", "event": "job, n", "attempt": "job, fence", "result": "job"}
    keys["log"] = "job, fence, n"
    for table, key in keys.items():
        columns = ", ".join(await columns_of(backend, f"tenure.{table}"))
        first = key.split(",", maxsplit=1)[0]
        again = f"INTO tenure.{table} ({columns}) SELECT {columns} FROM tenure.{table}"
        texts = {
            "sqlite": f"INSERT OR REPLACE {again}",
            "postgres": f"INSERT {again} ON CONFLICT ({key}) DO UPDATE SET {first} = excluded.{first}",
        }
        assert not await passes(backend, texts[backend.kind]), table
    assert await record_of(store, job) == before


async def test_a_fence_never_falls(store: Store, backend: Backend) -> None:
    """S0.24: an old lease can never become the current one again."""
    running = await job_in(store, State.RUNNING)
    returned = await enqueue_one(store)
    [owned] = await claim(store)
    await store.hand_back("a", unstarted=[owned.lease], killed=[])

    assert not await passes(backend, change(running, "fence = fence - 1, lease = fence - 1"))
    assert not await passes(backend, change(returned, "fence = fence - 1"))
    assert not await passes(backend, change(returned, "fence = 0"))
    assert not await passes(
        backend, change(returned, "state = 'running', n = n + 1, fence = fence - 1, lease = fence - 1")
    )
    assert not await passes(backend, change(running, "state = 'queued', n = n + 1, lease = NULL, fence = 0"))


async def test_the_count_of_events_never_falls(store: Store, backend: Backend) -> None:
    """Else the next event would take the number of one that is on record."""
    job = await job_in(store, State.RUNNING)
    assert not await passes(backend, change(job, "n = n - 1"))


@pytest.mark.parametrize("state", UNOWNED)
async def test_a_job_that_nobody_runs_has_no_lease(store: Store, backend: Backend, state: State) -> None:
    """S0.13, S0.31: a lease outside running and cancelling is refused."""
    job = await job_in(store, state)
    assert not await passes(backend, change(job, "lease = fence"))
    assert not await passes(backend, change(job, "fence = fence + 1, lease = fence + 1"))


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING])
async def test_a_job_that_runs_has_the_lease_of_its_fence(
    store: Store, backend: Backend, state: State
) -> None:
    """S0.31: nobody runs without a lease, or under another one."""
    job = await job_in(store, state)
    assert not await passes(backend, change(job, "lease = NULL"))
    assert not await passes(backend, change(job, "lease = lease + 1"))
    assert not await passes(backend, change(job, "fence = fence + 1"))


async def test_a_step_with_the_wrong_lease_is_refused(store: Store, backend: Backend) -> None:
    """S0.31: ownership begins and ends with the state."""
    queued, running = await job_in(store, State.QUEUED), await job_in(store, State.RUNNING)
    assert not await passes(backend, change(queued, "state = 'running', n = n + 1"))
    assert not await passes(backend, change(queued, "state = 'running', n = n + 1, lease = fence + 1"))
    assert not await passes(backend, change(running, "state = 'queued', n = n + 1"))
    assert not await passes(backend, change(running, "state = 'succeeded', n = n + 1"))


@pytest.mark.parametrize("n", ["n", "n + 2", "n - 1", "0"])
async def test_a_step_counts_exactly_one_event(store: Store, backend: Backend, n: str) -> None:
    """S1.44: a step that would leave a gap in the history, or no place for itself, is refused."""
    job = await job_in(store, State.QUEUED)
    assert not await passes(backend, move(job, State.QUEUED, State.RUNNING, n))
    assert await passes(backend, move(job, State.QUEUED, State.RUNNING, "n + 1"))


async def test_what_is_no_step_passes(store: Store, backend: Backend) -> None:
    """S0.11: the guards refuse wrong steps, not the small changes between steps."""
    running = await job_in(store, State.RUNNING)
    assert await passes(backend, change(running, "progress = '{\"fraction\":0.5}'"))
    assert await passes(backend, change(running, "updated_at = updated_at"))


async def test_the_state_of_one_job_never_becomes_that_of_another(store: Store, backend: Backend) -> None:
    """S0.11: a job's state row belongs to that job for good."""
    job = await enqueue_one(store)
    assert not await passes(backend, change(job, f"id = '{uuid4()}'"))


@pytest.mark.parametrize("attempt", ["max_attempts + 1", "-1"])
async def test_the_database_itself_bounds_attempts(store: Store, backend: Backend, attempt: str) -> None:
    """S0.30, S3.23, S3.46: no attempt is counted beyond those that were given, whoever reports it."""
    job = await enqueue_one(store)
    assert not await passes(backend, change(job, f"attempt = {attempt}"))
