"""Streams of events: whole, in order, resumed where they broke off, and never more than a server can bear."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.trail import Note
from tenure.core.reports.access import AuditEntry
from tenure.core.reports.reading import Position
from tenure.core.reports.restores import Resumed
from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app import cursors, sse
from tenure.surfaces.http.app.context import AppContext, Request, StreamedResponse
from tenure.surfaces.http.app.routes import EVENT_STREAM, Route
from tenure.surfaces.http.calls import streams
from tests.storage.backends import Backend
from tests.storage.verbs import PATIENCE, claim, enqueue_one, fed, note, settle, succeeded, trail
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, ReceivedEvent, request, serving
from tests.until import until

STEPS = ["queued", "started", "succeeded"]


async def history(api: Api, job: UUID, query: str = "") -> list[Any]:
    """The same as a list."""
    return list((await api.get(f"/v1/jobs/{job}/events?limit=200{query}")).json["items"])


async def finish(store: Store, *, number: int = 1) -> None:
    """Let every job that waits come to its end."""
    await settle(store, [succeeded(one) for one in await claim(store, limit=number)])


def told_of(entries: list[ReceivedEvent]) -> list[tuple[str, int]]:
    return [(event.data["jobId"], event.data["n"]) for event in entries]


async def test_a_job_is_followed_from_its_beginning_to_its_end(api: Api, store: Store) -> None:
    """S1.52, S1.72: what is on record, then what comes, each once, and then the stream ends by itself."""
    job = await enqueue_one(store)
    async with api.listen(f"/v1/jobs/{job}/events?vocabulary=worker") as listener:
        assert (listener.status, listener.headers["content-type"]) == (200, EVENT_STREAM)
        first = await listener.take(1)
        await finish(store)
        whole = first + await listener.rest()
    assert [event.event for event in whole] == STEPS
    assert [event.data for event in whole] == await history(api, job, "&vocabulary=worker")
    assert [event.data["targetWord"] for event in whole] == ["queued", "processing", "completed"]


async def test_a_job_is_followed_on_from_wherever_it_broke_off(api: Api, store: Store) -> None:
    """S1.52: and who has seen the end is told not to come back."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note("half-way", '{"password":"hush"}'))])
    await settle(store, [succeeded(owned)])
    async with api.listen(f"/v1/jobs/{job}/events") as listener:
        whole = await listener.rest()
    assert whole[2].data["payload"] == {"password": "[redacted]"}
    for seen, event in enumerate(whole[:-1], 1):
        async with api.listen(f"/v1/jobs/{job}/events", last=event.id) as listener:
            assert await listener.rest() == whole[seen:]
    headers = {"accept": EVENT_STREAM, "last-event-id": whole[-1].id}
    reply = await api.get(f"/v1/jobs/{job}/events", headers=headers)
    assert (reply.status, reply.body) == (204, b"")
    assert "content-length" not in reply.headers
    # What is said of a job behind its end is not lost either.
    assert await store.annotate(owned.lease, Note("hook_failed"))
    async with api.listen(f"/v1/jobs/{job}/events", last=whole[-1].id) as listener:
        assert [event.event for event in await listener.rest()] == ["hook_failed"]


async def test_all_jobs_are_followed_in_the_order_of_the_feed(api: Api, store: Store) -> None:
    """S1.72: from now on, or from the beginning, or from any event; the same events, ids and order."""
    await store.enqueue([NewJob(definition="mail", queue=queue) for queue in ("default", "slow") * 5])
    async with api.listen("/v1/events") as now, api.listen("/v1/events", last="0") as everything:
        await finish(store, number=5)
        whole = await everything.take(20)
        assert [event.id for event in whole[10:]] == [event.id for event in await now.take(10)]
    entries = await fed(store, 20)
    assert told_of(whole) == [(str(entry.event.job), entry.event.n) for entry in entries]
    assert (
        whole[0].data.items()
        >= {"definitionKey": "mail", "definitionVersion": 1, "namespace": "default"}.items()
    )
    for seen in (1, 10, 19):
        async with api.listen("/v1/events", last=whole[seen - 1].id) as listener:
            assert await listener.take(20 - seen) == whole[seen:]


async def test_what_happens_while_nobody_is_connected_is_not_missed(api: Api, store: Store) -> None:
    """S1.72: not even by who had heard of nothing yet when the connection broke."""
    async with api.listen("/v1/events") as listener, listener.in_silence():
        await until(lambda: bool(listener.ids))
    job = await enqueue_one(store)
    async with api.listen("/v1/events", last=listener.ids[-1]) as again:
        assert told_of(await again.take(1)) == [(str(job), 1)]


async def test_a_stream_tells_of_what_it_was_http_request(api: Api, store: Store) -> None:
    mail = await enqueue_one(store, queue="slow")
    post = await enqueue_one(store, "post")
    await store.cancel([mail, post])
    wanted = {
        "definitionKey=mail": [(str(mail), 1), (str(mail), 2)],
        "queue=slow&type=cancelled": [(str(mail), 2)],
        "type=cancelled": [(str(mail), 2), (str(post), 2)],
        "type=queued&type=cancelled&definitionKey=post": [(str(post), 1), (str(post), 2)],
    }
    for query, events in wanted.items():
        async with api.listen(f"/v1/events?{query}", last="0") as listener:
            assert told_of(await listener.take(len(events))) == events


async def test_who_hears_of_little_is_told_how_far_it_is(api: Api, store: Store, monkeypatch: Any) -> None:
    """So that coming back does not mean to look through it all again."""
    monkeypatch.setattr(streams, "SILENCE", 0.01)
    jobs = [await enqueue_one(store) for _ in range(3)]
    await fed(store, 3)
    async with api.listen("/v1/events?queue=other", last="0") as listener, listener.in_silence():
        await until(lambda: len(listener.ids) > 1)
    new = await enqueue_one(store)
    async with api.listen("/v1/events", last=listener.ids[-1]) as again:
        [(first, _)] = told_of(await again.take(1))
    # What was written together may have been looked at in part.
    assert first in {str(jobs[-1]), str(new)}


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("text/event-stream", EVENT_STREAM),
        ("text/event-stream, */*", EVENT_STREAM),
        ("text/event-stream;q=0.9, application/json;q=0.5", EVENT_STREAM),
        ("*/*", "application/json"),
        ("text/*;q=0.5, application/json", "application/json"),
        ("application/json, text/event-stream", "application/json"),
        ("application/json, text/event-stream;q=0", "application/json"),
    ],
)
async def test_a_client_has_the_form_it_likes_best(api: Api, store: Store, accept: str, form: str) -> None:
    """Row 18."""
    job = await enqueue_one(store)
    reply = await api.get(f"/v1/jobs/{job}/events", headers={"accept": accept})
    assert (reply.status, reply.headers["content-type"]) == (200, form)


async def test_what_is_asked_of_a_stream_must_make_sense(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    stream = {"accept": EVENT_STREAM}
    for path, status, kind in (
        (f"/v1/jobs/{job}/events?limit=5", 422, "validation"),
        (f"/v1/jobs/{job}/events?cursor=x", 422, "validation"),
        (f"/v1/jobs/{uuid4()}/events", 404, "not-found"),
        ("/v1/events?type=nonsense", 422, "validation"),
        ("/v1/events?limit=1", 422, "unknown-field"),
    ):
        reply = await api.get(path, headers=stream)
        assert (reply.status, reply.kind) == (status, kind), path
    reply = await api.get("/v1/events", headers={"accept": "application/json"})
    assert (reply.status, reply.kind) == (406, "not-acceptable")


async def test_an_id_of_another_stream_is_refused(api: Api, store: Store) -> None:
    """Row 47: another job's, the feed's at a job, a page's, and of another namespace."""
    job, other = await enqueue_one(store), await enqueue_one(store)
    acme = {"authorization": f"Bearer {await make(store, 'read', namespace='acme')}"}
    key = {"authorization": f"Bearer {await make(store, 'read')}"}
    async with api.listen(f"/v1/jobs/{job}/events", **key) as one:
        of_job = (await one.take(1))[0].id
    async with api.listen("/v1/events", last="0", **key) as everything:
        of_feed = (await everything.take(1))[0].id
    for path, last, headers in (
        (f"/v1/jobs/{other}/events", of_job, key),
        (f"/v1/jobs/{job}/events", of_feed, key),
        ("/v1/events", of_job, key),
        ("/v1/events", of_feed, acme),
        ("/v1/events", of_feed[:-1], key),
    ):
        reply = await api.get(path, headers={"accept": EVENT_STREAM, "last-event-id": last, **headers})
        assert (reply.status, reply.kind) == (400, "invalid-event-id"), (path, last)
    async with api.listen("/v1/events", last=of_feed, **key) as listener:
        assert len(await listener.take(1)) == 1


async def test_an_id_from_before_a_restore_is_gone(api: Api, store: Store) -> None:
    """Of what was lost: before the store goes on, and for ever after; who begins anew sees everything."""
    job = await enqueue_one(store)
    [entry] = await fed(store, 1)
    lost = cursors.write(str(Position.behind(entry.position.mark + 2**20)).encode(), b"feed")
    for _ in range(2):
        reply = await api.get("/v1/events", headers={"accept": EVENT_STREAM, "last-event-id": lost})
        assert (reply.status, reply.kind) == (410, "event-id-gone")
        assert "begin anew" in reply.json["detail"]
        assert isinstance(await store.resume_after_restore(), Resumed)
        await enqueue_one(store)
    async with api.listen("/v1/events", last="0") as listener:
        assert told_of(await listener.take(1)) == [(str(job), 1)]


async def test_a_stream_ends_when_its_place_is_lost(api: Api, store: Store, backend: Backend) -> None:
    """The database was put back under a server that runs on: its readers must not wait for ever."""
    async with api.listen("/v1/events", last="0") as listener:
        await enqueue_one(store)
        [last] = await listener.take(1)
        if backend.kind == "sqlite":
            await backend.forge("UPDATE tenure.sequence SET n = 0 WHERE name = 'mark'")
        else:
            [[mark]] = await backend.sql("SELECT max(mark) FROM tenure.job")
            await backend.sql(f"INSERT INTO tenure.restore VALUES (0, {mark + 1}, now(), gen_random_uuid())")
        assert await listener.rest() == []
    reply = await api.get("/v1/events", headers={"accept": EVENT_STREAM, "last-event-id": last.id})
    assert (reply.status, reply.kind) == (410, "event-id-gone")


async def test_a_key_of_a_namespace_hears_of_its_own(api: Api, store: Store) -> None:
    """Row 55: nothing of others, not even that they are there."""
    theirs = await enqueue_one(store, namespace="globex")
    ours = await enqueue_one(store, namespace="acme")
    headers = {"authorization": f"Bearer {await make(store, 'read', namespace='acme')}"}
    async with api.listen("/v1/events", last="0", **headers) as listener:
        await store.cancel([theirs, ours])
        assert told_of(await listener.take(2)) == [(str(ours), 1), (str(ours), 2)]
    reply = await api.get(f"/v1/jobs/{theirs}/events", headers={"accept": EVENT_STREAM, **headers})
    assert (reply.status, reply.kind) == (404, "not-found")


async def test_a_revoked_key_hears_nothing_more(api: Api, store: Store) -> None:
    """Row 53: the stream ends before the first event that happened afterwards."""
    key = await make(store, "read")
    async with api.listen("/v1/events", authorization=f"Bearer {key}") as listener:
        first = await enqueue_one(store)
        assert told_of(await listener.take(1)) == [(str(first), 1)]
        await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
        await enqueue_one(store)
        assert await listener.rest() == []


async def test_silence_is_broken_by_a_heartbeat(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT", 0.01)
    async with api.listen("/v1/events") as listener, listener.in_silence():
        await until(lambda: listener.beats > 2)


async def test_there_are_only_so_many_streams(store: Store) -> None:
    """Of one key, and of all; who leaves makes room at once."""
    ann, bob = await make(store, "read"), await make(store, "read")
    limits = HttpLimits(http_streams=3, http_streams_per_key=2)
    async with serving(store, limits=limits) as api:
        as_ann = {"authorization": f"Bearer {ann}"}
        async with api.listen("/v1/events", **as_ann), api.listen("/v1/events", **as_ann):
            reply = await api.get("/v1/events", **bearing(ann))
            assert (reply.status, reply.kind) == (429, "too-many-requests")
            assert reply.headers["retry-after"].isdecimal()
            async with api.listen("/v1/events", authorization=f"Bearer {bob}"):
                reply = await api.get("/v1/events", **bearing(bob))
                assert (reply.status, reply.kind) == (503, "busy")
                assert (await api.get("/v1/jobs", **bearing(ann))).status == 200

        async def has_room() -> bool:
            return (await api.call("HEAD", "/v1/events", **bearing(ann))).status == 200

        await until(has_room)


async def test_a_stream_ends_when_the_server_is_to_stop(store: Store) -> None:
    """S3.51: in good order, and without being waited for."""
    async with serving(store) as api, api.listen("/v1/events") as listener:
        reading = asyncio.create_task(listener.rest())
        await until(lambda: bool(listener.ids))
        api.server.stop()
        async with asyncio.timeout(PATIENCE):
            assert await reading == []


def watched_route(ended: asyncio.Event, error: Exception | None = None) -> Route:
    """A route whose stream tells when it has ended."""

    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield sse.message("1", event="x")
            if error is not None:
                raise error
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def handler(_context: AppContext, http_request: Request) -> StreamedResponse:
        return sse.sse(http_request, pieces())  # type: ignore[arg-type]

    return Route(
        method="GET",
        path="/x",
        audience="x",
        scope="read",
        handler=handler,
        summary="",
        answers={},
        produces=EVENT_STREAM,
        is_namespaced=True,
    )


async def test_who_hangs_up_is_not_served_any_longer(store: Store) -> None:
    ended = asyncio.Event()
    async with serving(store, routes=[watched_route(ended)]) as api:
        async with api.listen("/x") as listener:
            assert len(await listener.take(1)) == 1
        async with asyncio.timeout(PATIENCE):
            await ended.wait()


@pytest.mark.parametrize(
    ("error", "is_told"), [(RuntimeError("a bug"), True), (StoreUnavailable("x"), False)]
)
async def test_a_stream_that_fails_ends_and_the_operator_hears_of_bugs(
    store: Store, error: Exception, is_told: bool
) -> None:
    """A store that stays away is no bug: whoever listens comes back and is told."""
    async with serving(store, routes=[watched_route(asyncio.Event(), error)]) as api:
        async with api.listen("/x") as listener:
            assert len(await listener.rest()) == 1
        await until(lambda: bool(api.bugs) == is_told)
        assert all("a bug" in bug for bug in api.bugs)


async def test_who_never_reads_is_cut_off(store: Store) -> None:
    """Row 47: what the server holds for it is bounded, and after a while it is let go; others go on."""
    await enqueue_one(store)
    [owned] = await claim(store)
    for _ in range(10):
        await store.record("a", [trail(owned, *[note("much", f'"{"x" * 60_000}"') for _ in range(20)])])
    async with serving(store, limits=HttpLimits(http_write_seconds=1.0, http_streams=2)) as api:
        with socket.create_connection(api.address) as deaf:
            deaf.sendall(request("GET", "/v1/events", {"Last-Event-ID": "0"}))
            async with api.listen("/v1/events", last="0") as listener:
                whole = await listener.take(202)
                assert [event.data["n"] for event in whole] == list(range(1, 203))

                async def has_room() -> bool:
                    return (await api.call("HEAD", "/v1/events")).status == 200

                await until(has_room)  # for one more only when the deaf one is gone
            assert received_by(deaf) < 200 * 60_000


def received_by(deaf: socket.socket) -> int:
    """How much has come on a connection up to its end."""
    deaf.settimeout(PATIENCE)
    received = 0
    try:
        while chunk := deaf.recv(2**20):
            received += len(chunk)
    except ConnectionError:
        pass
    return received
