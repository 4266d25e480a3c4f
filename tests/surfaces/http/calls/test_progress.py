"""The control API's calls about progress: steps, signals, and effects in doubt."""

from urllib.parse import quote
from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests import canaries
from tests.storage.progress import asking, begin, in_doubt, keep, wait_for, waiting
from tests.storage.verbs import claim, enqueue_one, job_in, record_of, settle, state_of, succeeded
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY


async def test_the_steps_of_a_job_come_in_their_order_and_a_page_at_a_time(api: Api, store: Store) -> None:
    """S0.7: what a job has kept is there for everybody to see, secrets left out."""
    job = await enqueue_one(store)
    [held] = await claim(store)
    for n in range(5):
        await keep(store, held, f"part {4 - n}", f'{{"n":{n},"password":"{canaries.PARAM}"}}')
    path, seen, cursor = f"/v1/jobs/{job}/steps", [], ""
    for expected in (2, 2, 1):
        page = (await api.get(f"{path}?limit=2{cursor}")).json
        assert len(page["items"]) == expected
        seen += page["items"]
        assert (page["nextCursor"] is None) == (expected == 1)
        cursor = f"&cursor={page['nextCursor']}"
    assert [step["name"] for step in seen] == [f"part {4 - n}" for n in range(5)]
    assert seen[0] == {
        "name": "part 4",
        "kind": "step",
        "status": "done",
        "fence": held.lease.fence,
        "at": "2030-01-01T12:00:00Z",
        "until": None,
        "size": len(f'{{"n":0,"password":"{canaries.PARAM}"}}'),
        "result": {"n": 0, "password": "[redacted]"},
        "answeredBy": None,
        "inDoubt": False,
    }
    other = await enqueue_one(store)
    wrong = (await api.get(f"{path}?limit=2")).json["nextCursor"]
    assert (await api.get(f"/v1/jobs/{other}/steps?cursor={wrong}")).kind == "invalid-cursor"
    assert (await api.get(f"/v1/jobs/{NOBODY}/steps")).kind == "not-found"
    assert (await api.get(f"/v1/jobs/{other}/steps")).json == {"items": [], "nextCursor": None}


async def test_a_job_tells_what_it_waits_for_and_which_effects_are_in_doubt(api: Api, store: Store) -> None:
    """An effect under way is in no doubt yet."""
    job = await waiting(store)
    detail = (await api.get(f"/v1/jobs/{job}")).json
    assert detail["waitingFor"] == {
        "kind": "signal",
        "step": "wait:approved",
        "signal": "approved",
        "since": "2030-01-01T12:00:00Z",
        "until": None,
    }
    assert (detail["status"], detail["keptSteps"], detail["effectsInDoubt"]) == ("suspended", 2, [])

    running = await enqueue_one(store)
    [held] = await claim(store)
    await begin(store, held, "charge")
    detail = (await api.get(f"/v1/jobs/{running}")).json
    assert (detail["waitingFor"], detail["effectsInDoubt"]) == (None, [])
    doubtful = await in_doubt(store, "refund")
    detail = (await api.get(f"/v1/jobs/{doubtful}")).json
    assert detail["effectsInDoubt"] == [{"step": "refund", "since": "2030-01-01T12:00:00Z"}]
    [step] = (await api.get(f"/v1/jobs/{doubtful}/steps")).json["items"]
    assert (step["status"], step["kind"], step["inDoubt"]) == ("intended", "once", True)


@pytest.mark.parametrize("payload", [{}, {"payload": {"by": "ann", "n": 1}}], ids=["null", "object"])
async def test_a_signal_resumes_the_job_that_waits_for_it_and_is_kept_once(
    api: Api, store: Store, payload: dict[str, object]
) -> None:
    """The same again gets the same answer and changes nothing; another payload does not count."""
    key = await make(store, "operate")
    job = await waiting(store)
    path = f"/v1/jobs/{job}/signals/approved"
    first = await api.post(path, payload, **bearing(key))
    assert (first.status, first.json) == (202, {"jobId": str(job), "status": "queued"})
    assert first.headers["location"] == f"/v1/jobs/{job}"
    last = (await store.events(job))[-1]
    assert (last.type, last.actor) == ("resumed", key[4:14])
    before = await record_of(store, job)
    again = await api.post(path, payload, **bearing(key))
    assert (again.status, again.json) == (first.status, first.json)
    other = await api.post(path, {"payload": "no"}, **bearing(key))
    assert (other.status, other.kind, other.json["jobStatus"]) == (409, "signal-differs", "queued")
    assert await record_of(store, job) == before
    [kept] = await store.signals(job)
    assert kept.body == ('{"by":"ann","n":1}' if payload else "null")
    if not payload:
        assert (await api.post(path, **bearing(key))).status == 202


async def test_a_signal_that_comes_first_is_there_when_the_job_waits(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    assert (await api.post(f"/v1/jobs/{job}/signals/approved", {"payload": True})).json["status"] == "queued"
    [held] = await claim(store)
    assert await wait_for(store, held, "approved") is State.QUEUED


async def test_a_signal_that_cannot_be_kept_is_refused_with_the_reason(api: Api, store: Store) -> None:
    """A job that has ended, or is unknown, takes none; nor can everything be a name, or a payload."""
    ended = await job_in(store, State.SUCCEEDED)
    reply = await api.post(f"/v1/jobs/{ended}/signals/approved", {"payload": 1})
    assert (reply.status, reply.kind, reply.json["jobStatus"]) == (409, "job-terminal", "succeeded")
    assert (await api.post(f"/v1/jobs/{NOBODY}/signals/approved", {})).status == 404
    job = await waiting(store)
    before = await record_of(store, job)
    for name, body, status, place in (
        ("a" * 201, {}, 422, ("parameter", "signal")),
        ("a%2Fb", {}, 422, ("parameter", "signal")),
        ("%0A", {}, 422, ("parameter", "signal")),
        ("approved", {"payload": "x" * 270_000}, 422, ("pointer", "/payload")),
        ("approved", {"data": 1}, 422, ("pointer", "/data")),
        ("approved", [], 422, ("pointer", "")),
    ):
        reply = await api.post(f"/v1/jobs/{job}/signals/{name}", body)
        [fault] = reply.json["errors"]
        assert (reply.status, fault.get(place[0], "")) == (status, place[1]), name
    assert await record_of(store, job) == before
    assert (await api.get(f"/v1/jobs/{job}/signals/approved")).status == 405


async def test_an_answer_ends_the_doubt_and_the_job_goes_on(api: Api, store: Store) -> None:
    """S2.30: an effect that may have happened is not run again before somebody has said so."""
    job = await asking(store)
    assert (await api.get(f"/v1/jobs/{job}")).json["waitingFor"]["kind"] == "answer"
    path, body = f"/v1/jobs/{job}/effects/charge", {"happened": True, "result": {"id": 7}}
    replies = [await api.post(path, body) for _ in range(2)]
    assert [(reply.status, reply.json["status"]) for reply in replies] == [(202, "queued")] * 2
    [step] = (await api.get(f"/v1/jobs/{job}/steps")).json["items"]
    assert (step["status"], step["result"], step["inDoubt"]) == ("done", {"id": 7}, False)
    late = await api.post(path, {"happened": False})
    assert (late.status, late.kind) == (409, "not-in-doubt")


async def test_what_did_not_happen_is_tried_again(api: Api, store: Store) -> None:
    job = await asking(store, "charge#2")
    reply = await api.post(f"/v1/jobs/{job}/effects/{quote('charge#2')}", {"happened": False})
    assert (reply.status, reply.json["status"]) == (202, "queued")
    [step] = (await api.get(f"/v1/jobs/{job}/steps")).json["items"]
    assert (step["name"], step["status"], step["result"]) == ("charge#2", "cleared", None)


async def test_an_effect_of_a_dead_letter_is_answered_without_moving_it(api: Api, store: Store) -> None:
    job = await in_doubt(store)
    reply = await api.post(f"/v1/jobs/{job}/effects/charge", {"happened": True})
    assert (reply.status, reply.json["status"]) == (202, "failed")
    assert (await api.get(f"/v1/jobs/{job}")).json["effectsInDoubt"] == []
    [entry, *_] = await store.audit_entries()
    assert (entry.entry.action, entry.entry.target) == (
        "POST /v1/jobs/{jobId}/effects/{effect}",
        f"{job}/charge",
    )


async def test_an_answer_that_makes_no_sense_is_refused(api: Api, store: Store) -> None:
    job = await in_doubt(store)
    for body, pointer in (
        ({}, "/happened"),
        ({"happened": "yes"}, "/happened"),
        ({"happened": False, "result": 1}, "/result"),
        ({"happened": True, "result": "x" * 270_000}, "/result"),
        ({"happened": True, "by": "ann"}, "/by"),
    ):
        reply = await api.post(f"/v1/jobs/{job}/effects/charge", body)
        assert (reply.status, reply.json["errors"][0]["pointer"]) == (422, pointer), body
    assert (await api.post(f"/v1/jobs/{job}/effects/refund", {"happened": True})).kind == "not-in-doubt"
    assert (await api.post(f"/v1/jobs/{NOBODY}/effects/charge", {"happened": True})).status == 404
    [step] = await store.steps(job)
    assert step.status == "intended"


async def test_jobs_are_found_by_the_signal_that_they_wait_for(api: Api, store: Store) -> None:
    """Together with other filters, in both orders, a page at a time; one that waits no more is left out."""
    jobs = [await waiting(store) for _ in range(3)]
    await waiting(store, "paid")
    gone = await waiting(store)
    assert (await api.post(f"/v1/jobs/{gone}/signals/approved")).status == 202
    for sort, order in (("createdAt", jobs), ("-createdAt", jobs[::-1])):
        found: list[str] = []
        cursor = ""
        while True:
            page = (await api.get(f"/v1/jobs?waitingFor=approved&limit=2&sort={sort}{cursor}")).json
            found += [item["jobId"] for item in page["items"]]
            if page["nextCursor"] is None:
                break
            cursor = f"&cursor={page['nextCursor']}"
        assert found == list(map(str, order))
    assert (await api.get("/v1/jobs?waitingFor=approved&definitionKey=bill")).json["items"] == []
    assert (await api.get("/v1/jobs?waitingFor=approved&status=queued")).json["items"] == []
    assert len((await api.get("/v1/jobs?waitingFor=approved&definitionKey=mail")).json["items"]) == 3
    assert (await api.get("/v1/jobs?waitingFor=a%23b")).json["errors"][0]["parameter"] == "waitingFor"


async def test_nobody_tells_jobs_that_it_may_not_see_or_change(api: Api, store: Store) -> None:
    """Another namespace is as unknown as no job; a reader may look on."""
    operator = await make(store, "operate", namespace="theirs")
    reader, submitter = await make(store, "read"), await make(store, "submit")
    job = await waiting(store)
    doubtful = await in_doubt(store)
    for path in (f"/v1/jobs/{job}/signals/approved", f"/v1/jobs/{doubtful}/effects/charge"):
        body = {"happened": True} if "effects" in path else {}
        for key, status in ((operator, 404), (reader, 403), (submitter, 403)):
            assert (await api.post(path, body, **bearing(key))).status == status
    assert (await api.get(f"/v1/jobs/{job}/steps", **bearing(operator))).status == 404
    assert (await api.get(f"/v1/jobs/{job}/steps", **bearing(reader))).status == 200
    assert (await api.get("/v1/jobs?waitingFor=approved", **bearing(operator))).json["items"] == []
    assert await state_of(store, job) is State.SUSPENDED


async def test_a_replay_begins_without_what_was_kept(api: Api, store: Store) -> None:
    job = await enqueue_one(store, params=Document("{}"))
    [held] = await claim(store)
    await keep(store, held, "plan")
    await settle(store, [succeeded(held)])
    replay = (await api.post(f"/v1/jobs/{job}/replay")).json["jobId"]
    assert (await api.get(f"/v1/jobs/{replay}/steps")).json["items"] == []
    assert len(await store.steps(UUID(str(job)))) == 1
