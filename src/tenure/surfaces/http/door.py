"""The door: which caller a request comes from, by a key or by a session, found out anew for each.

A key is looked up in the store by a read that began after its request had arrived, so that a revocation
counts from the moment at which it is committed, in every process. Requests that arrive while a read is under
way share the next one: however many there are, at most one read waits for another.

A store that has, or has had, a key is locked for good. One that has none is open to whoever reaches the
server, which is this machine alone; whether it still has none is looked at once a second.
"""

import asyncio
import hmac
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from tenure.core import key_text, session_text
from tenure.core.access import HeldKey, Keyring, opened_by
from tenure.core.errors import StoreError
from tenure.storage.access import AccessStore
from tenure.surfaces.http.caller import ANYBODY, Caller
from tenure.surfaces.http.peers import neighbourhood
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.rates import Rates

BAD_KEYS = 20
BAD_KEYS_WITHIN = 10.0
"""So many keys that open nothing, in so many seconds, may come from one peer before it is told to wait."""

OPEN_FOR = 1.0
"""Seconds for which a store that has no keys is taken to have none."""

USUAL_RATE = 1000.0
"""Requests a second with one key, and at once."""

_NOTHING = bytes(32)
_CHALLENGE = {"www-authenticate": 'Bearer realm="tenure"'}


class Door:
    """Tells callers apart by their keys."""

    def __init__(self, store: AccessStore, *, requests_per_second: float = USUAL_RATE) -> None:
        """`requests_per_second` is for each key; 0 for as many as come."""
        self._store = store
        self._lookup = Lookup(store)
        self._is_locked = False
        self._open_until = 0.0
        self._noting: set[str] = set()
        self._bad = Rates(BAD_KEYS, BAD_KEYS / BAD_KEYS_WITHIN)
        self._rates = Rates(max(requests_per_second, 1), requests_per_second) if requests_per_second else None

    async def admit(
        self, authorization: str | None, query: bytes, peer: str, session: str | None = None
    ) -> Caller:
        """The caller. Raises Refusal for a key that opens nothing, and for one that is used too often.

        `session` is for pages, empty where the browser has none; whoever shows a key is known by that.
        """
        if not await self._has_lock():
            return ANYBODY
        if query and key_text.PATTERN.search(unquote_to_bytes(query).decode("latin-1")):
            raise _unknown("a key is never taken from the address, where others can read it: revoke this one")
        if session is not None and authorization is None:
            held = await self._of_session(session)
        else:
            held = await self._of_key(authorization, peer)
        if self._rates and (wait := self._rates.take(held.id)):
            raise _too_many(wait, "this key is used too often")
        if held.was_idle:
            await self._note_use(held.id)
        return _caller(held)

    async def is_admitted(self, caller: Caller, session: str | None = None) -> bool:
        """Whether who was let in would still be: its key has neither been revoked nor run out.

        Who came by a session is not when that is over.
        """
        if caller.key is None:
            return not await self._has_lock()
        if session is not None:
            found = await self._store.find_session(session_text.digest(session))
            return found is not None and _caller(found) == caller
        ring = await self._lookup.find(caller.key)
        return any(held.id == caller.key and _caller(held) == caller for held in ring.held)

    async def _has_lock(self) -> bool:
        now = asyncio.get_running_loop().time()
        if not self._is_locked and now >= self._open_until:
            self._is_locked = (await self._lookup.find(None)).is_locked
            self._open_until = now + OPEN_FOR
        return self._is_locked

    async def _of_key(self, authorization: str | None, peer: str) -> HeldKey:
        """The key that is shown. Raises Refusal unless it opens something, and counts how often that was."""
        if (held := await self._held(authorization)) is not None:
            return held
        if wait := self._bad.take(neighbourhood(peer)):
            raise _too_many(wait, "too many keys that open nothing have come from there")
        raise no_key()

    async def _held(self, authorization: str | None) -> HeldKey | None:
        """The key that is shown, if it opens something. All that is wrong with it takes the same way."""
        scheme, _, text = (authorization or "").partition(" ")
        shown = key_text.read(text.strip(" ")) if scheme.lower() == "bearer" else None
        if shown is None:
            return None
        ring = await self._lookup.find(shown.id)
        held = next((key for key in ring.held if key.id == shown.id), None)
        is_right = hmac.compare_digest(held.digest if held else _NOTHING, shown.digest)
        return held if is_right else None

    async def _of_session(self, session: str) -> HeldKey:
        """Its key. Sessions are not guessed, so that one which is over is no bad key."""
        held = await self._store.find_session(session_text.digest(session)) if session else None
        if held is None:
            raise _unknown("log in with a key")
        return held

    async def _note_use(self, key: str) -> None:
        """Once a minute; who comes meanwhile does not wait for it, and nobody fails by it."""
        if key in self._noting:
            return
        self._noting.add(key)
        try:
            with suppress(StoreError):
                await self._store.use_keys([key])
        finally:
            self._noting.discard(key)


class Lookup:
    """Reads keys, one read at a time, each for all who have come before it began."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self._turn = asyncio.Lock()
        self._wanted: set[str] = set()
        self._next: asyncio.Future[Keyring] | None = None

    async def find(self, key: str | None) -> Keyring:
        """The keys as they are now, this one among them if it opens something."""
        if key is not None:
            self._wanted.add(key)
        if self._next is None:
            self._next = asyncio.ensure_future(self._read())
            # Those who wait may all be gone by then.
            self._next.add_done_callback(lambda read: read.cancelled() or read.exception())
        return await asyncio.shield(self._next)

    async def _read(self) -> Keyring:
        async with self._turn:
            await asyncio.sleep(0)  # for those who have come in the same moment
            wanted, self._wanted, self._next = self._wanted, set(), None
            return await self._store.find_keys(wanted)


@lru_cache(maxsize=1024)
def _caller(held: HeldKey) -> Caller:
    return Caller(
        name=held.name,
        scopes=opened_by(held.scopes),
        key=held.id,
        definitions=frozenset(held.definitions),
        queues=frozenset(held.queues),
        namespace=held.namespace,
    )


def no_key() -> Refusal:
    """The refusal of whoever shows no key that opens something; what is wrong with it is not told."""
    return _unknown("send a key that is valid: Authorization: Bearer tnr_…")


def _unknown(detail: str) -> Refusal:
    return Refusal("unauthenticated", detail, headers=_CHALLENGE)


def _too_many(wait: int, detail: str) -> Refusal:
    return Refusal("too-many-requests", f"{detail}; wait for {wait} s", headers={"retry-after": str(wait)})
