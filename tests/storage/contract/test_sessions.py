"""Sessions: each has the rights of its key, as long as both are valid, and none can be prolonged."""

from datetime import timedelta
from hashlib import sha256

import pytest

from tenure.core.reports.access import MOST_SESSIONS, SESSION_KEPT, NewSession
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.contract.test_keys import entry, new_key

HOUR = timedelta(hours=1)


def session(text: str, key: str = "k1") -> NewSession:
    return NewSession(digest=sha256(text.encode()).digest(), key=key)


async def begin(store: Store, text: str, key: str = "k1") -> bytes:
    made = session(text, key)
    assert await store.begin_session(made, entry(key=key))
    return made.digest


async def test_a_session_opens_what_its_key_does(store: Store) -> None:
    await store.add_key(new_key("k1", "operate", namespace="acme"), entry())
    digest = await begin(store, "one")
    found = await store.find_session(digest)
    assert found == (await store.find_keys(["k1"])).held[0]
    assert await store.find_session(sha256(b"another").digest()) is None


async def test_a_session_of_a_key_that_opens_nothing_is_not_begun(store: Store, clock: Clock) -> None:
    """Not even when it was revoked between the look at it and this."""
    await store.add_key(new_key("k1"), entry())
    await store.add_key(new_key("k2", lifetime=HOUR), entry())
    await store.revoke_key("k1", entry())
    await clock.advance(HOUR)
    before = await store.audit_entries()
    for key in ("k1", "k2", "nobody's"):
        assert not await store.begin_session(session(key, key), entry())
        assert await store.find_session(session(key).digest) is None
    assert await store.audit_entries() == before


async def test_who_began_a_session_is_on_record(store: Store) -> None:
    await store.add_key(new_key(), entry())
    await begin(store, "one")
    latest = (await store.audit_entries())[0]
    assert (latest.entry.key, latest.outcome) == ("k1", "done")


async def test_a_session_ends_with_its_key_at_once(store: Store, other: Store, clock: Clock) -> None:
    """In whatever process somebody asks: what is committed holds."""
    await store.add_key(new_key("k1"), entry())
    await store.add_key(new_key("k2", lifetime=HOUR), entry())
    revoked, expired = await begin(store, "one", "k1"), await begin(store, "two", "k2")
    assert await other.find_session(revoked)
    await store.revoke_key("k1", entry())
    assert await other.find_session(revoked) is None
    assert await other.find_session(expired)
    await clock.advance(HOUR)
    assert await other.find_session(expired) is None


async def test_a_session_lasts_for_twelve_hours_by_the_clock_of_the_store(store: Store, clock: Clock) -> None:
    await store.add_key(new_key(), entry())
    digest = await begin(store, "one")
    await clock.advance(SESSION_KEPT - timedelta(seconds=1))
    assert await store.find_session(digest)
    await clock.advance(timedelta(seconds=1))
    assert await store.find_session(digest) is None


async def test_a_session_that_was_ended_opens_nothing_and_others_stay(store: Store, other: Store) -> None:
    await store.add_key(new_key(), entry())
    one, two = await begin(store, "one"), await begin(store, "two")
    for _ in range(2):
        await store.end_session(one)
        assert await other.find_session(one) is None
    assert await other.find_session(two)


async def test_sessions_that_are_over_go_when_another_begins(
    store: Store, backend: Backend, clock: Clock
) -> None:
    for key in ("k1", "k2"):
        await store.add_key(new_key(key), entry())
    await begin(store, "one", "k1")
    await clock.advance(HOUR)
    kept = await begin(store, "two", "k2")
    await clock.advance(SESSION_KEPT - HOUR)
    await begin(store, "three", "k1")
    assert await backend.sql("SELECT count(*) FROM tenure.session") == [(2,)]
    assert await store.find_session(kept)


async def test_a_key_has_a_hundred_sessions_and_no_more(store: Store, backend: Backend, clock: Clock) -> None:
    for key in ("k1", "k2"):
        await store.add_key(new_key(key), entry())
    others = await begin(store, "other's", "k2")
    first = await begin(store, "0")
    await clock.advance(timedelta(seconds=1))
    second = await begin(store, "1")
    await clock.advance(timedelta(seconds=1))
    for n in range(2, MOST_SESSIONS):
        await begin(store, str(n))
    assert await store.find_session(first)
    await begin(store, "one more")
    assert await store.find_session(first) is None
    assert await store.find_session(second)
    assert await store.find_session(others)
    assert await backend.sql("SELECT count(*) FROM tenure.session") == [(MOST_SESSIONS + 1,)]


@pytest.mark.parametrize("forged", ["expires_at = created_at", "key = 'k2'"])
async def test_nobody_makes_more_of_a_session_than_it_was(
    store: Store, backend: Backend, forged: str
) -> None:
    await store.add_key(new_key(), entry())
    await begin(store, "one")
    with pytest.raises(Refused):
        await backend.sql(f"UPDATE tenure.session SET {forged}")
