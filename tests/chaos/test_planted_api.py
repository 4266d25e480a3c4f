"""A server that breaks a promise on purpose, and the checker sees it; a sound one does no harm.

Clients speak to it over HTTP, as those of a run do, and write down what they are told.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

import pytest
from msgspec.structs import replace

from chaos import history
from chaos.checker import check
from chaos.client import Client
from chaos.evidence import Reply, Terms, gather
from chaos.http_store import HttpStore
from chaos.load import Wanted
from chaos.tenants import Tenant, with_key
from tenure.api.redaction import Redaction
from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.job import Enqueued, KeysTaken, NewJob
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.values.documents import Document, write
from tenure.engine.client.client import JobClient as Engine
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.calls import read
from tests.surfaces.http.http_server import Api, register, serving

PASSWORD = "planted-in-params"
Story = Callable[[Store, Api, Path], Awaitable[set[str]]]
Sabotage = Callable[[pytest.MonkeyPatch], None]


async def keys_and_batches(store: Store, api: Api, folder: Path) -> set[str]:
    """A key is sent three times, once with different params; and a batch, once."""
    speaking = HttpStore(lambda: api.server.url)
    client = Client(cast("Store", speaking), folder / "history", _job)
    for to in ("ada", "bob", "ada"):
        await client.attempt([Wanted("k", "mail", {"to": to})])
    await client.attempt([Wanted("one", "mail"), Wanted("two", "mail")], batch=True)
    client.close()
    await speaking.close()
    calls = history.read(folder / "history")
    assert len(calls) == 4
    return {one.invariant for one in check(await gather(store, Terms(quiet=False), history=calls))}


async def two_namespaces(store: Store, api: Api, folder: Path) -> set[str]:
    """Each makes a job, asks every route about the other's, and so does the operator about both."""
    replies: list[Reply] = []
    tenants = []
    for namespace in ("red", "blue", None):
        key, mark = await with_key(store, namespace), f"mark-of-{namespace}"
        speaking = HttpStore(
            lambda: api.server.url, key=key.text, namespace=namespace, tags=[mark], heard=replies.append
        )
        client = Client(cast("Store", speaking), folder / f"history-{namespace}", _job)
        tenants.append(Tenant(namespace, key, mark, speaking, client))
    for tenant in tenants[:2]:
        await tenant.client.enqueue([Wanted(f"of-{tenant.namespace}", "mail", {"password": PASSWORD})])
    for tenant in tenants:
        await tenant.look_at([job for other in tenants if other is not tenant for job in other.client.jobs])
        await tenant.close()
    evidence = await gather(
        store,
        Terms(quiet=False),
        replies=replies,
        marks={tenant.namespace: tenant.mark for tenant in tenants if tenant.namespace},
        secrets=[tenant.secret for tenant in tenants],
    )
    planted = replace(evidence, secrets=[*evidence.secrets, replace(evidence.secrets[0], text=PASSWORD)])
    assert {reply.status for reply in replies} >= {200, 202, 401, 403, 404, 422}
    assert "GET /metrics" in {reply.asked for reply in replies if reply.status == 200}
    return {one.invariant for one in check(planted)}


def _job(wanted: Wanted) -> NewJob:
    return NewJob(definition=wanted.definition, params=write(wanted.params), key=wanted.key)


def answers_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    async def enqueue(_self: Engine, jobs: Sequence[NewJob]) -> list[Enqueued]:
        ids = [uuid5(NAMESPACE_URL, job.key or "") for job in jobs]
        return [Enqueued(job, State.QUEUED, fresh=True) for job in ids]

    patch.setattr(Engine, "enqueue", enqueue)


def refuses_what_it_has_recorded(patch: pytest.MonkeyPatch) -> None:
    once = Engine.enqueue

    async def enqueue(self: Engine, jobs: Sequence[NewJob]) -> list[Enqueued]:
        await once(self, jobs)
        raise InvalidInput("params", "cannot be kept")

    patch.setattr(Engine, "enqueue", enqueue)


def knows_no_keys(patch: pytest.MonkeyPatch) -> None:
    once = Engine.enqueue

    async def enqueue(self: Engine, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await once(self, [replace(job, key=None) for job in jobs])

    patch.setattr(Engine, "enqueue", enqueue)


def takes_any_params(patch: pytest.MonkeyPatch) -> None:
    async def look_away(_self: Engine, _jobs: Sequence[NewJob], _answers: Sequence[Enqueued]) -> None:
        """Whatever was sent with a key is as good as anything."""

    patch.setattr(Engine, "check_keys", look_away)


def takes_batches_apart(patch: pytest.MonkeyPatch) -> None:
    async def record(self: Engine, judged: Sequence[NewJob]) -> list[Enqueued] | KeysTaken:
        await self.enqueue(judged[:1])
        raise StoreUnavailable("the connection broke after the first")

    patch.setattr(Engine, "record", record)


def shows_any_job(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Caller, "sees", lambda _self, _job: True)


def lists_every_namespace(patch: pytest.MonkeyPatch) -> None:
    def wide(**given: Any) -> Filter:
        return Filter(**{**given, "namespace": None})

    patch.setattr(read, "Filter", wide)


def hides_nothing(patch: pytest.MonkeyPatch) -> None:
    def as_it_is(_self: Redaction, document: Document) -> Document:
        return document

    patch.setattr(Redaction, "document", as_it_is)


CASES: dict[str, tuple[set[str], Story, Sabotage]] = {
    "a server that answers before the commit": ({"I1"}, keys_and_batches, answers_before_the_commit),
    "a server that refuses what it has recorded": ({"I2"}, keys_and_batches, refuses_what_it_has_recorded),
    "a server that knows no keys": ({"I3"}, keys_and_batches, knows_no_keys),
    "a server that takes any params for a key": ({"I4"}, keys_and_batches, takes_any_params),
    "a server that takes batches apart": ({"I5"}, keys_and_batches, takes_batches_apart),
    "a server that shows any job to anybody": ({"I46"}, two_namespaces, shows_any_job),
    "a server that lists every namespace": ({"I46"}, two_namespaces, lists_every_namespace),
    "a server that hides nothing": ({"I47"}, two_namespaces, hides_nothing),
}
SERVERS = {name: broken for name, (broken, _, _) in CASES.items()}


async def told(store: Store, story: Story, folder: Path) -> set[str]:
    """What is broken when a story was told to a server."""
    await register(store, Spec(key="mail"))
    async with serving(store) as api:
        return await story(store, api, folder)


@pytest.mark.parametrize("story", [keys_and_batches, two_namespaces])
async def test_a_sound_server_stands_it(store: Store, story: Story, tmp_path: Path) -> None:
    assert await told(store, story, tmp_path) == set()


@pytest.mark.parametrize("name", CASES)
async def test_what_was_taken_out_of_a_server_is_noticed(
    store: Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, story, sabotage = CASES[name]
    sabotage(monkeypatch)
    assert await told(store, story, tmp_path) == broken
