"""A queue with a bound takes no more when it is full, and forgets nothing that it has taken."""

import asyncio
import re

import pytest

from tenure.core.model.spec import Spec
from tenure.engine.client import quota
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tests.storage.verbs import EVERY_JOB, claim, settle, unrecoverable
from tests.surfaces.http.http_server import Reply, register, serving
from tests.surfaces.store_behind import MAIL
from tests.until import until

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "wish"}
ORDER = {"definitionKey": "mail", "params": {"to": "ada"}, "idempotencyKey": "order"}
MORE = {"definitionKey": "mail"}


def is_refused(reply: Reply, detail: str = "the queue default is full") -> bool:
    """Whether a full queue was the reason; then the answer says when to try again."""
    return (
        (reply.status, reply.status == 429 and reply.kind) == (429, "quota")
        and int(reply.headers["retry-after"]) > 0
        and reply.json["detail"].startswith(detail)
    )


@pytest.fixture(autouse=True)
async def known(store: Store) -> None:
    """The store knows of two definitions, one of them for another queue."""
    await register(store, MAIL, Spec(key="bill", queue="slow"))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers look at a queue for every request, and not once a second."""
    monkeypatch.setattr(quota, "FRESH", -1.0)


async def test_a_full_queue_takes_no_more(store: Store) -> None:
    """Row 37: on every way to make a job; the queue beside it does."""
    async with serving(store, max_queue_depth=2) as api:
        assert [(await api.post("/jobs", WISH)).status, (await api.post("/v1/jobs", ORDER)).status] == [
            202
        ] * 2
        before = len((await store.page(EVERY_JOB)).jobs)
        assert is_refused(await api.post("/jobs", {**WISH, "idempotencyKey": "other"}), "as many jobs wait")
        assert is_refused(await api.post("/v1/jobs", MORE))
        assert is_refused(await api.post("/v1/jobs", {**ORDER, "queue": "default", "idempotencyKey": "k"}))
        assert is_refused(await api.post("/v1/jobs/batch", {"jobs": [{"definitionKey": "bill"}, MORE]}))
        assert len((await store.page(EVERY_JOB)).jobs) == before
        assert (await api.post("/v1/jobs", {"definitionKey": "bill"})).status == 202
        assert not api.bugs


async def test_who_asks_again_for_what_was_taken_is_never_refused(store: Store) -> None:
    """Row 37: a known key is answered with its job, alone or in a batch, and is bound as ever."""
    async with serving(store, max_queue_depth=2) as api:
        wish, order = await api.post("/jobs", WISH), await api.post("/v1/jobs", ORDER)
        assert is_refused(await api.post("/v1/jobs", MORE))
        assert (await api.post("/jobs", WISH)).json == wish.json
        assert (await api.post("/v1/jobs", ORDER)).json == order.json
        again = await api.post("/v1/jobs/batch", {"jobs": [ORDER, ORDER]})
        assert [item["jobId"] for item in again.json["items"]] == [order.json["jobId"]] * 2
        other = await api.post("/v1/jobs", {**ORDER, "params": {"to": "bob"}})
        assert (other.status, other.kind) == (422, "idempotency-key-reused")
        # The key is another one for each of the two.
        assert is_refused(await api.post("/jobs", {**WISH, "idempotencyKey": "order"}), "as many jobs wait")


async def test_when_jobs_have_left_the_line_there_is_room_again(store: Store) -> None:
    """And what came meanwhile by another server counts: each looks at the store, within a second."""
    async with serving(store, max_queue_depth=2) as api, serving(store, max_queue_depth=2) as other:
        assert [(await api.post("/v1/jobs", MORE)).status for _ in range(2)] == [202, 202]
        assert is_refused(await other.post("/v1/jobs", MORE))
        assert len(await claim(store, limit=1)) == 1

        async def is_taken() -> bool:
            return not is_refused(await other.post("/v1/jobs", MORE))

        await until(is_taken)
        assert is_refused(await other.post("/v1/jobs", MORE))


@pytest.mark.usefixtures("fresh")
async def test_a_server_that_looks_knows_of_what_others_took(store: Store) -> None:
    async with serving(store, max_queue_depth=2) as api, serving(store, max_queue_depth=2) as other:
        assert [(await one.post("/v1/jobs", MORE)).status for one in (api, other)] == [202, 202]
        assert is_refused(await api.post("/v1/jobs", MORE))
        assert is_refused(await other.post("/v1/jobs", MORE))


async def test_a_crowd_costs_one_look(store: Store) -> None:
    """However many ask at once, and however many of them are refused."""
    metrics = ApiMetrics()
    async with serving(store, max_queue_depth=2, metrics=metrics) as api:
        replies = await asyncio.gather(*(api.post("/v1/jobs", MORE) for _ in range(20)))
        assert sum(reply.status == 202 for reply in replies) >= 2
        answer = (await metrics.text()).decode()
    looks = re.search(r'^tenure_store_seconds_count\{verb="depth"\} (\d+)', answer, re.MULTILINE)
    assert looks is not None
    assert int(looks[1]) <= 2  # it may take the crowd more than a second


async def test_what_is_not_in_line_does_not_fill_it(store: Store) -> None:
    async with serving(store, max_queue_depth=1) as api:
        for _ in range(3):
            assert (await api.post("/v1/jobs", {**MORE, "hold": True})).status == 202
            assert (await api.post("/v1/jobs", {**MORE, "delaySeconds": 60})).status == 202
        assert (await api.post("/v1/jobs", MORE)).status == 202
        assert is_refused(await api.post("/v1/jobs", {**MORE, "hold": True}))


@pytest.mark.usefixtures("fresh")
async def test_a_replay_takes_a_place_like_any_job(store: Store) -> None:
    """Row 37: one that is under way, or was made with this key, is answered all the same."""
    async with serving(store, max_queue_depth=2) as api:
        jobs = [(await api.post("/v1/jobs", MORE)).json["jobId"] for _ in range(2)]
        await settle(store, [unrecoverable(claimed) for claimed in await claim(store, limit=2)])
        first = await api.post(f"/v1/jobs/{jobs[0]}/replay", {"replayKey": "k"})
        assert (await api.post("/v1/jobs", MORE)).status == first.status == 202
        assert is_refused(await api.post(f"/v1/jobs/{jobs[1]}/replay", {}))
        assert is_refused(await api.post("/v1/jobs/replay", {"filter": {"queue": "default"}}))
        for body in ({"replayKey": "k"}, {}):
            again = await api.post(f"/v1/jobs/{jobs[0]}/replay", body)
            assert again.json["jobId"] == first.json["jobId"]
        running = (await api.post(f"/v1/jobs/{first.json['jobId']}/replay", {})).kind
        assert running == "job-unfinished"


@pytest.mark.usefixtures("fresh")
async def test_a_replay_of_many_goes_as_far_as_there_is_room(store: Store) -> None:
    async with serving(store) as free:
        made = await free.post("/v1/jobs/batch", {"jobs": [{**MORE, "tags": ["red"]}] * 201})
        assert made.status == 202
        await settle(store, [unrecoverable(claimed) for claimed in await claim(store, limit=201)])
    async with serving(store, max_queue_depth=3) as api:
        body = {"filter": {"tag": "red"}}
        first = (await api.post("/v1/jobs/replay", body)).json
        # A page is one transaction, and there was room when it began.
        assert (first["matched"], first["changed"], first["remaining"]) == (200, 200, True)
        cursor = {"cursor": first["nextCursor"]}
        assert is_refused(await api.post("/v1/jobs/replay", body | cursor))
        await claim(store, limit=200)
        rest = (await api.post("/v1/jobs/replay", body | cursor)).json
        assert (rest["matched"], rest["changed"], rest["remaining"]) == (1, 1, False)
