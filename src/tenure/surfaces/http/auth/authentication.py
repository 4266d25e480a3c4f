"""Authentication: resolves every request to a caller, by key or session, without a cache.

Keys and sessions come straight from the store's access port (`AccessStore`), a second port beside the client.
The read that looks up a key begins after its request has arrived, so that a revocation counts from the moment
of its commit, in every process. Requests that arrive during a read share the next one: however many there
are, at most one read waits for another.

A store that has, or had, a key is locked for good. One without keys is open to every caller that reaches the
server, which is this machine alone; once a second the server checks whether there is a key.
"""

import asyncio
import hmac
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from tenure.core.errors import StoreError
from tenure.core.reports.access import HeldKey, Keyring, opened_by
from tenure.core.values import key_text, session_text
from tenure.storage.contract.access import AccessStore
from tenure.surfaces.http.app.caller import ANYBODY, Caller
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.auth.peers import peer_network
from tenure.surfaces.http.auth.rate_limit import RateLimit

BAD_KEYS = 20
BAD_KEYS_WITHIN = 10.0
"""How many invalid keys one peer may send, in how many seconds, before it must wait."""

OPEN_FOR = 1.0
"""Seconds between two checks whether a store without keys has one now."""

USUAL_RATE = 1000.0
"""Requests a second with one key, which is also the largest burst."""

_NO_DIGEST = bytes(32)
_CHALLENGE = {"www-authenticate": 'Bearer realm="tenure"'}


class Authenticator:
    """Resolves requests to callers."""

    def __init__(self, store: AccessStore, *, requests_per_second: float = USUAL_RATE) -> None:
        """`requests_per_second` is for each key; 0 for no limit."""
        self._store = store
        self._lookup = KeyLookup(store)
        self._is_locked = False
        self._open_until = 0.0
        self._noting_keys: set[str] = set()
        self._bad = RateLimit(BAD_KEYS, BAD_KEYS / BAD_KEYS_WITHIN)
        self._rates = (
            RateLimit(max(requests_per_second, 1), requests_per_second) if requests_per_second else None
        )

    async def admit(
        self, authorization: str | None, query: bytes, peer: str, session: str | None = None
    ) -> Caller:
        """The caller. Raises Refusal for an invalid key, and for one that is used too often.

        `session` is given for pages, empty where the browser has none; a key counts before a session.
        """
        if not await self._is_store_locked():
            return ANYBODY
        if query and key_text.PATTERN.search(unquote_to_bytes(query).decode("latin-1")):
            raise _unknown(
                "never send a key in the address, which logs keep: revoke it, and send a new one as a header"
            )
        if session is not None and authorization is None:
            held = await self._of_session(session)
        else:
            held = await self._of_key(authorization, peer)
        if self._rates and (wait := self._rates.take(held.id)):
            raise _too_many(wait, "this key makes too many requests")
        if held.was_idle:
            await self._note_use(held.id)
        return _caller(held)

    async def is_admitted(self, caller: Caller, session: str | None = None) -> bool:
        """Whether an admitted caller still would be: its key is neither revoked nor expired.

        A caller that came by a session is refused once it ends.
        """
        if caller.key is None:
            return not await self._is_store_locked()
        if session is not None:
            found = await self._store.find_session(session_text.digest(session))
            return found is not None and _caller(found) == caller
        ring = await self._lookup.find(caller.key)
        return any(held.id == caller.key and _caller(held) == caller for held in ring.held)

    async def _is_store_locked(self) -> bool:
        now = asyncio.get_running_loop().time()
        if not self._is_locked and now >= self._open_until:
            self._is_locked = (await self._lookup.find(None)).is_locked
            self._open_until = now + OPEN_FOR
        return self._is_locked

    async def _of_key(self, authorization: str | None, peer: str) -> HeldKey:
        """The caller's key. Raises Refusal unless it is valid, and counts invalid keys by peer."""
        if (held := await self._held(authorization)) is not None:
            return held
        if wait := self._bad.take(peer_network(peer)):
            raise _too_many(wait, "too many invalid keys came from this address")
        raise no_key()

    async def _held(self, authorization: str | None) -> HeldKey | None:
        """The caller's key, if it is valid. Every kind of invalid key takes the same path, and time."""
        scheme, _, text = (authorization or "").partition(" ")
        shown = key_text.read(text.strip(" ")) if scheme.lower() == "bearer" else None
        if shown is None:
            return None
        ring = await self._lookup.find(shown.id)
        held = next((key for key in ring.held if key.id == shown.id), None)
        is_right = hmac.compare_digest(held.digest if held else _NO_DIGEST, shown.digest)
        return held if is_right else None

    async def _of_session(self, session: str) -> HeldKey:
        """The key of a session. An ended one is no invalid key to count: sessions cannot be guessed."""
        held = await self._store.find_session(session_text.digest(session)) if session else None
        if held is None:
            raise _unknown("log in with a key")
        return held

    async def _note_use(self, key: str) -> None:
        """Store that a key was used, once a minute; other requests do not wait, and a failure is ignored."""
        if key in self._noting_keys:
            return
        self._noting_keys.add(key)
        try:
            with suppress(StoreError):
                await self._store.use_keys([key])
        finally:
            self._noting_keys.discard(key)


class KeyLookup:
    """Reads keys, one read at a time, each for all requests that arrived before it began."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self._turn = asyncio.Lock()
        self._wanted: set[str] = set()
        self._next: asyncio.Future[Keyring] | None = None

    async def find(self, key: str | None) -> Keyring:
        """The keys as they are now, this one among them if it is valid."""
        if key is not None:
            self._wanted.add(key)
        if self._next is None:
            self._next = asyncio.ensure_future(self._read())
            # All waiting requests may be gone by then.
            self._next.add_done_callback(lambda read: read.cancelled() or read.exception())
        return await asyncio.shield(self._next)

    async def _read(self) -> Keyring:
        async with self._turn:
            await asyncio.sleep(0)  # requests of the same turn share the read
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
    """The refusal of a request without a valid key; it does not say what is wrong with the key."""
    return _unknown("send a valid key: Authorization: Bearer tnr_…")


def _unknown(detail: str) -> Refusal:
    return Refusal("unauthenticated", detail, headers=_CHALLENGE)


def _too_many(wait: int, detail: str) -> Refusal:
    return Refusal("too-many-requests", f"{detail}; wait {wait} s", headers={"retry-after": str(wait)})
