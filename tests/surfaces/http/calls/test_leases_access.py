"""Who may claim what: a key claims within its bounds, and speaks for its own leases alone."""

from typing import Any
from uuid import UUID

from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one, state_of
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, register
from tests.surfaces.http.http_worker import Leased, add, ask, lease


async def key(store: Store, *scopes: str, **rest: Any) -> dict[str, Any]:
    return bearing(await make(store, *scopes, **rest))


async def test_a_lease_is_its_keys_own(api: Api, store: Store) -> None:
    """Another key does not speak for it, under the same name of a worker and with its very token."""
    own, other = await key(store, "work"), await key(store, "admin")
    job = await enqueue_one(store)
    [held] = await lease(api, extra=own)
    stolen = Leased(api, held.lease, other)
    for verb in ("heartbeat", "complete", "release"):
        reply = await stolen.call(verb)
        assert (reply.status, reply.kind) == (409, "lease-lost")
    assert await state_of(store, job) is State.RUNNING
    assert (await held.call("complete")).status == 200
    assert (await stolen.call("complete")).kind == "lease-lost"  # nor is it told that it was done


async def test_a_key_with_definitions_serves_no_others_and_hears_of_none(api: Api, store: Store) -> None:
    """It need not have asked for the jobs that it serves."""
    wide, narrow = await key(store, "operate"), await key(store, "work", definitions=("mail",))
    mail = await add(api, extra=wide)
    bill = await add(api, extra=wide, definitionKey="bill")
    refused = await ask(api, extra=narrow, definitions=[{"definitionKey": "bill"}])
    assert (refused.status, refused.kind) == (422, "unknown-definition")
    held = await lease(api, extra=narrow, limit=9, queues=["default"])
    assert [one.job for one in held] == [mail]
    assert (await held[0].call("heartbeat")).status == 200
    assert (await held[0].call("complete")).status == 200
    theirs = Leased(api, {"jobId": bill, "token": "1.node-1"}, narrow)
    assert (await theirs.call("complete")).status == 404


async def test_a_key_with_queues_serves_no_others(api: Api, store: Store) -> None:
    await register(store, Spec(key="thumb", queue="slow"))
    bound = await key(store, "work", queues=("slow",))
    jobs = [await enqueue_one(store, "thumb", queue=queue) for queue in ("default", "slow")]
    thumb = [{"definitionKey": "thumb"}]
    for order in ({"queues": ["default"]}, {"queues": ["slow", "default"], "definitions": thumb}):
        refused = await ask(api, extra=bound, **order)
        assert (refused.status, refused.kind) == (403, "insufficient-scope")
    held = await lease(api, extra=bound, limit=9, definitions=thumb)
    assert [UUID(one.job) for one in held] == [jobs[1]]


async def test_what_is_tenures_own_is_claimed_by_nobody_else(api: Api, store: Store) -> None:
    """Neither by its name nor by its queue, even without any bounds."""
    await register(store, Spec(key="system.tidy"))
    job = await enqueue_one(store, "system.tidy")
    named = await ask(api, definitions=[{"definitionKey": "system.tidy"}])
    assert (named.status, named.kind) == (422, "validation")
    assert await lease(api, queues=["default"], limit=9) == []
    assert await state_of(store, job) is State.QUEUED


async def test_a_key_of_one_namespace_claims_nothing_of_others(api: Api, store: Store) -> None:
    """Lines are shared by all namespaces, so that it is told so and claims nothing at all."""
    job = await enqueue_one(store)
    bound = await key(store, "work", namespace="acme")
    refused = await ask(api, extra=bound)
    assert (refused.status, refused.kind) == (403, "insufficient-scope")
    spoken = await Leased(api, {"jobId": str(job), "token": "1.node-1"}, bound).call("complete")
    assert (spoken.status, spoken.kind) == (403, "insufficient-scope")
    assert await state_of(store, job) is State.QUEUED


async def test_claims_are_in_the_history_of_the_job_and_not_in_the_audit_log(api: Api, store: Store) -> None:
    """Who did it is in the job's own history, key and all."""
    text = await make(store, "work")
    job = await enqueue_one(store)
    before = await store.audit_entries()
    [held] = await lease(api, extra=bearing(text))
    assert (await held.call("complete")).status == 200
    assert await store.audit_entries() == before
    actors = [event.actor for event in await store.events(job)]
    assert actors == ["api", f"node-1@{text[4:14]}", f"node-1@{text[4:14]}"]
