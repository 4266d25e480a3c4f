"""The control API's ways to look at jobs."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from tenure.api.dialects.dialect import Move
from tenure.api.dialects.known import DIALECTS
from tenure.core.model.lease import Line, Progress, Pulse
from tenure.core.model.outcome import Succeeded, Unrecoverable
from tenure.core.model.trail import Usage
from tenure.core.reports.reading import Filter
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.calls import bulk, read
from tests.storage.clock import Clock
from tests.storage.verbs import (
    BOOM,
    claim,
    found,
    line,
    note,
    recoverable,
    report,
    settle,
    succeeded,
    trail,
    unrecoverable,
)
from tests.surfaces.http.http_server import Api, Reply, request
from tests.until import until

MAIL = {"definitionKey": "mail"}


async def _create(api: Api, **more: object) -> str:
    reply = await api.post("/v1/jobs", {**MAIL, **more})
    job: str = reply.json["jobId"]
    return job


async def test_a_job_is_shown_with_all_that_operators_need(api: Api, store: Store) -> None:
    """S1.49, S2.22: while it runs."""
    job = await _create(api, params={"to": "ada"}, priority=3)
    [claimed] = await claim(store, worker="w1")
    await store.heartbeat(Pulse(worker="w1", leases=[claimed.lease], progress={claimed.lease: Progress(0.5)}))
    answer = (await api.get(f"/v1/jobs/{job}")).json
    assert (answer["jobId"], answer["definitionKey"], answer["status"]) == (job, "mail", "running")
    assert (answer["attempts"], answer["maxAttempts"], answer["priority"]) == (1, 3, 3)
    assert answer["workerId"] == "w1"
    assert answer["startedAt"]
    assert answer["heartbeatAt"]
    assert (answer["params"], answer["progress"]) == ({"to": "ada"}, {"fraction": 0.5})
    assert "statusWord" not in answer


async def test_a_list_is_paged_to_its_end(api: Api) -> None:
    """S1.51: every job once, newest first or oldest first."""
    made = [await _create(api) for _ in range(7)]
    for sort, wanted in (("-createdAt", set(made)), ("createdAt", set(made))):
        seen: list[str] = []
        cursor = ""
        while True:
            page = (await api.get(f"/v1/jobs?sort={sort}&limit=3{cursor}")).json
            seen += [item["jobId"] for item in page["items"]]
            if page["nextCursor"] is None:
                break
            cursor = f"&cursor={page['nextCursor']}"
        assert len(seen) == 7
        assert set(seen) == wanted
        assert seen == sorted(seen, reverse=sort == "-createdAt")


async def test_a_list_is_narrowed(api: Api) -> None:
    """S1.51: by status, definition, queue, tag and time."""
    mail, held = await _create(api, tags=["red"]), await _create(api, hold=True, queue="slow")
    bill = await _create(api, definitionKey="bill")
    for query, wanted in {
        "status=created": {held},
        "status=created&status=queued": {mail, held, bill},
        "definitionKey=bill": {bill},
        "queue=slow": {held},
        "tag=red": {mail},
        "tag=post": {mail, held},
        "createdBefore=2000-01-01T00:00:00Z": set(),
        "createdAfter=2000-01-01T00:00:00Z&definitionKey=mail&status=queued": {mail},
    }.items():
        page = (await api.get(f"/v1/jobs?{query}")).json
        assert {item["jobId"] for item in page["items"]} == wanted, query


BAD = {
    "limit=0": (422, "validation"),
    "limit=-1": (422, "validation"),
    "limit=abc": (422, "validation"),
    "limit=1000000000": (422, "validation"),
    "limit=%EF%BC%91": (422, "validation"),
    "limit=": (422, "validation"),
    "limit=1&limit=2": (422, "validation"),
    "status=nope": (422, "validation"),
    "&".join(["status=queued"] * 31): (422, "validation"),
    "&".join(["status=queued"] * 500): (422, "validation"),
    "sort=id;drop%20table%20jobs": (422, "validation"),
    "frobnicate=1": (422, "unknown-field"),
    "tag=%25_%5C": (422, "validation"),
    "queue=%ff": (422, "validation"),
    "createdAfter=yesterday": (422, "validation"),
    "createdAfter=2030-01-01T00:00:00": (422, "validation"),
    "vocabulary=klingon": (422, "validation"),
    "cursor=": (400, "invalid-cursor"),
    "cursor=garbage": (400, "invalid-cursor"),
    "cursor=" + "A" * 5000: (400, "invalid-cursor"),
    "cursor=%F0%9F%92%A9": (400, "invalid-cursor"),
}


async def test_a_list_that_cannot_be_is_refused(api: Api) -> None:
    """Rows 40 to 43."""
    replies = {query: await api.get(f"/v1/jobs?{query}") for query in BAD}
    assert {query: (reply.status, reply.kind) for query, reply in replies.items()} == BAD
    assert replies["limit=0"].json["errors"][0]["parameter"] == "limit"


async def test_a_cursor_belongs_to_its_list(api: Api) -> None:
    """Row 41: tampered, or of another filter or order."""
    for _ in range(3):
        await _create(api)
    cursor = (await api.get("/v1/jobs?limit=1&status=queued")).json["nextCursor"]
    assert (await api.get(f"/v1/jobs?limit=2&status=queued&cursor={cursor}")).status == 200
    swapped = cursor[:5] + ("A" if cursor[5] != "A" else "B") + cursor[6:]
    for query in (
        f"status=queued&cursor={swapped}",
        f"status=queued&cursor={cursor[:-1]}",
        f"status=queued&cursor={cursor}A",
        f"cursor={cursor}",
        f"status=running&cursor={cursor}",
        f"status=queued&sort=createdAt&cursor={cursor}",
    ):
        reply = await api.get(f"/v1/jobs?{query}")
        assert (reply.status, reply.kind) == (400, "invalid-cursor"), query


async def test_a_cursor_that_somebody_made_is_looked_at_like_anything_else(api: Api) -> None:
    """Row 41: whoever knows how can make one that fits its list and holds no place in it."""
    job = await _create(api)
    lists = {"/v1/audit": b"audit", "/v1/jobs": read._list_id(Filter(), newest_first=True)}
    for part in ("attempts", "events", "logs"):
        lists[f"/v1/jobs/{job}/{part}"] = part.encode() + UUID(job).bytes
    for path, bind in lists.items():
        for place in (b"a", b"\xff" * 8, b"\xff" * 12, b"a" * 40):
            reply = await api.get(f"{path}?cursor={cursors.write(place, bind)}")
            assert (reply.status, reply.kind) == (400, "invalid-cursor"), (path, place)
    made = cursors.write(b"a", bulk._list_id("cancel", Filter(queue="mail")))
    reply = await api.post("/v1/jobs/cancel", {"filter": {"queue": "mail"}, "cursor": made})
    assert (reply.status, reply.kind) == (400, "invalid-cursor")


async def test_every_start_is_shown_with_how_it_ended(api: Api, store: Store, clock: Clock) -> None:
    job = await _create(api)
    assert (await api.get(f"/v1/jobs/{job}/attempts")).json == {"items": [], "nextCursor": None}
    [first] = await claim(store)
    await settle(store, [recoverable(first, timedelta(seconds=5))])
    await clock.advance(timedelta(seconds=6))
    await store.promote(10)
    [second] = await claim(store)
    usage = Usage(exit_code=0, cpu=timedelta(seconds=2), peak_memory=4096)
    await settle(store, [report(second, Succeeded(Document("1")), usage)])
    one, two = (await api.get(f"/v1/jobs/{job}/attempts")).json["items"]
    assert (one["attempt"], one["workerId"], one["error"]["message"]) == (1, "a", BOOM.message)
    assert (two["attempt"], two["exitCode"], two["peakMemoryBytes"]) == (2, 0, 4096)


async def test_what_attempts_wrote_is_paged(api: Api, store: Store) -> None:
    job = await _create(api)
    [claimed] = await claim(store)
    await store.record("a", [trail(claimed, *(line(n, f"line {n}") for n in range(1, 6)))])
    texts = await _all(api, f"/v1/jobs/{job}/logs", "text", limit=2)
    assert texts == [f"line {n}" for n in range(1, 6)]


async def test_the_history_of_a_job_is_paged(api: Api, store: Store) -> None:
    """S1.52: every step, in order, with what the handler noted."""
    job = await _create(api)
    [claimed] = await claim(store)
    await store.record("a", [trail(claimed, note("sent", '{"n":1}'))])
    await settle(store, [succeeded(claimed)])
    types = await _all(api, f"/v1/jobs/{job}/events", "type", limit=1)
    assert types == ["queued", "started", "custom:sent", "succeeded"]
    other = await _create(api)
    cursor = (await api.get(f"/v1/jobs/{job}/events?limit=1")).json["nextCursor"]
    reply = await api.get(f"/v1/jobs/{other}/events?cursor={cursor}")
    assert (reply.status, reply.kind) == (400, "invalid-cursor")


async def test_a_history_that_grows_between_two_pages_has_no_gap(api: Api, store: Store) -> None:
    """S1.52: what came meanwhile stands behind what was shown, of events, starts and lines alike."""
    job = await _create(api)
    [first] = await claim(store)
    await store.record("a", [trail(first, line(1, "1"), line(2, "2"))])
    pages = {name: (await api.get(f"/v1/jobs/{job}/{name}?limit=1")).json for name in ("events", "logs")}
    await store.hand_back("a", unstarted=[first.lease], killed=[])
    starts = (await api.get(f"/v1/jobs/{job}/attempts?limit=1")).json
    assert starts["nextCursor"] is None
    [second] = await claim(store)
    await store.record("a", [trail(second, line(1, "3"))])
    rest = {
        name: (await api.get(f"/v1/jobs/{job}/{name}?limit=200&cursor={page['nextCursor']}")).json["items"]
        for name, page in pages.items()
    }
    assert [item["n"] for item in rest["events"]] == [2, 3, 4]
    assert [item["text"] for item in rest["logs"]] == ["2", "3"]
    assert await _all(api, f"/v1/jobs/{job}/attempts", "fence", limit=1) == [
        first.lease.fence,
        second.lease.fence,
    ]


async def _all(api: Api, path: str, field: str, limit: int) -> list[object]:
    values: list[object] = []
    cursor = ""
    while True:
        page = (await api.get(f"{path}?limit={limit}{cursor}")).json
        assert len(page["items"]) <= limit
        values += [item[field] for item in page["items"]]
        if page["nextCursor"] is None:
            return values
        cursor = f"&cursor={page['nextCursor']}"


async def test_secrets_are_shown_nowhere(api: Api, store: Store) -> None:
    """S1.79: by their names, in params, results, errors, events and lines; what is stored stays whole."""
    secret = "hunter2"
    job = await _create(api, definitionKey="bill", params={"db": {"password": secret}, "n": 1})
    failed = await _create(api, definitionKey="bill", params={"token": secret})
    ran, lost = await claim(store, lines=(Line("default", "bill", 1),))
    fields, payload = Document(f'{{"apiKey":"{secret}"}}'), f'{{"token":"{secret}"}}'
    await store.record("a", [trail(ran, line(1, f"password={secret}", fields=fields), note("n", payload))])
    error = Failure("ValueError", f"secret={secret}", f"Traceback\n  token: {secret}")
    await settle(store, [succeeded(ran, f'{{"token":"{secret}"}}'), report(lost, Unrecoverable(error))])
    for path in (job, failed):
        for part in ("", "/attempts", "/logs", "/events", "/result"):
            reply = await api.get(f"/v1/jobs/{path}{part}")
            assert secret not in reply.body.decode(), part
    shown = (await api.get(f"/v1/jobs/{job}")).json
    assert (shown["params"], shown["result"]) == (
        {"db": {"password": "[redacted]"}, "n": 1},
        {"token": "[redacted]"},
    )
    assert secret in (await found(store, UUID(job))).params


async def test_a_result_is_told_when_it_is_there(api: Api, store: Store) -> None:
    job = await _create(api)
    assert await _result(api, job) == (202, "queued")
    [claimed] = await claim(store)
    assert await _result(api, job) == (202, "running")
    await settle(store, [succeeded(claimed, '{"sum":7}')])
    reply = await api.get(f"/v1/jobs/{job}/result")
    assert (reply.status, reply.json["result"]) == (200, {"sum": 7})


async def _result(api: Api, job: str) -> tuple[int, str]:
    reply = await api.get(f"/v1/jobs/{job}/result")
    return reply.status, reply.json["status"]


async def test_a_job_that_failed_has_no_result(api: Api, store: Store) -> None:
    job = await _create(api)
    [claimed] = await claim(store)
    await settle(store, [unrecoverable(claimed)])
    reply = await api.get(f"/v1/jobs/{job}/result?waitSeconds=30")
    assert (reply.status, reply.kind, reply.json["jobStatus"]) == (409, "no-result", "failed")


async def test_who_waits_for_a_result_gets_it_when_the_job_ends(api: Api, store: Store) -> None:
    job = await _create(api)
    [claimed] = await claim(store)
    waiting = asyncio.create_task(api.get(f"/v1/jobs/{job}/result?waitSeconds=30"))
    await _until_awaited(api, waiting)
    await settle(store, [succeeded(claimed, "42")])
    reply = await waiting
    assert (reply.status, reply.json["result"]) == (200, 42)


async def test_who_waits_in_vain_is_told_where_the_job_stands(api: Api) -> None:
    job = await _create(api)
    for spelled in ("0", "-0.0", "2e-2"):
        assert (await api.get(f"/v1/jobs/{job}/result?waitSeconds={spelled}")).status == 202, spelled
    reply = await api.get(f"/v1/jobs/{job}/result?waitSeconds=0.2")
    assert (reply.status, reply.json["status"]) == (202, "queued")
    for wrong in ("-1", "31", "nan", "1e3"):
        assert (await api.get(f"/v1/jobs/{job}/result?waitSeconds={wrong}")).status == 422


async def test_who_leaves_while_waiting_leaves_nothing_behind(api: Api) -> None:
    """Long before the time that was asked for is over."""
    job = await _create(api)
    idle = len(asyncio.all_tasks())
    async with api.wire() as wire:
        await wire.send(request("GET", f"/v1/jobs/{job}/result?waitSeconds=30"))
        await until(lambda: len(asyncio.all_tasks()) > idle + 3)
    async with asyncio.timeout(20):
        await until(lambda: len(asyncio.all_tasks()) <= idle)


async def _until_awaited(api: Api, waiting: "asyncio.Task[Reply]") -> None:
    """Give the request time to arrive: until others that came later were answered."""
    for _ in range(20):
        await api.get("/healthz")
    assert not waiting.done()


async def test_a_status_is_told_in_other_words(api: Api, store: Store) -> None:
    job = await _create(api)
    words = {
        name: (await api.get(f"/v1/jobs/{job}?vocabulary={name}")).json["statusWord"] for name in DIALECTS
    }
    assert words == {
        "orchestrator": "QUEUED",
        "server": "queued",
        "worker": "queued",
        "queue": "queued",
        "tasks": "Ready",
    }
    [claimed] = await claim(store)
    await store.hand_back("a", unstarted=[claimed.lease], killed=[])
    [item] = (await api.get("/v1/jobs?vocabulary=tasks")).json["items"]
    assert item["statusWord"] == "Ready"
    assert item["jobId"] == job
    # The attempt was refunded; that it had been claimed is not forgotten.
    for path in ("/v1/jobs", f"/v1/jobs/{job}"):
        answer = (await api.get(f"{path}?vocabulary=worker")).json
        assert answer.get("items", [answer])[0]["statusWord"] == "failed_retryable", path


@pytest.mark.parametrize("vocabulary", [name for name in DIALECTS if name != "server"])
async def test_in_other_words_only_legal_moves_are_told(
    api: Api, store: Store, clock: Clock, vocabulary: str
) -> None:
    """S2.24, S4.4: whatever becomes of jobs that nobody stops, held and delayed ones included."""
    jobs = [await _create(api) for _ in range(2)]
    jobs.append(await _create(api, delaySeconds=1))
    jobs.append(await _create(api, hold=True))
    await api.post(f"/v1/jobs/{jobs[-1]}/release")
    await clock.advance(timedelta(seconds=2))
    await store.promote(10)
    for _ in range(3):
        owned = await claim(store)
        reports = [succeeded(owned[0])] if len(owned) == len(jobs) else []
        await settle(
            store, reports + [recoverable(one, timedelta(seconds=5)) for one in owned[len(reports) :]]
        )
        await clock.advance(timedelta(seconds=6))
        await store.promote(10)
    lost = await _create(api)
    await claim(store)
    await clock.advance(timedelta(seconds=60))
    await store.reap(10)
    answer: set[Move] = set()
    for job in (*jobs, lost):
        items = (await api.get(f"/v1/jobs/{job}/events?vocabulary={vocabulary}")).json["items"]
        words = [[item["sourceWord"], *item["throughWords"], item["targetWord"]] for item in items]
        for before, after in pairwise(words):
            assert before[-1] == after[0], words
        answer |= {Move(*pair) for path in words for pair in pairwise(path) if pair[0] != pair[1]}
    assert answer <= set(DIALECTS[vocabulary].moves)
    assert vocabulary != "tasks" or {Move("Delayed", "Watching"), Move("Watching", "Ready")} <= answer
