"""Guards of steps and signals: what a shell or a bug tries, the database itself refuses."""

import pytest

from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.durable_verbs import done, held, intended, keep, skipped, statuses, tell

CHANGES = {
    "another result": "UPDATE tenure.step SET body = '2' WHERE name = 'fetch'",
    "another status": "UPDATE tenure.step SET status = 'intended' WHERE name = 'fetch'",
    "what was skipped": "UPDATE tenure.step SET status = 'intended' WHERE name = 'skipped'",
    "an older fence": "UPDATE tenure.step SET fence = fence - 1 WHERE name = 'charge'",
    "another name": "UPDATE tenure.step SET name = 'x' WHERE name = 'charge'",
    "a finished step gone": "DELETE FROM tenure.step WHERE name = 'fetch'",
    "an effect in doubt gone": "DELETE FROM tenure.step WHERE name = 'charge'",
    "another signal": "UPDATE tenure.signal SET body = '2'",
    "a signal gone": "DELETE FROM tenure.signal",
}


async def _on_record(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, done(), intended(), skipped("skipped"))
    await tell(store, lease.job)


@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_kept_is_not_changed_by_hand(store: Store, backend: Backend, change: str) -> None:
    """S0.11: the database is the last line of defence."""
    await _on_record(store)
    with pytest.raises(Refused, match="tenure"):
        await backend.sql(CHANGES[change])


@pytest.mark.parametrize("table", ["step", "signal"])
async def test_nothing_is_kept_a_second_time_by_hand(store: Store, backend: Backend, table: str) -> None:
    """Not even by INSERT OR REPLACE, which deletes without asking."""
    await _on_record(store)
    names = {"step": "job, name, kind, status, fence, at", "signal": "job, name, at, by, body"}[table]
    verb = "INSERT OR REPLACE" if backend.kind == "sqlite" else "INSERT"
    with pytest.raises(Refused):
        await backend.sql(f"{verb} INTO tenure.{table} ({names}) SELECT {names} FROM tenure.{table} LIMIT 1")


async def test_an_effect_under_way_may_end_by_hand(store: Store, backend: Backend) -> None:
    """An operator with a shell can do what the verb does."""
    lease = await held(store)
    await keep(store, lease, intended())
    await backend.sql("UPDATE tenure.step SET status = 'done', body = '1', size = 1")
    assert await statuses(store, lease.job) == {"charge": "done"}
