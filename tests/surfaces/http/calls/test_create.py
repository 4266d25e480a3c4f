"""The control API's ways to record jobs."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB, claim, found, settle, succeeded, unrecoverable
from tests.surfaces.http.http_server import Api, register

MAIL = {"definitionKey": "mail"}


async def test_a_job_is_recorded_as_asked(api: Api, store: Store) -> None:
    """S1.46, S1.47, S1.48: with all that may be said of it."""
    reply = await api.post(
        "/v1/jobs",
        {
            "definitionKey": "mail",
            "definitionVersion": 1,
            "params": {"to": "ada"},
            "priority": -7,
            "maxAttempts": 9,
            "queue": "slow",
            "idempotencyKey": "k",
            "timeoutSeconds": 1.5,
            "tags": ["red"],
        },
    )
    assert (reply.status, reply.json["status"]) == (202, "queued")
    assert reply.headers["location"] == f"/v1/jobs/{reply.json['jobId']}"
    job = await found(store, UUID(reply.json["jobId"]))
    assert (job.definition, job.version, job.params) == ("mail", 1, '{"to":"ada"}')
    assert (job.priority, job.queue, job.key, job.tags) == (-7, "slow", "k", ("post", "red"))
    assert (job.policy.max_attempts, job.policy.timeout) == (9, timedelta(seconds=1.5))


async def test_what_is_not_said_is_as_the_definition_has_it(api: Api, store: Store) -> None:
    """S2.21: it is queued, with the definition's own priority and queue."""
    reply = await api.post("/v1/jobs", {"definitionKey": "bill"})
    job = await found(store, UUID(reply.json["jobId"]))
    assert (job.priority, job.queue, job.params, job.key) == (5, "default", "{}", None)
    assert job.state is State.QUEUED


async def test_without_a_version_it_is_the_newest(api: Api, store: Store) -> None:
    await register(store, Spec(key="report"), Spec(key="report", version=3))
    for sent, got in ((None, 3), (1, 1)):
        body = {"definitionKey": "report"} | ({"definitionVersion": sent} if sent else {})
        reply = await api.post("/v1/jobs", body)
        assert (await found(store, UUID(reply.json["jobId"]))).version == got


async def test_a_job_may_wait_for_its_time_or_for_its_release(api: Api) -> None:
    """S1.48, and row 27: a time that has passed is now."""
    ahead = (datetime.now(UTC) + timedelta(days=3000)).isoformat()
    for more, status in (
        ({"hold": True}, "created"),
        ({"delaySeconds": 60}, "scheduled"),
        ({"delaySeconds": 0}, "queued"),
        ({"runAt": ahead}, "scheduled"),
        ({"runAt": "1999-12-31T23:59:59+01:00"}, "queued"),
    ):
        reply = await api.post("/v1/jobs", {**MAIL, **more})
        assert (reply.status, reply.json["status"]) == (202, status), more


BAD: dict[str, tuple[dict[str, object], str, str]] = {
    "a state": ({"state": "succeeded"}, "unknown-field", "/state"),
    "attempts": ({"attempts": 0}, "unknown-field", "/attempts"),
    "a worker": ({"workerId": "x"}, "unknown-field", "/workerId"),
    "a namespace": ({"tenant": "x"}, "unknown-field", "/tenant"),
    "an empty definition": ({"definitionKey": ""}, "validation", "/definitionKey"),
    "a long definition": ({"definitionKey": "x" * 201}, "validation", "/definitionKey"),
    "a line end in a definition": ({"definitionKey": "mail\n"}, "validation", "/definitionKey"),
    "a path as a definition": ({"definitionKey": "../x"}, "validation", "/definitionKey"),
    "a number as a definition": ({"definitionKey": 7}, "validation", "/definitionKey"),
    "null as a definition": ({"definitionKey": None}, "validation", "/definitionKey"),
    "an unknown definition": ({"definitionKey": "nope"}, "unknown-definition", "/definitionKey"),
    "a reserved definition": ({"definitionKey": "system.prune"}, "validation", "/definitionKey"),
    "an unknown version": ({"definitionVersion": 7}, "unknown-definition", "/definitionKey"),
    "version 0": ({"definitionVersion": 0}, "validation", "/definitionVersion"),
    "version -1": ({"definitionVersion": -1}, "validation", "/definitionVersion"),
    "version 1.0": ({"definitionVersion": 1.0}, "validation", "/definitionVersion"),
    "version as text": ({"definitionVersion": "1"}, "validation", "/definitionVersion"),
    "version 2^31": ({"definitionVersion": 2**31}, "validation", "/definitionVersion"),
    "priority as text": ({"priority": "5"}, "validation", "/priority"),
    "priority 5.5": ({"priority": 5.5}, "validation", "/priority"),
    "priority true": ({"priority": True}, "validation", "/priority"),
    "priority 10^9": ({"priority": 10**9}, "validation", "/priority"),
    "maxAttempts 0": ({"maxAttempts": 0}, "validation", "/maxAttempts"),
    "maxAttempts -1": ({"maxAttempts": -1}, "validation", "/maxAttempts"),
    "maxAttempts 10^6": ({"maxAttempts": 10**6}, "validation", "/maxAttempts"),
    "maxAttempts null": ({"maxAttempts": None}, "validation", "/maxAttempts"),
    "timeout 0": ({"timeoutSeconds": 0}, "validation", "/timeoutSeconds"),
    "timeout -1": ({"timeoutSeconds": -1}, "validation", "/timeoutSeconds"),
    "timeout too long": ({"timeoutSeconds": 604_801}, "validation", "/timeoutSeconds"),
    "timeout too fine": ({"timeoutSeconds": 1.00001}, "validation", "/timeoutSeconds"),
    "a time without zone": ({"runAt": "2030-01-01T00:00:00"}, "datetime", "/runAt"),
    "Feb 30": ({"runAt": "2030-02-30T00:00:00Z"}, "datetime", "/runAt"),
    "second 60": ({"runAt": "2030-01-01T00:00:60Z"}, "datetime", "/runAt"),
    "tomorrow": ({"runAt": "tomorrow"}, "datetime", "/runAt"),
    "a week date": ({"runAt": "2030-W01-1T00:00:00Z"}, "datetime", "/runAt"),
    "an epoch number": ({"runAt": 1_900_000_000}, "datetime", "/runAt"),
    "beyond the horizon": ({"runAt": "2126-01-01T00:00:00Z"}, "datetime", "/runAt"),
    "before the calendar": ({"runAt": "1969-01-01T00:00:00Z"}, "datetime", "/runAt"),
    "a delay below 0": ({"delaySeconds": -1}, "validation", "/delaySeconds"),
    "a delay too long": ({"delaySeconds": 1e300}, "validation", "/delaySeconds"),
    "a delay and a time": (
        {"delaySeconds": 1, "runAt": "2030-01-01T00:00:00Z"},
        "validation",
        "/delaySeconds",
    ),
    "params that do not fit": ({"params": {"to": 5}}, "invalid-params", "/params/to"),
    "params that are too many": ({"params": {"cc": "x"}}, "invalid-params", "/params/cc"),
    "params that are a list": ({"params": []}, "invalid-params", "/params"),
    "params that are null": ({"params": None}, "invalid-params", "/params"),
    "params that are too large": ({"params": {"to": "x" * 262_144}}, "validation", "/params"),
    "an empty key": ({"idempotencyKey": ""}, "idempotency-key", "/idempotencyKey"),
    "a long key": ({"idempotencyKey": "x" * 256}, "idempotency-key", "/idempotencyKey"),
    "a control character in a key": ({"idempotencyKey": "a\x07"}, "idempotency-key", "/idempotencyKey"),
    "a queue that is no name": ({"queue": "a b"}, "validation", "/queue"),
    "too many tags": ({"tags": [f"t{n}" for n in range(21)]}, "validation", "/tags"),
    "hold as a number": ({"hold": 1}, "validation", "/hold"),
}


async def test_a_job_that_cannot_be_taken_is_refused_and_leaves_nothing(api: Api, store: Store) -> None:
    """S2.24, and rows 20 to 28 and 30."""
    replies = {name: await api.post("/v1/jobs", {**MAIL, **body}) for name, (body, _, _) in BAD.items()}
    found = {
        name: (reply.status, reply.kind, reply.json["errors"][0]["pointer"])
        for name, reply in replies.items()
    }
    assert found == {name: (422, kind, pointer) for name, (_, kind, pointer) in BAD.items()}
    assert not (await store.page(EVERY_JOB)).jobs
    assert not api.bugs


async def test_a_definition_must_be_named(api: Api) -> None:
    """Row 21."""
    reply = await api.post("/v1/jobs", {"params": {}})
    assert (reply.status, reply.kind) == (422, "validation")


async def test_a_key_binds_what_was_asked(api: Api, store: Store) -> None:
    """S0.44, and rows 31, 32 and 34."""
    body = {**MAIL, "params": {"to": "ada"}, "idempotencyKey": "k"}
    first = await api.post("/v1/jobs", body)
    respelled = b'{ "idempotencyKey": "k", "params": {"to": "ada"},  "definitionKey": "mail"}'
    for again in (
        await api.post("/v1/jobs", body),
        await api.post("/v1/jobs", content=respelled, headers={"content-type": "application/json"}),
    ):
        assert (again.status, again.json) == (202, first.json)
    reused = await api.post("/v1/jobs", {**body, "params": {"to": "bob"}})
    assert (reused.status, reused.kind) == (422, "idempotency-key-reused")
    other = await api.post("/v1/jobs", {"definitionKey": "bill", "idempotencyKey": "k"})
    assert other.json["jobId"] != first.json["jobId"]
    assert len((await store.page(EVERY_JOB)).jobs) == 2


@pytest.mark.both_stores
async def test_a_hundred_at_once_with_one_key_are_one_job(api: Api, store: Store) -> None:
    """S0.56, and row 33."""
    replies = await asyncio.gather(
        *(api.post("/v1/jobs", {**MAIL, "idempotencyKey": "k"}) for _ in range(100))
    )
    assert {reply.status for reply in replies} == {202}
    assert len({reply.json["jobId"] for reply in replies}) == 1


async def test_a_batch_is_recorded_in_its_order(api: Api, store: Store) -> None:
    jobs = [{**MAIL, "params": {"to": str(n)}} for n in range(300)]
    reply = await api.post("/v1/jobs/batch", {"jobs": jobs})
    assert reply.status == 202
    for n in (0, 150, 299):
        job = await found(store, UUID(reply.json["items"][n]["jobId"]))
        assert job.params == f'{{"to":"{n}"}}'


async def test_a_batch_may_be_large(api: Api) -> None:
    """Ten thousand jobs in more than a MiB."""
    jobs = [{**MAIL, "params": {"to": "x" * 100}} for _ in range(10_000)]
    reply = await api.post("/v1/jobs/batch", {"jobs": jobs})
    assert reply.status == 202
    assert len({item["jobId"] for item in reply.json["items"]}) == 10_000


async def test_a_batch_is_taken_whole_or_not_at_all(api: Api, store: Store) -> None:
    """Row 35: none, too many, or one that is wrong, which is named."""
    good, bad = MAIL, {**MAIL, "params": {"to": 5}}
    for jobs, pointer in (
        ([], "/jobs"),
        ([good] * 10_001, "/jobs"),
        ([good, good, bad], "/jobs/2/params/to"),
        ([good, {**good, "priority": 32_768}], "/jobs/1/priority"),
        ([good, {**good, "idempotencyKey": "a\nb"}], "/jobs/1/idempotencyKey"),
        ([{"definitionKey": "nope"}, good], "/jobs/0/definitionKey"),
    ):
        reply = await api.post("/v1/jobs/batch", {"jobs": jobs})
        assert reply.status == 422
        assert reply.json["errors"][0]["pointer"] == pointer
    assert not (await store.page(EVERY_JOB)).jobs


async def test_every_job_of_a_batch_that_cannot_be_taken_is_told(api: Api, store: Store) -> None:
    """Row 35: by its place, and nothing is recorded."""
    first = (await api.post("/v1/jobs", {**MAIL, "idempotencyKey": "k"})).json["jobId"]
    for bad, code, pointers in (
        ({"priority": 32_768}, "validation", "/jobs/{}/priority"),
        ({"state": "queued"}, "unknown-field", "/jobs/{}/state"),
        ({"params": {"to": 5}}, "invalid-params", "/jobs/{}/params/to"),
        ({"params": {"to": "x" * 262_144}}, "validation", "/jobs/{}/params"),
        ({"runAt": "2126-01-01T00:00:00Z"}, "datetime", "/jobs/{}/runAt"),
        ({"definitionKey": "nope"}, "unknown-definition", "/jobs/{}/definitionKey"),
        ({"params": {"to": "b"}, "idempotencyKey": "k"}, "idempotency-key-reused", "/jobs/{}/idempotencyKey"),
    ):
        reply = await api.post("/v1/jobs/batch", {"jobs": [MAIL, {**MAIL, **bad}, MAIL, {**MAIL, **bad}]})
        assert (reply.status, reply.kind) == (422, code)
        found = [(error["code"], error["pointer"]) for error in reply.json["errors"]]
        assert found == [(code, pointers.format(1)), (code, pointers.format(3))]
    assert [str(job.id) for job in (await store.page(EVERY_JOB)).jobs] == [first]


async def test_a_key_twice_in_a_batch_is_one_job_or_none(api: Api, store: Store) -> None:
    """S0.44: the same wish twice is one job; two wishes under one key are refused."""
    one, other = ({**MAIL, "idempotencyKey": "k", "params": {"to": name}} for name in ("ada", "bob"))
    reply = await api.post("/v1/jobs/batch", {"jobs": [MAIL, one, other]})
    assert (reply.status, reply.kind) == (422, "idempotency-key-reused")
    assert "another job of this request" in reply.json["detail"]
    assert not (await store.page(EVERY_JOB)).jobs
    reply = await api.post("/v1/jobs/batch", {"jobs": [one, MAIL, one]})
    assert (reply.status, reply.json["items"][0]) == (202, reply.json["items"][2])
    assert (await api.post("/v1/jobs/batch", {"jobs": [one]})).json["items"] == reply.json["items"][:1]


async def test_a_batch_with_keys_of_an_earlier_version_is_the_same_batch(api: Api, store: Store) -> None:
    """A caller who names no version has asked for the same after a deploy."""
    body = {"definitionKey": "report", "idempotencyKey": "k"}
    await register(store, Spec(key="report"))
    first = await api.post("/v1/jobs/batch", {"jobs": [body]})
    await register(store, Spec(key="report", version=2))
    again = await api.post("/v1/jobs/batch", {"jobs": [{**body, "definitionVersion": 1}, body]})
    assert again.status == 202
    assert again.json["items"][1] == first.json["items"][0]


async def test_a_finished_job_is_run_again_as_a_new_one(api: Api, store: Store) -> None:
    first = (await api.post("/v1/jobs", {**MAIL, "params": {"to": "ada"}})).json["jobId"]
    [claimed] = await claim(store)
    await settle(store, [unrecoverable(claimed)])
    reply = await api.post(f"/v1/jobs/{first}/replay")
    assert (reply.status, reply.json["status"]) == (202, "queued")
    again = await found(store, UUID(reply.json["jobId"]))
    assert (str(again.replay_of), again.params) == (first, '{"to":"ada"}')
    assert (await api.post(f"/v1/jobs/{first}/replay")).json == reply.json
    forced = await api.post(f"/v1/jobs/{first}/replay", {"force": True, "params": {"to": "bob"}})
    assert (await found(store, UUID(forced.json["jobId"]))).params == '{"to":"bob"}'
    refused = await api.post(f"/v1/jobs/{first}/replay", {"params": {"to": 5}})
    assert (refused.status, refused.kind) == (422, "invalid-params")


async def test_a_job_that_has_not_ended_is_not_run_again(api: Api, store: Store) -> None:
    """Row 46."""
    job = (await api.post("/v1/jobs", MAIL)).json["jobId"]
    reply = await api.post(f"/v1/jobs/{job}/replay")
    assert (reply.status, reply.kind) == (409, "job-unfinished")
    [claimed] = await claim(store)
    await settle(store, [succeeded(claimed)])
    assert (await found(store, UUID(job))).state is State.SUCCEEDED
    assert (await api.post(f"/v1/jobs/{job}/replay")).status == 202
