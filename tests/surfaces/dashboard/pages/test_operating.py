"""What operators set on pages: pauses of queues and definitions, and sizes of limits."""

from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit, LimitUse
from tenure.core.reports.operations import PauseScope, WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.dashboard.test_rules import buttons
from tests.surfaces.http.http_server import Api


async def shown(who: Visitor, path: str) -> str:
    return (await who.get(path)).body.decode()


async def test_a_queue_is_paused_until_a_time(api: Api, store: Store) -> None:
    """The browser's field knows no zone: it is UTC, and the page says so."""
    anybody = Visitor(api)
    await enqueue_one(store)
    sent = {"until": "2999-01-31T08:30", "reason": "a fire"}
    assert (await anybody.submit("/ui/queues/default/pause", sent)).status == 303
    [pause] = await store.pauses()
    assert (pause.until and pause.until.isoformat(), pause.reason) == ("2999-01-31T08:30:00+00:00", "a fire")
    page = await shown(anybody, "/ui/queues")
    assert 'until <time datetime="2999-01-31T08:30:00+00:00">' in page
    for until in ("soon", "1999-01-01T00:00", "2999-02-30T00:00"):
        refused = await anybody.submit("/ui/queues/default/pause", {"until": until})
        assert refused.status == 422
        assert b"until" in refused.body
    assert not api.bugs


async def test_a_definition_is_paused_and_resumed_on_its_page(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    await enqueue_one(store)
    assert "Workers claim nothing" not in await shown(anybody, "/ui/definitions/mail")
    for fields in ({"reason": "spam"}, {"version": "1", "queue": "slow", "until": "2999-01-31T08:30:05"}):
        reply = await anybody.submit("/ui/definitions/mail/pause", fields)
        assert (reply.status, reply.headers["location"]) == (303, "/ui/definitions/mail")
    assert {pause.scope for pause in await store.pauses()} == {
        PauseScope(definition="mail"),
        PauseScope("slow", "mail", 1),
    }
    page = await shown(anybody, "/ui/definitions/mail")
    assert "Workers claim nothing of mail@1 in queue slow" in page
    assert page.count(">Resume<") == 2
    assert ">paused<" in await shown(anybody, "/ui/definitions")
    assert "spam" in await shown(anybody, "/ui/queues")
    blank = {"version": "", "queue": ""}
    assert (await anybody.submit("/ui/definitions/mail/resume", blank)).status == 303
    assert [pause.scope for pause in await store.pauses()] == [PauseScope("slow", "mail", 1)]
    assert not api.bugs


async def test_a_pause_that_cannot_be_is_refused_on_a_page(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    for key, fields, status in (
        ("nope", {}, 404),
        ("a%20b", {}, 404),
        ("mail", {"version": "9"}, 404),
        ("mail", {"version": "x"}, 422),
        ("mail", {"version": "99999999999"}, 422),
        ("mail", {"queue": "a b"}, 422),
        ("mail", {"reason": "x" * 10_000}, 422),
        ("mail", {"until": "1999-01-01T00:00"}, 422),
        ("mail", {"why": "x"}, 422),
    ):
        assert (await anybody.submit(f"/ui/definitions/{key}/pause", fields)).status == status, (key, fields)
    assert (await anybody.submit("/ui/definitions/nope/resume")).status == 404
    assert await store.pauses() == []
    assert not api.bugs


async def test_limits_are_shown_and_set(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    for limit in (Limit("api", size=2), Limit("tenant", "ann", 3), Limit("tenant", "<b>", 3)):
        await enqueue_one(store, limits=(limit,))
    await claim(store, limit=10)
    page = await shown(anybody, "/ui/limits")
    assert '<b>1</b> <span class="muted">of 2' in page
    assert '<b>2</b> <span class="muted">of 6, 2 keys' in page
    assert "&lt;b&gt;" in page
    assert (await anybody.submit("/ui/limits/api", {"size": "9"})).status == 303
    assert (await store.limits())[0] == LimitUse("api", "", 9, 1)
    for name, size, status in (
        *(("api", size, 422) for size in ("0", "10001", "x", "1.5", "-1", "٣")),
        *((name, "3", 404) for name in ("nope", "a%20b", "x" * 10_000)),
    ):
        reply = await anybody.submit(f"/ui/limits/{name}", {"size": size})
        assert reply.status in {status, 414}, (name, size)
    assert (await store.limits())[0].size == 9
    assert not api.bugs


async def test_only_who_operates_sees_the_forms_and_may_send_them(api: Api, store: Store) -> None:
    await enqueue_one(store, limits=(Limit("api", size=2),))
    await store.pause(PauseScope(definition="mail"))
    reader = await visitor(api, store, "read")
    for path in ("/ui/limits", "/ui/definitions/mail", "/ui/queues"):
        assert buttons(await reader.get(path)) <= {b"/logout"}
    token = await reader.token()
    for path in ("/ui/limits/api", "/ui/definitions/mail/pause", "/ui/definitions/mail/resume"):
        assert (await reader.submit(path, {"size": "3"}, token=token)).status == 403
        operator = await visitor(api, store, "operate")
        assert (await operator.submit(path, {"size": "3"}, token="0" * 64)).status == 403
    assert len(await store.pauses()) == 1


async def test_a_paused_definition_with_jobs_needs_attention(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    await enqueue_one(store, queue="slow")
    await store.pause(PauseScope(definition="mail"), by="ann", reason="spam")
    anybody = Visitor(api)
    assert "2 jobs wait under the pause of <b>mail</b> by ann" in await shown(anybody, "/")
    assert "mail is paused by ann (spam) until" in await shown(anybody, f"/ui/jobs/{job}")


async def test_queues_show_lines_that_have_or_had_jobs(api: Api, store: Store) -> None:
    """Not what workers would serve, which is every queue with every definition."""
    lines = tuple(Line(queue, name) for queue in ("a", "b", "default") for name in ("mail", "bill"))
    await store.enlist(WorkerInfo(id="w", host="h", pid=1, version="1", slots=1, lines=lines))
    await enqueue_one(store)
    page = await shown(Visitor(api), "/ui/queues")
    assert 'id="queue-default"' in page
    assert 'id="queue-a"' not in page
    shown_ones, _, folded = page.partition("5 definitions in queues have no jobs")
    assert ("bill" in shown_ones, "bill in default" in folded) == (False, True)


async def test_a_worker_that_cannot_receive_messages_needs_attention(api: Api, store: Store) -> None:
    """The overview leads to the page of workers, which says of each since when and why."""
    anybody = Visitor(api)
    lines = (Line("default", "mail"),)
    await store.enlist(WorkerInfo(id="w", host="here", pid=7, version="1", slots=4, lines=lines))
    await store.note_receiver("w", "https://sqs.example/1/jobs", "SQS: away")
    first = await shown(anybody, "/")
    assert "The worker on the message queue" in first
    assert '<a class="button" href="/ui/workers">Show</a>' in first
    assert "receives no messages since" in await shown(anybody, "/ui/workers")

    await store.note_receiver("w", "https://sqs.example/1/jobs", None)
    page = await shown(anybody, "/ui/workers")
    assert "led by messages of https://sqs.example/1/jobs" in page
    assert "receives no messages" not in page
