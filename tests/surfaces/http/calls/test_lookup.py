"""Keys are read for every request, and many requests share a read: but none that began before they came."""

import asyncio
from collections.abc import Collection
from typing import Any

from tenure.core.reports.access import HeldKey, Keyring
from tenure.surfaces.http.auth.authentication import KeyLookup


class Slow:
    """Keys whose reads end when they are told to; each sees what was so when it began."""

    def __init__(self) -> None:
        self.revoked: set[str] = set()
        self.reads: list[set[str]] = []
        self.gates: list[asyncio.Event] = []
        self.begun = asyncio.Condition()

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        found = [one for one in sorted(ids) if one not in self.revoked]
        gate = asyncio.Event()
        async with self.begun:
            self.reads.append(set(ids))
            self.gates.append(gate)
            self.begun.notify_all()
        await gate.wait()
        return Keyring(tuple(_held(key) for key in found), is_locked=True)

    async def until_read(self, number: int) -> asyncio.Event:
        """The gate of a read, as soon as it has begun."""
        async with self.begun:
            await self.begun.wait_for(lambda: len(self.reads) >= number)
        return self.gates[number - 1]


def _held(key: str) -> HeldKey:
    return HeldKey(
        id=key,
        digest=b"",
        name=key,
        scopes=("read",),
        definitions=(),
        queues=(),
        namespace=None,
        was_idle=False,
    )


async def test_who_comes_while_a_read_is_under_way_shares_the_next_one() -> None:
    store: Any = Slow()
    lookup = KeyLookup(store)
    first = asyncio.ensure_future(lookup.find("a"))
    gate = await store.until_read(1)
    later = [asyncio.ensure_future(lookup.find(f"k{n}")) for n in range(64)]
    await asyncio.sleep(0)
    gate.set()
    (await store.until_read(2)).set()
    await asyncio.gather(first, *later)
    assert store.reads == [{"a"}, {f"k{n}" for n in range(64)}]


async def test_no_request_is_answered_by_a_read_that_began_before_it() -> None:
    """Or a key could open something after its revocation was committed."""
    store: Any = Slow()
    lookup = KeyLookup(store)
    before = asyncio.ensure_future(lookup.find("a"))
    gate = await store.until_read(1)
    store.revoked.add("a")
    after = asyncio.ensure_future(lookup.find("a"))
    await asyncio.sleep(0)
    gate.set()
    (await store.until_read(2)).set()
    assert [key.id for key in (await before).held] == ["a"]
    assert (await after).held == ()


async def test_one_who_goes_away_takes_nobody_with_it() -> None:
    store: Any = Slow()
    lookup = KeyLookup(store)
    gone, stays = (asyncio.ensure_future(lookup.find(key)) for key in "ab")
    gate = await store.until_read(1)
    gone.cancel()
    gate.set()
    assert [key.id for key in (await stays).held] == ["a", "b"]
