"""Limits as operators see and set them: in pages, and only those that there are."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.limit import Limit, LimitUse
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, enqueue_one, seconds


async def bring(store: Store, *limits: Limit) -> None:
    for limit in limits:
        await enqueue_one(store, limits=(limit,))


async def test_limits_come_in_pages_by_name_and_key(store: Store) -> None:
    """However many keys there are, and however long; nothing twice, nothing left out."""
    long = "ü" * 255
    await bring(
        store, *(Limit("tenant", f"t{n:02}", 2) for n in (3, 1, 2)), Limit("tenant", long, 2), Limit("api")
    )
    await store.set_limit("unused", 7)
    await claim(store, limit=10)
    expected = await store.limits()
    assert expected == [
        LimitUse("api", "", 1, 1),
        *(LimitUse("tenant", key, 2, 1) for key in ("t01", "t02", "t03", long)),
        LimitUse("unused", "", 7, 0),
    ]
    for size in (1, 2, 3, 6, 200):
        uses: list[LimitUse] = []
        page = await store.limit_page(limit=size)
        uses += page.uses
        while page.next:
            page = await store.limit_page(after=page.next, limit=size)
            assert page.uses
            uses += page.uses
        assert uses == expected


async def test_behind_a_key_that_is_not_there_comes_the_next_limit(store: Store) -> None:
    await bring(store, Limit("api"), Limit("tenant", "a"))
    assert [use.name for use in (await store.limit_page(after=("api", 99))).uses] == ["tenant"]
    assert (await store.limit_page(after=("zzz", 0))).uses == []
    for size in (0, 201):
        with pytest.raises(InvalidInput, match="limit"):
            await store.limit_page(limit=size)


async def test_a_limit_that_is_closed_tells_until_when(store: Store, backend: Backend, clock: Clock) -> None:
    """While that is to come."""
    await bring(store, Limit("api"))
    opens_at = START + seconds(60)
    micros = int(opens_at.timestamp() * 1_000_000)
    if backend.kind == "sqlite":
        await backend.sql(f"UPDATE tenure_limited SET opens_at = {micros}")
    else:
        await backend.sql(f"UPDATE tenure.limited SET opens_at = to_timestamp({micros} / 1000000.0)")
    assert [use.opens_at for use in await store.limits()] == [opens_at]
    await clock.advance(seconds(60))
    assert [use.opens_at for use in await store.limits()] == [None]


async def test_a_limit_that_is_not_there_is_made_only_if_asked_to(store: Store) -> None:
    assert not await store.set_limit("api", 5, create=False)
    assert await store.limits() == []
    await bring(store, Limit("api", size=2))
    assert await store.set_limit("api", 5, create=False)
    assert await store.limits() == [LimitUse("api", "", 5, 0)]
    assert await store.set_limit("new", 3)
    assert (await store.limits())[1:] == [LimitUse("new", "", 3, 0)]


async def test_what_no_limit_can_have_is_refused(store: Store) -> None:
    await bring(store, Limit("api", size=2))
    for size in (0, -1, 10_001):
        with pytest.raises(InvalidInput, match="size"):
            await store.set_limit("api", size, create=False)
    with pytest.raises(InvalidInput, match="limit"):
        await store.set_limit("a" * 10_000, 1, create=False)
    assert await store.limits() == [LimitUse("api", "", 2, 0)]
