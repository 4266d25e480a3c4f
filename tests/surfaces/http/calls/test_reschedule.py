"""The control API's way to give a job that waits another time."""

from datetime import UTC, datetime, timedelta

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import found, job_in, one_in_each_state, path_of, record_of
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY

WAYS_OUT = {
    State.CREATED: "it is held; release it first",
    State.QUEUED: "its time has come; it starts as soon as a worker has room for it",
    State.RUNNING: "it runs; wait for its end, or cancel it",
    State.CANCELLING: "it was asked to stop; replay it when it has ended",
    State.SUSPENDED: "its handler chose when it continues; wait for that, or cancel it",
    State.RETRYING: "it was given up and fails at any moment; replay it then",
}
FAR = (datetime.now(UTC) + timedelta(days=4000)).isoformat()


async def test_a_job_that_waits_is_moved_and_its_history_tells_by_whom(api: Api, store: Store) -> None:
    """Sent twice it is done once; the answer is the state, which stays."""
    key = await make(store, "operate")
    for state in (State.SCHEDULED, State.RETRYING):
        job = await job_in(store, state)
        path, body = f"/v1/jobs/{job}/reschedule", {"runAt": "2035-01-31T08:30:00+02:00"}
        for reply in [await api.post(path, body, **bearing(key)) for _ in range(2)]:
            assert (reply.status, reply.json) == (202, {"jobId": str(job), "status": state})
            assert reply.headers["location"] == f"/v1/jobs/{job}"
        detail = (await api.get(f"/v1/jobs/{job}", **bearing(key))).json
        assert (detail["scheduledAt"], detail["status"]) == ("2035-01-31T06:30:00Z", state)
        assert (await path_of(store, job)).count("rescheduled") == 1
        last = (await api.get(f"/v1/jobs/{job}/events", **bearing(key))).json["items"][-1]
        assert (last["type"], last["actor"], last["source"], last["target"]) == (
            "rescheduled",
            key.split("_")[1],
            state,
            state,
        )
        assert last["payload"]["to"] == "2035-01-31T06:30:00.000000Z"


@pytest.mark.parametrize("body", [{"runAt": "2001-01-01T00:00:00Z"}, {"delaySeconds": 0}])
async def test_now_or_a_time_that_has_passed_lets_it_run_at_once(
    api: Api, store: Store, body: dict[str, object]
) -> None:
    job = await job_in(store, State.SCHEDULED)
    assert (await api.post(f"/v1/jobs/{job}/reschedule", body)).status == 202
    assert [step.job for step in await store.promote(10)] == [job]


async def test_a_job_that_waits_for_no_time_is_refused_with_its_state_and_a_way_out(
    api: Api, store: Store
) -> None:
    jobs = await one_in_each_state(store)
    await store.give_up([jobs[State.RETRYING]])
    del jobs[State.SCHEDULED]
    for state, job in jobs.items():
        before = await record_of(store, job)
        reply = await api.post(f"/v1/jobs/{job}/reschedule", {"delaySeconds": 60})
        kind = "job-terminal" if state.is_final else "job-state"
        assert (reply.status, reply.kind, reply.json["jobStatus"]) == (409, kind, state)
        way_out = WAYS_OUT.get(state, "it has ended; replay it to run it again")
        assert reply.json["detail"] == f"the job is {state} and cannot be rescheduled: {way_out}"
        assert await record_of(store, job) == before


async def test_a_time_that_cannot_be_taken_is_named_and_changes_nothing(api: Api, store: Store) -> None:
    job = await job_in(store, State.SCHEDULED)
    before = await record_of(store, job)
    for body, kind, pointer in (
        ({}, "validation", "/runAt"),
        ({"runAt": "soon"}, "datetime", "/runAt"),
        ({"runAt": "2030-01-31T08:30:00"}, "datetime", "/runAt"),
        ({"runAt": "2030-02-31T08:30:00Z"}, "datetime", "/runAt"),
        ({"runAt": "1969-12-31T23:59:59Z"}, "datetime", "/runAt"),
        ({"runAt": FAR}, "datetime", "/runAt"),
        ({"runAt": None}, "datetime", "/runAt"),
        ({"runAt": 1893456000}, "datetime", "/runAt"),
        ({"delaySeconds": -1}, "validation", "/delaySeconds"),
        ({"delaySeconds": 1e12}, "validation", "/delaySeconds"),
        ({"runAt": "2030-01-31T08:30:00Z", "delaySeconds": 1}, "validation", "/delaySeconds"),
        ({"delaySeconds": 1, "params": {}}, "unknown-field", "/params"),
    ):
        reply = await api.post(f"/v1/jobs/{job}/reschedule", body)
        [fault] = reply.json["errors"]
        assert (reply.status, reply.kind, fault["pointer"]) == (422, kind, pointer), body
    assert (await api.post(f"/v1/jobs/{job}/reschedule")).status == 415
    assert await record_of(store, job) == before


async def test_nobody_moves_what_it_may_not_see_or_change(api: Api, store: Store) -> None:
    """Another namespace is as unknown as no job; a reader may look on."""
    operator = await make(store, "operate", namespace="theirs")
    reader = await make(store, "read")
    job = await job_in(store, State.SCHEDULED)
    theirs = await job_in(store, State.SCHEDULED, namespace="theirs")
    now = {"delaySeconds": 0}
    for which, key, status in (
        (job, operator, 404),
        (NOBODY, operator, 404),
        (job, reader, 403),
        (theirs, operator, 202),
    ):
        assert (await api.post(f"/v1/jobs/{which}/reschedule", now, **bearing(key))).status == status
    assert (await found(store, job)).events == 1
    [entry, *_] = await store.audit_entries()
    assert (entry.entry.action, entry.entry.target) == ("POST /v1/jobs/{jobId}/reschedule", str(theirs))
