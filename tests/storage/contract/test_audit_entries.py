"""The audit log: an entry is stored before the change, then its outcome; it stays for a year."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tenure.core.reports.access import AUDIT_KEPT, AuditEntry, AuditRecord, NewKey
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import START, Clock


def entry(action: str = "cancel", key: str | None = None) -> AuditEntry:
    return AuditEntry(who="ann", action=action, target="job 1", request=uuid4(), key=key)


async def test_an_audit_entry_is_there_before_it_is_done_and_then_with_its_outcome(store: Store) -> None:
    asked = entry(key="k1")
    n = await store.begin_audit_entry(asked)
    assert await store.audit_entries() == [AuditRecord(n=n, at=START, entry=asked, outcome=None)]
    await store.end_audit_entry(n, "202")
    await store.end_audit_entry(n, "409")
    await store.end_audit_entry(n + 1, "202")
    assert await store.audit_entries() == [AuditRecord(n=n, at=START, entry=asked, outcome="202")]


async def test_a_key_comes_and_goes_with_who_did_it(store: Store) -> None:
    made, gone = entry("keys create"), entry("keys revoke")
    await store.add_key(NewKey(id="k1", digest=b"d", name="n", scopes=("read",)), made)
    await store.revoke_key("k1", gone)
    assert [(one.entry, one.outcome) for one in await store.audit_entries()] == [
        (gone, "done"),
        (made, "done"),
    ]


async def test_the_latest_come_first_a_page_at_a_time(store: Store) -> None:
    for action in "abcde":
        await store.begin_audit_entry(entry(action))
    page = await store.audit_entries(limit=2)
    assert [one.entry.action for one in page] == ["e", "d"]
    assert [one.entry.action for one in await store.audit_entries(before=page[-1].n, limit=2)] == ["c", "b"]


async def test_only_what_is_older_is_removed(store: Store, clock: Clock) -> None:
    for action in "abc":
        await store.begin_audit_entry(entry(action))
    await clock.advance(AUDIT_KEPT)
    await store.begin_audit_entry(entry("d"))
    assert await store.prune_audit_entries(AUDIT_KEPT, 100) == 0
    await clock.advance(timedelta(seconds=1))
    assert await store.prune_audit_entries(AUDIT_KEPT, 2) == 2
    assert await store.prune_audit_entries(AUDIT_KEPT, 2) == 1
    assert [one.entry.action for one in await store.audit_entries()] == ["d"]


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE tenure.audit SET who = 'bob'",
        "UPDATE tenure.audit SET outcome = '409'",
        "UPDATE tenure.audit SET key = 'k2'",
        "DELETE FROM tenure.audit",
    ],
)
async def test_nobody_rewrites_what_was_done(store: Store, backend: Backend, forged: str) -> None:
    await store.end_audit_entry(await store.begin_audit_entry(entry()), "202")
    before = await store.audit_entries()
    with pytest.raises(Refused):
        await backend.sql(forged)
    assert await store.audit_entries() == before
