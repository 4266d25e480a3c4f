"""What was done: on record before it is done, then with how it ended, and for a year nobody takes it away."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tenure.core.access import AUDIT_KEPT, Audited, Deed, NewKey
from tenure.storage.contract import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import START, Clock


def deed(action: str = "cancel", key: str | None = None) -> Deed:
    return Deed(who="ann", action=action, target="job 1", request=uuid4(), key=key)


async def test_a_deed_is_there_before_it_is_done_and_then_with_its_outcome(store: Store) -> None:
    asked = deed(key="k1")
    n = await store.begin_deed(asked)
    assert await store.deeds() == [Audited(n=n, at=START, deed=asked, outcome=None)]
    await store.end_deed(n, "202")
    await store.end_deed(n, "409")
    await store.end_deed(n + 1, "202")
    assert await store.deeds() == [Audited(n=n, at=START, deed=asked, outcome="202")]


async def test_a_key_comes_and_goes_with_who_did_it(store: Store) -> None:
    made, gone = deed("keys create"), deed("keys revoke")
    await store.add_key(NewKey(id="k1", digest=b"d", name="n", scopes=("read",)), made)
    await store.revoke_key("k1", gone)
    assert [(one.deed, one.outcome) for one in await store.deeds()] == [(gone, "done"), (made, "done")]


async def test_the_latest_come_first_a_page_at_a_time(store: Store) -> None:
    for action in "abcde":
        await store.begin_deed(deed(action))
    page = await store.deeds(limit=2)
    assert [one.deed.action for one in page] == ["e", "d"]
    assert [one.deed.action for one in await store.deeds(before=page[-1].n, limit=2)] == ["c", "b"]


async def test_only_what_is_older_is_removed(store: Store, clock: Clock) -> None:
    for action in "abc":
        await store.begin_deed(deed(action))
    await clock.advance(AUDIT_KEPT)
    await store.begin_deed(deed("d"))
    assert await store.prune_deeds(AUDIT_KEPT, 100) == 0
    await clock.advance(timedelta(seconds=1))
    assert await store.prune_deeds(AUDIT_KEPT, 2) == 2
    assert await store.prune_deeds(AUDIT_KEPT, 2) == 1
    assert [one.deed.action for one in await store.deeds()] == ["d"]


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
    await store.end_deed(await store.begin_deed(deed()), "202")
    before = await store.deeds()
    with pytest.raises(Refused):
        await backend.sql(forged)
    assert await store.deeds() == before
