"""The intent API: what is said once is done once, however often it is sent."""

import asyncio
import re
from datetime import datetime
from uuid import UUID

import pytest

from tenure.api.dialects.intent import INTENT
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import EVERY_JOB, claim, found, seconds, settle, succeeded, unrecoverable
from tests.surfaces.http.http_server import Api, serving
from tests.surfaces.store_behind import NOBODY

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "order-7"}


async def test_any_server_on_the_database_will_do(api: Api, store: Store) -> None:
    """S1.13, S0.43: a server keeps nothing; what one was told, another shows, changes and goes on with."""
    async with serving(store) as other:
        job = (await api.post("/v1/jobs", {"definitionKey": "mail"})).json["jobId"]
        for _ in range(2):
            await api.post("/v1/jobs", {"definitionKey": "mail"})
        assert (await other.get(f"/v1/jobs/{job}")).json == (await api.get(f"/v1/jobs/{job}")).json
        assert (await other.post(f"/v1/jobs/{job}/cancel")).status == 202
        assert (await api.get(f"/jobs/{job}")).json["status"] == "CANCELLED"
        cursor = (await api.get("/v1/jobs?limit=1")).json["nextCursor"]
        assert (await other.get(f"/v1/jobs?limit=1&cursor={cursor}")).status == 200
        events = (await other.get(f"/v1/jobs/{job}/events")).json["items"]
        assert [event["type"] for event in events] == ["queued", "cancelled"]


async def test_a_new_wish_is_accepted_and_kept(api: Api, store: Store) -> None:
    """S0.34, S0.36, S0.37: when the answer comes, the row is there."""
    reply = await api.post("/jobs", WISH)
    assert reply.status == 202
    assert reply.json.keys() == {"jobId", "status"}
    assert reply.json["status"] == "PENDING"
    assert (await found(store, UUID(reply.json["jobId"]))).state is State.QUEUED


async def test_all_that_was_said_stands_in_the_row(api: Api, store: Store) -> None:
    """S0.35, S0.55: the key beside type, payload and status."""
    job = await found(store, UUID((await api.post("/jobs", WISH)).json["jobId"]))
    assert (job.definition, job.params, job.key) == ("mail", '{"to":"ada"}', "order-7")


async def test_the_same_key_again_is_the_same_job_and_looks_the_same(api: Api, store: Store) -> None:
    """S0.39, S0.40, S0.41, and row 31: also with other white space and another order of keys."""
    first = await api.post("/jobs", WISH)
    respelled = b'{ "idempotencyKey": "order-7", "payload": {"to": "ada"},  "jobType": "mail"}'
    second = await api.post("/jobs", content=respelled, headers={"content-type": "application/json"})
    assert (second.status, second.body) == (first.status, first.body)
    assert _alike(first.headers) == _alike(second.headers)
    assert len((await store.page(EVERY_JOB)).jobs) == 1


def _alike(headers: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name not in {"date", "x-request-id"}}


async def test_the_same_key_with_anything_else_is_the_first_job(api: Api, store: Store) -> None:
    """Rows 32 and 34: the key alone names the wish, across all types of jobs."""
    first = (await api.post("/jobs", WISH)).json
    for other in ({**WISH, "payload": {"to": "bob"}}, {**WISH, "jobType": "bill"}):
        reply = await api.post("/jobs", other)
        assert (reply.status, reply.json) == (202, first)
    assert len((await store.page(EVERY_JOB)).jobs) == 1


async def test_keys_of_the_control_api_are_others(api: Api) -> None:
    first = (await api.post("/jobs", WISH)).json["jobId"]
    body = {"definitionKey": "mail", "idempotencyKey": "order-7", "params": {"to": "ada"}}
    assert (await api.post("/v1/jobs", body)).json["jobId"] != first


async def test_a_known_key_answers_with_where_the_job_stands_now(api: Api, store: Store) -> None:
    """S0.40, S0.49: whatever has become of it."""
    job = (await api.post("/jobs", WISH)).json["jobId"]
    [claimed] = await claim(store)
    assert (await api.post("/jobs", WISH)).json == {"jobId": job, "status": "RUNNING"}
    await settle(store, [succeeded(claimed)])
    assert (await api.post("/jobs", WISH)).json == {"jobId": job, "status": "COMPLETED"}
    assert (await api.get(f"/jobs/{job}")).json["status"] == "COMPLETED"


@pytest.mark.both_stores
async def test_many_at_once_with_one_key_make_one_job(api: Api, store: Store, backend: Backend) -> None:
    """S0.45, S0.47, S0.57, and row 33: all are accepted, by two servers that share the database alone."""
    second = backend.store()
    await second.open()
    async with serving(second) as other:
        replies = await asyncio.gather(
            *(server.post("/jobs", WISH) for _ in range(50) for server in (api, other))
        )
    await second.close()
    assert {reply.status for reply in replies} == {202}
    assert len({reply.json["jobId"] for reply in replies}) == 1
    assert len((await store.page(EVERY_JOB)).jobs) == 1


async def test_a_server_that_was_not_there_before_knows_the_key(api: Api, store: Store) -> None:
    """S0.42, S0.43, S0.58: nothing is remembered but by the database."""
    first = (await api.post("/jobs", WISH)).json
    async with serving(store) as fresh:
        assert (await fresh.post("/jobs", WISH)).json == first


async def test_a_client_sees_what_has_become_and_nothing_of_how(api: Api, store: Store) -> None:
    """S0.49, S0.50, S0.51: of a job that failed with a secret in its payload and in its error."""
    job = (await api.post("/jobs", WISH)).json["jobId"]
    [claimed] = await claim(store, worker="worker-on-host-9")
    await settle(store, [unrecoverable(claimed)], worker="worker-on-host-9")
    reply = await api.get(f"/jobs/{job}")
    assert reply.status == 200
    assert reply.json.keys() == {"jobId", "jobType", "status", "createdAt", "updatedAt"}
    assert (reply.json["jobId"], reply.json["jobType"], reply.json["status"]) == (job, "mail", "FAILED")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", reply.json["createdAt"])
    assert not re.search(rb"ada|boom|host-9|order-7", reply.body)


async def test_a_client_sees_when_its_job_was_made_and_when_it_last_moved(
    api: Api, store: Store, clock: Clock
) -> None:
    """S0.49: `createdAt` stays, and `updatedAt` is the time of the last step, on both surfaces."""
    job = (await api.post("/jobs", WISH)).json["jobId"]
    assert await _times(api, job) == {(clock.now, clock.now)}
    made = clock.now

    moved = await clock.advance(seconds(5))
    owned = await claim(store)
    await clock.advance(seconds(5))
    assert await _times(api, job) == {(made, moved)}

    moved = await clock.advance(seconds(5))
    await settle(store, map(succeeded, owned))
    await clock.advance(seconds(5))
    assert await _times(api, job) == {(made, moved)}


async def _times(api: Api, job: str) -> set[tuple[datetime, datetime]]:
    """When a job was made and when it last moved, as each surface tells."""
    answer = [(await api.get(path)).json for path in (f"/jobs/{job}", f"/v1/jobs/{job}")]
    return {
        (datetime.fromisoformat(one["createdAt"]), datetime.fromisoformat(one["updatedAt"])) for one in answer
    }


async def test_no_job_runs_by_being_asked_for(api: Api, store: Store) -> None:
    """S0.33, S0.46: it is as eligible after ten looks as before."""
    job = (await api.post("/jobs", WISH)).json["jobId"]
    for _ in range(10):
        assert (await api.get(f"/jobs/{job}")).json["status"] == "PENDING"
    assert [claimed.lease.job for claimed in await claim(store)] == [UUID(job)]


async def test_an_unknown_job_is_not_found(api: Api, store: Store) -> None:
    """S0.54."""
    reply = await api.get(f"/jobs/{NOBODY}")
    assert (reply.status, reply.kind) == (404, "not-found")
    assert not (await store.page(EVERY_JOB)).jobs


BAD = {
    "no key": ({"jobType": "mail"}, "idempotency-key", "/idempotencyKey"),
    "an empty key": ({**WISH, "idempotencyKey": ""}, "idempotency-key", "/idempotencyKey"),
    "a long key": ({**WISH, "idempotencyKey": "k" * 256}, "idempotency-key", "/idempotencyKey"),
    "a key with a line end": ({**WISH, "idempotencyKey": "a\nb"}, "idempotency-key", "/idempotencyKey"),
    "no type": ({"idempotencyKey": "k"}, "validation", "/jobType"),
    "an unknown type": ({**WISH, "jobType": "nope"}, "unknown-definition", "/jobType"),
    "a reserved type": ({**WISH, "jobType": "system.x"}, "validation", "/jobType"),
    "a path for a type": ({**WISH, "jobType": "../x"}, "validation", "/jobType"),
    "a payload that does not fit": ({**WISH, "payload": {"to": 5}}, "invalid-params", "/payload/to"),
    "a large payload": ({**WISH, "payload": {"to": "x" * 262_144}}, "validation", "/payload"),
    "a status": ({**WISH, "status": "COMPLETED"}, "unknown-field", "/status"),
    "a priority": ({**WISH, "priority": 1}, "unknown-field", "/priority"),
}


async def test_a_wish_that_cannot_be_taken_is_refused_and_leaves_nothing(api: Api, store: Store) -> None:
    """S2.24, and rows 20, 21, 22, 28 and 30: no state can be set from outside."""
    for name, (body, kind, pointer) in BAD.items():
        reply = await api.post("/jobs", body)
        assert (reply.status, reply.kind) == (422, kind), name
        assert reply.json["errors"][0]["pointer"] == pointer, name
    assert not (await store.page(EVERY_JOB)).jobs


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_word(state: State) -> None:
    assert INTENT[state] in {"PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"}
