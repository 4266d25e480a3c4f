"""Those who use the servers of a run: two namespaces, each with a key of its own, and an operator.

Each tenant's jobs bear its mark. While its client asks for jobs, it also pries: it asks every route of the
server about jobs of others. The operator may see everything, and looks at all of it, but for secrets.
Whatever any of them is answered is kept.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any
from uuid import UUID, uuid4

from chaos.client import REST, Client
from chaos.evidence import Secret
from chaos.http_store import HttpStore
from chaos.load import PASSWORD
from tenure.core.errors import StoreError
from tenure.core.reports.access import AuditEntry, NewKey
from tenure.core.values import key_text
from tenure.core.values.key_text import Minted
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls.table import ROUTES

NAMESPACES = ("red", "blue")
PRY_EVERY = 0.25
MOST_TRIES = 300
Question = tuple[str, str, Any]
"""Method, path and body."""

# What never ends is no question; and to make or move jobs at large is the client's affair.
_ANSWERED = [route for route in ROUTES if "event-stream" not in route.produces]
_OF_JOBS = [route for route in _ANSWERED if "jobId" in route.names]
_AT_LARGE = [route for route in _ANSWERED if route.method == "GET" and "jobId" not in route.names]


class Tenant:
    """Somebody with a key. Without a namespace it is the operator."""

    def __init__(
        self, namespace: str | None, key: Minted, mark: str, store: HttpStore, client: Client
    ) -> None:
        self.namespace = namespace
        self.mark = mark
        self.client = client
        self._key = key
        self._store = store

    @property
    def secret(self) -> Secret:
        """Its key."""
        return Secret(f"the key of {self.namespace or 'the operator'}", self._key.text)

    async def pry(self, others: Sequence[Client], marks: Sequence[str], random: Random) -> None:
        """Ask about jobs of other clients, now and then, until cancelled."""
        at_large = [*asked_at_large(), *(("GET", f"/v1/jobs?tag={mark}", None) for mark in marks)]
        while True:
            await asyncio.sleep(PRY_EVERY * random.uniform(0.5, 1.5))
            theirs = [job for other in others for job in other.jobs]
            questions = asked_of(random.choice(theirs)) if theirs else at_large
            with suppress(StoreError):  # who is not answered hears nothing
                await self._store.ask(*random.choice(random.choice([questions, at_large])))

    async def look_at(self, jobs: Sequence[UUID]) -> None:
        """Ask everything about some jobs, which are others' unless it is the operator; and blunder."""
        for job in jobs:
            await self._put(asked_of(job, only_look=self.namespace is None))
        await self._put(asked_at_large())
        await self._put(self._blunders())

    async def close(self) -> None:
        """Hang up."""
        self.client.close()
        await self._store.close()

    async def _put(self, questions: Iterable[Question]) -> None:
        """Ask until there is an answer, which is on record then: a server may have to be replaced first."""
        for question in questions:
            for _ in range(MOST_TRIES):
                with suppress(StoreError):
                    await self._store.ask(*question)
                    break
                await asyncio.sleep(REST)

    def _blunders(self) -> Iterator[Question]:
        """Requests that cannot be done, with secrets in them."""
        params = {"password": PASSWORD}
        yield "POST", "/v1/jobs", {"definitionKey": "sleep", "params": params, **params}
        yield "POST", "/v1/jobs", {"definitionKey": "sleep", "params": [params]}
        yield "POST", "/jobs", {"jobType": "nowhere", "payload": params, "idempotencyKey": "k"}
        yield "GET", f"/v1/jobs?password={PASSWORD}", None
        yield "GET", f"/v1/jobs?key={self._key.text}", None


def asked_of(job: UUID, *, only_look: bool = False) -> list[Question]:
    """Every question that there is about a job, and every request to move it unless it is `only_look`."""
    return [_question(route, job) for route in _OF_JOBS if route.method == "GET" or not only_look]


def asked_at_large() -> list[Question]:
    """Every question that is about no job in particular."""
    return [_question(route) for route in _AT_LARGE]


def _question(route: Route, job: UUID | None = None) -> Question:
    parts = {**dict.fromkeys(route.names, "noop"), "jobId": str(job)}
    return route.method, route.path.format(**parts), None if route.body is None else {}


async def with_key(store: Store, namespace: str | None) -> Minted:
    """A key that opens what its owner may do, on record."""
    minted = key_text.mint()
    scopes = ("admin",) if namespace is None else ("operate",)
    name = namespace or "operator"
    key = NewKey(id=minted.id, digest=minted.digest, name=name, scopes=scopes, namespace=namespace)
    entry = AuditEntry(who="the run", action="keys create", target=minted.id, request=uuid4())
    await store.add_key(key, entry)
    return minted
