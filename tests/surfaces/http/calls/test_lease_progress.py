"""Progress over HTTP: what a worker elsewhere keeps, and what the next attempt finds."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tenure.core.model.durable import Signal
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import found, state_of
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply
from tests.surfaces.http.http_worker import Leased, add, is_lost, lease, one

LONG = "x" * 5_000
"""A result that is too long to be brought along with the others."""


async def put(held: Leased, what: str, **body: Any) -> Reply:
    sent = {"token": held.lease["token"], **body}
    return await held.api.call("PUT", f"/v1/leases/{held.job}/{what}", sent, **held.extra)


async def fetch(held: Leased, what: str = "steps", token: str | None = None) -> Reply:
    query = f"?token={token or held.lease['token']}"
    return await held.api.get(f"/v1/leases/{held.job}/{what}{query}", **held.extra)


def _id(held: Leased) -> UUID:
    return UUID(held.job)


async def again(held: Leased) -> Leased:
    """The next attempt of a job."""
    [following] = await lease(held.api, "node-2", extra=held.extra)
    assert following.job == held.job
    return following


async def test_a_later_attempt_finds_what_an_earlier_one_kept(api: Api, store: Store) -> None:
    """S0.7, S2.30: steps with results, the state, and the signals; the job goes on where it was."""
    held = await one(api, store)
    assert (await fetch(held)).json == {
        "jobId": held.job,
        "steps": [],
        "state": None,
        "signals": {},
        "longSignals": [],
    }
    reply = await put(held, "steps/plan", result={"parts": 2}, call="plan-1")
    assert (reply.status, reply.json) == (200, {"jobId": held.job, "name": "plan", "status": "done"})
    assert (await put(held, "steps/fetch%20all%232", result=LONG)).status == 200
    assert (await put(held, "steps/clean")).status == 200
    for state in (1, {"page": 3}):
        reply = await put(held, "state", state=state)
        assert (reply.status, reply.json) == (200, {"jobId": held.job})
    told = [Signal(name="go", by="ann", body=Document("[1]")), Signal(name="big", by="ann")]
    for sent in told:
        await store.signal(_id(held), sent)
    assert (await held.call("release")).status == 200

    following = await again(held)
    known = (await fetch(following)).json
    plan, fetched, clean = known["steps"]
    assert plan == {
        "name": "plan",
        "kind": "step",
        "status": "done",
        "fence": int(held.lease["token"].partition(".")[0]),
        "call": "plan-1",
        "result": {"parts": 2},
        "isLong": False,
        "until": None,
        "isOver": False,
    }
    assert (fetched["name"], fetched["result"], fetched["isLong"]) == ("fetch all#2", None, True)
    assert (clean["result"], clean["isLong"]) == (None, False)
    assert (known["state"], known["signals"]) == ({"page": 3}, {"go": [1], "big": None})
    whole = await fetch(following, "steps/fetch%20all%232")
    assert (whole.status, whole.json["result"], whole.json["isLong"]) == (200, LONG, False)
    signal = await fetch(following, "signals/go")
    assert signal.json == {"name": "go", "payload": [1]}
    assert (await fetch(following, "steps/none")).kind == "not-found"
    assert (await fetch(following, "signals/none")).kind == "not-found"


async def test_a_step_is_kept_once_and_never_changes(api: Api, store: Store) -> None:
    """The same again, after a lost answer, is kept; another result is not, nor a second beginning."""
    held = await one(api, store)
    for _ in range(2):
        assert (await put(held, "steps/charge", kind="once", status="intended")).status == 200
    for _ in range(2):
        assert (await put(held, "steps/charge", kind="once", result={"id": 1})).status == 200
    for body in ({"kind": "once", "result": {"id": 2}}, {"kind": "once", "status": "intended"}):
        reply = await put(held, "steps/charge", **body)
        assert (reply.status, reply.kind) == (409, "step-differs"), body
    [step] = (await fetch(held)).json["steps"]
    assert (step["status"], step["result"]) == ("done", {"id": 1})


async def test_a_lost_lease_keeps_and_finds_nothing(api: Api, store: Store, clock: Clock) -> None:
    """S0.14: late is late, even before the job was taken back."""
    held = await one(api, store)
    assert (await put(held, "steps/plan")).status == 200
    await clock.advance(timedelta(seconds=31))
    assert is_lost(await put(held, "steps/late"))
    assert is_lost(await put(held, "state", state=1))
    assert is_lost(await fetch(held))
    assert is_lost(await held.call("suspend", forSeconds=1))
    assert (await fetch(held, "steps/plan")).kind == "not-found"
    assert [step.name for step in await store.steps(_id(held))] == ["plan"]


async def test_nobody_speaks_for_a_lease_of_another_key(api: Api, store: Store) -> None:
    own = bearing(await make(store, "work"))
    job = await add(api, extra=bearing(await make(store, "operate")))
    [held] = await lease(api, extra=own)
    stolen = Leased(api, held.lease, bearing(await make(store, "admin")))
    assert is_lost(await put(stolen, "steps/plan"))
    assert is_lost(await put(stolen, "state", state=1))
    assert is_lost(await fetch(stolen))
    assert is_lost(await stolen.call("suspend", forSeconds=1))
    narrow = Leased(api, held.lease, bearing(await make(store, "work", definitions=("bill",))))
    assert (await fetch(narrow)).status == 404
    reader = Leased(api, held.lease, bearing(await make(store, "read")))
    assert (await fetch(reader)).status == 403
    assert (await fetch(held)).json["jobId"] == job


async def test_a_pause_gives_the_job_back_without_an_attempt(api: Api, store: Store, clock: Clock) -> None:
    """A job that waits holds no slot, and asked again the same answer comes."""
    held = await one(api, store)
    replies = [await held.call("suspend", forSeconds=60) for _ in range(2)]
    assert [(reply.status, reply.json["status"]) for reply in replies] == [(200, "suspended")] * 2
    job = await found(store, _id(held))
    assert job.attempt == 0
    await clock.advance(timedelta(seconds=61))
    await store.promote(10)
    following = await again(held)
    [pause] = (await fetch(following)).json["steps"]
    assert (pause["kind"], pause["isOver"], pause["name"]) == (
        "sleep",
        True,
        f"sleep:{held.lease['token'].partition('.')[0]}",
    )
    # The next pause is another one.
    assert (await following.call("suspend", forSeconds=60)).json["status"] == "suspended"
    attempts = await store.attempts(job.id)
    assert [attempt.ending for attempt in attempts] == [Ending.SUSPENDED, Ending.SUSPENDED]


async def test_a_job_waits_for_a_signal_or_for_its_time(api: Api, store: Store, clock: Clock) -> None:
    held = await one(api, store)
    assert (await held.call("suspend", signal="go", timeoutSeconds=60)).json["status"] == "suspended"
    [listed] = (await api.get("/v1/jobs?waitingFor=go")).json["items"]
    assert listed["jobId"] == held.job
    reply = await api.post(f"/v1/jobs/{held.job}/signals/go", {"payload": "now"})
    assert reply.json["status"] == "queued"
    following = await again(held)
    assert (await fetch(following)).json["signals"] == {"go": "now"}
    # What is there already is not waited for.
    assert (await following.call("suspend", signal="go")).json["status"] == "queued"
    third = await again(following)
    assert (await put(third, "steps/wait:go", kind="wait", result="now")).status == 200
    assert (await third.call("suspend", signal="stop", timeoutSeconds=60)).json["status"] == "suspended"
    await clock.advance(timedelta(seconds=61))
    await store.promote(10)
    over = {step["name"]: step["isOver"] for step in (await fetch(await again(third))).json["steps"]}
    assert over == {"wait:go": False, "wait:stop": True}


async def test_a_job_that_is_to_stop_ends_instead_of_waiting(api: Api, store: Store, clock: Clock) -> None:
    held = await one(api, store)
    await store.cancel([_id(held)])
    assert (await held.call("suspend", forSeconds=60)).json["status"] == "cancelled"
    assert await state_of(store, _id(held)) is State.CANCELLED


async def test_what_cannot_be_kept_is_refused_with_its_place(api: Api, store: Store) -> None:
    held = await one(api, store)
    for what, body, place in (
        ("steps/plan", {"result": "x" * 270_000}, "/result"),
        ("steps/plan", {"status": "intended", "result": 1}, "/result"),
        ("steps/plan", {"kind": "transaction"}, "/kind"),
        ("steps/plan", {"status": "waiting"}, "/status"),
        ("steps/plan", {"call": "a b"}, "/call"),
        ("state", {}, "/state"),
        ("state", {"state": "x" * 270_000}, "/state"),
    ):
        reply = await put(held, what, **body)
        assert (reply.status, reply.json["errors"][0].get("pointer")) == (422, place), (what, reply)
    waits: tuple[tuple[dict[str, object], str], ...] = (
        ({}, "/forSeconds"),
        ({"forSeconds": 1, "signal": "go"}, "/forSeconds"),
        ({"forSeconds": 1, "timeoutSeconds": 1}, "/timeoutSeconds"),
        ({"forSeconds": -1}, "/forSeconds"),
        ({"signal": "a/b"}, "/signal"),
    )
    for wait, place in waits:
        reply = await held.call("suspend", **wait)
        assert (reply.status, reply.json["errors"][0].get("pointer")) == (422, place), wait
    for path, parameter in (
        (f"/v1/leases/{held.job}/steps", "token"),
        (f"/v1/leases/{held.job}/steps?token=1", "token"),
        (f"/v1/leases/{held.job}/steps/a%2Fb?token={held.lease['token']}", "step"),
    ):
        reply = await api.get(path)
        assert (reply.status, reply.json["errors"][0].get("parameter")) == (422, parameter), path
    assert (await fetch(held)).json["steps"] == []
    assert await state_of(store, _id(held)) is State.RUNNING
