"""Keys that a caller names: a definition's concurrency counts for each of them apart."""

from uuid import UUID

import pytest

from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.spec import Spec
from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB, claim, found, settle, succeeded
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, register

SYNC = Line("default", "sync")


@pytest.fixture
async def sync(store: Store, api: Api) -> Api:
    """A server on which `sync` runs once at a time, for each account apart, and `mill` once at a time."""
    await register(
        store,
        Spec(key="sync", concurrency=1, concurrency_key="account"),
        Spec(key="mill", concurrency=1),
    )
    return api


async def running(store: Store) -> list[str]:
    """The jobs that a worker could begin now, which it does."""
    return [str(claimed.lease.job) for claimed in await claim(store, lines=[SYNC])]


async def wanted(api: Api, *keys: str, **more: object) -> str:
    body = {"definitionKey": "sync", "concurrencyKeys": keys, **more}
    reply = await api.post("/v1/jobs", body)
    assert reply.status == 202, reply.json
    job: str = reply.json["jobId"]
    return job


async def test_two_jobs_under_one_key_never_run_together_and_one_under_another_does(
    sync: Api, store: Store
) -> None:
    """S1.47, S1.68: the limit holds for each key, over all workers."""
    first, second = await wanted(sync, "ada"), await wanted(sync, "ada")
    other = await wanted(sync, "bob")
    claimed = await claim(store, lines=[SYNC])
    assert {str(owned.lease.job) for owned in claimed} == {first, other}
    assert not await running(store)
    await settle(store, [succeeded(owned) for owned in claimed if str(owned.lease.job) == other])
    assert not await running(store)
    await settle(store, [succeeded(owned) for owned in claimed if str(owned.lease.job) == first])
    assert await running(store) == [second]


async def test_a_job_under_two_keys_waits_until_both_have_room(sync: Api, store: Store) -> None:
    """S1.68."""
    await wanted(sync, "ada")
    await wanted(sync, "bob")
    claimed = await claim(store, lines=[SYNC])
    both = await wanted(sync, "ada", "bob")
    for owned in claimed:
        assert not await running(store)
        await settle(store, [succeeded(owned)])
    assert await running(store) == [both]


async def test_tenants_who_name_the_same_key_do_not_wait_for_each_other(sync: Api, store: Store) -> None:
    """Whether they name it or it is in the params; each is shown its own key as it was named."""
    acme, globex = [await make(store, "operate", "read", namespace=name) for name in ("acme", "globex")]
    bodies: list[dict[str, object]] = [{"concurrencyKeys": ["ada"]}, {"params": {"account": "ada"}}]
    jobs = []
    for key, body in [(acme, bodies[0]), (globex, bodies[1]), (globex, bodies[0]), (acme, bodies[1])]:
        reply = await sync.post("/v1/jobs", {"definitionKey": "sync", **body}, **bearing(key))
        jobs.append(reply.json["jobId"])
        shown = await sync.get(f"/v1/jobs/{jobs[-1]}", **bearing(key))
        assert shown.json["concurrencyKeys"] == ["ada"]
    assert set(await running(store)) == set(jobs[:2])


async def test_under_a_total_count_jobs_of_every_version_queue_and_namespace(sync: Api, store: Store) -> None:
    """S1.68: a definition's concurrency without a key is for all."""
    await register(store, Spec(key="mill", version=2, queue="slow", concurrency=1))
    ours, theirs = await make(store, "operate"), await make(store, "operate", namespace="acme")
    bodies: list[dict[str, object]] = [{}, {"definitionVersion": 1}, {"queue": "fast"}]
    for key in (ours, theirs):
        for body in bodies:
            reply = await sync.post("/v1/jobs", {"definitionKey": "mill", **body}, **bearing(key))
            assert reply.status == 202, reply.json
    lines = [Line("slow", "mill", 2), Line("default", "mill"), Line("fast", "mill", 2)]
    for _ in range(2 * len(bodies)):
        [owned] = await claim(store, lines=lines)
        assert not await claim(store, lines=lines)
        await settle(store, [succeeded(owned)])
    assert not await claim(store, lines=lines)


async def test_the_keys_of_a_job_are_shown_and_stand_for_what_its_params_say(sync: Api, store: Store) -> None:
    """S1.49: whether a caller named them or the definition took them from the params."""
    named = await wanted(sync, "bob", "ada", params={"account": "eve"})
    assert (await sync.get(f"/v1/jobs/{named}")).json["concurrencyKeys"] == ["ada", "bob"]
    assert (await found(store, UUID(named))).limits == (Limit("sync", "ada"), Limit("sync", "bob"))
    taken = await wanted(sync, params={"account": "eve"})
    assert (await sync.get(f"/v1/jobs/{taken}")).json["concurrencyKeys"] == ["eve"]
    plain = (await sync.post("/v1/jobs", {"definitionKey": "bill"})).json["jobId"]
    assert (await sync.get(f"/v1/jobs/{plain}")).json["concurrencyKeys"] == []


async def test_a_key_that_was_taken_from_a_secret_is_not_shown(api: Api, store: Store) -> None:
    await register(store, Spec(key="poll", concurrency=1, concurrency_key="/login/apiKey"))
    body = {"definitionKey": "poll", "params": {"login": {"apiKey": "hunter2"}, "n": 7}}
    job = (await api.post("/v1/jobs", body)).json["jobId"]
    assert (await api.get(f"/v1/jobs/{job}")).json["concurrencyKeys"] == ["[redacted]"]


async def test_a_replay_counts_under_the_keys_of_the_first(sync: Api, store: Store) -> None:
    first = await wanted(sync, "ada")
    await settle(store, [succeeded(owned) for owned in await claim(store, lines=[SYNC])])
    again = (await sync.post(f"/v1/jobs/{first}/replay")).json["jobId"]
    assert (await sync.get(f"/v1/jobs/{again}")).json["concurrencyKeys"] == ["ada"]


@pytest.mark.parametrize(
    ("definition", "keys", "pointer"),
    [
        ("sync", "ada", "/concurrencyKeys"),
        ("sync", ["ada", "ada"], "/concurrencyKeys"),
        ("sync", [f"k{n}" for n in range(11)], "/concurrencyKeys"),
        ("sync", ["ada", ""], "/concurrencyKeys/1"),
        ("sync", ["x" * 256], "/concurrencyKeys/0"),
        ("sync", [7], "/concurrencyKeys/0"),
        ("sync", ["a\x07b"], "/concurrencyKeys"),
        ("bill", ["ada"], "/concurrencyKeys"),
        ("mill", ["ada"], "/concurrencyKeys"),
    ],
    ids=[
        "a text",
        "one twice",
        "too many",
        "an empty one",
        "a long one",
        "a number",
        "a bell",
        "no limit",
        "a total",
    ],
)
async def test_keys_that_cannot_be_taken_are_refused(
    sync: Api, store: Store, definition: str, keys: object, pointer: str
) -> None:
    """S1.68, S1.77: each is told where it stands, and nothing is recorded; nobody gets round a total."""
    body = {"definitionKey": definition, "concurrencyKeys": keys}
    alone = await sync.post("/v1/jobs", body)
    kind = "concurrency-keys" if pointer == "/concurrencyKeys" else "validation"
    assert (alone.status, alone.kind, alone.json["errors"][0]["pointer"]) == (422, kind, pointer)
    many = await sync.post("/v1/jobs/batch", {"jobs": [{"definitionKey": "bill"}, body]})
    assert (many.status, many.json["errors"][0]["pointer"]) == (422, f"/jobs/1{pointer}")
    assert not (await store.page(EVERY_JOB)).jobs


async def test_a_key_that_the_params_cannot_give_is_told_of_the_params(sync: Api) -> None:
    accounts: list[object] = [{}, [1], "a\nb", "x" * 256]
    for account in accounts:
        reply = await sync.post("/v1/jobs", {"definitionKey": "sync", "params": {"account": account}})
        assert (reply.status, reply.kind) == (422, "invalid-params")
        assert reply.json["errors"][0]["pointer"] == "/params/account"
