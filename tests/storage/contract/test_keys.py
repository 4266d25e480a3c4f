"""Keys: what is on record of them, which of them open something now, and that they stay what they are."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.reports.access import AuditEntry, Key, NewKey
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import START, Clock


def entry(target: str = "", key: str | None = None) -> AuditEntry:
    return AuditEntry(who="ann", action="keys create", target=target, request=uuid4(), key=key)


def new_key(key: str = "k1", *scopes: str, **rest: object) -> NewKey:
    return NewKey(id=key, digest=b"hash of " + key.encode(), name="n", scopes=scopes or ("read",), **rest)  # type: ignore[arg-type]


async def held(store: Store, *ids: str) -> list[str]:
    return sorted(key.id for key in (await store.find_keys(ids)).held)


async def test_a_store_begins_without_keys(store: Store) -> None:
    assert await store.keys() == []
    ring = await store.find_keys(["k1"])
    assert (ring.held, ring.is_locked) == ((), False)


async def test_a_key_is_on_record_with_what_it_opens_and_not_with_its_secret(store: Store) -> None:
    minted = key_text.mint()
    requested = NewKey(
        id=minted.id,
        digest=minted.digest,
        name="shop, live",
        scopes=("submit", "work"),
        definitions=("mail", "bill"),
        namespace="acme",
        lifetime=timedelta(days=1),
    )
    await store.add_key(requested, entry())
    assert await store.keys() == [
        Key(
            id=minted.id,
            name="shop, live",
            scopes=("submit", "work"),
            definitions=("mail", "bill"),
            queues=(),
            namespace="acme",
            created_at=START,
            expires_at=START + timedelta(days=1),
            revoked_at=None,
            last_used_at=None,
        )
    ]
    [found] = (await store.find_keys([minted.id])).held
    assert (found.id, found.digest) == (minted.id, minted.digest)
    assert (found.scopes, found.definitions, found.namespace) == (
        requested.scopes,
        requested.definitions,
        requested.namespace,
    )


async def test_only_keys_that_were_sought_are_found_and_any_locks_the_store(store: Store) -> None:
    for key in ("k1", "k2", "k3"):
        await store.add_key(new_key(key), entry())
    assert await held(store, "k1", "k3", "nobody's") == ["k1", "k3"]
    ring = await store.find_keys([])
    assert (ring.held, ring.is_locked) == ((), True)


async def test_an_id_is_given_once(store: Store) -> None:
    await store.add_key(new_key("k1", "read"), entry())
    with pytest.raises(InvalidInput, match="taken"):
        await store.add_key(new_key("k1", "admin"), entry())
    [found] = (await store.find_keys(["k1"])).held
    assert found.scopes == ("read",)
    assert len(await store.audit_entries()) == 1


async def test_a_revoked_key_opens_nothing_at_once_and_keeps_the_store_locked(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """In whatever process somebody asks: what is committed holds."""
    await store.add_key(new_key(), entry())
    elsewhere = backend.store()
    await elsewhere.open()
    try:
        assert await held(elsewhere, "k1") == ["k1"]
        assert await store.revoke_key("k1", entry())
        ring = await elsewhere.find_keys(["k1"])
        assert (ring.held, ring.is_locked) == ((), True)
    finally:
        await elsewhere.close()
    await clock.advance(timedelta(hours=1))
    assert await store.revoke_key("k1", entry())
    [key] = await store.keys()
    assert key.revoked_at == START
    assert not await store.revoke_key("nobody's", entry())
    assert len(await store.audit_entries()) == 3


async def test_a_key_expires_by_the_clock_of_the_store(store: Store, clock: Clock) -> None:
    await store.add_key(new_key(lifetime=timedelta(hours=1)), entry())
    await clock.advance(timedelta(minutes=59))
    assert await held(store, "k1") == ["k1"]
    await clock.advance(timedelta(minutes=1))
    assert await held(store, "k1") == []


async def test_the_last_use_is_written_down_once_a_minute(store: Store, clock: Clock) -> None:
    await store.add_key(new_key(), entry())

    async def use() -> tuple[bool, object]:
        [found] = (await store.find_keys(["k1"])).held
        await store.use_keys(["k1", "nobody's"])
        return found.was_idle, (await store.keys())[0].last_used_at

    assert await use() == (True, START)
    await clock.advance(timedelta(seconds=59))
    assert await use() == (False, START)
    await clock.advance(timedelta(seconds=1))
    assert await use() == (True, START + timedelta(minutes=1))


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE tenure.access_key SET scopes = '[\"admin\"]'",
        "UPDATE tenure.access_key SET namespace = 'acme'",
        "UPDATE tenure.access_key SET expires_at = NULL",
        "UPDATE tenure.access_key SET revoked_at = NULL",
        "DELETE FROM tenure.access_key",
    ],
)
async def test_nobody_makes_more_of_a_key_than_it_was(store: Store, backend: Backend, forged: str) -> None:
    await store.add_key(new_key(lifetime=timedelta(hours=1)), entry())
    await store.revoke_key("k1", entry())
    before = await store.keys()
    with pytest.raises(Refused):
        await backend.sql(forged)
    assert await store.keys() == before
