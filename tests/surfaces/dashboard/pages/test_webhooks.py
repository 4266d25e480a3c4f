"""The pages of webhooks: what they show, to whom, and what their buttons do."""

import re
from typing import Any
from uuid import UUID, uuid4

from tenure.core.webhooks.delivery import DeliveryState, NewDelivery
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import try_due
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api

URL = "https://hooks.example/in"


async def put(store: Store, **terms: Any) -> str:
    """The address of a new webhook's page."""
    new = NewWebhook(**{"id": uuid4(), "url": URL, "events": ("onEnd",), **terms})
    await store.add_webhook(new, secret=random_secret())
    return f"/ui/webhooks/{new.id}"


def webhook_of(page: str) -> UUID:
    return UUID(page.rpartition("/")[2])


async def send(store: Store, page: str, message: str, **how: Any) -> None:
    """A delivery that was tried once, with this ending; without one it waits for its first try."""
    new = NewDelivery(
        webhook=webhook_of(page), message=message, type="failed", at=await store.now(), body="{}"
    )
    assert await store.add_delivery(new)
    if how:
        await try_due(store, **how)


async def shown(who: Visitor, path: str) -> str:
    reply = await who.get(path)
    assert reply.status == 200, reply
    return reply.body.decode()


async def test_without_webhooks_the_page_says_how_to_make_one(api: Api) -> None:
    page = await shown(Visitor(api), "/ui/webhooks")
    assert "No webhooks yet" in page
    assert "tenure webhooks create https://example.com/hooks" in page
    assert re.search(r'<a href="/ui/webhooks"[^>]* aria-current="page">.*Webhooks', page)


async def test_the_list_tells_where_they_lead_and_how_they_do(api: Api, store: Store) -> None:
    """S1.73: one that fails, one that is paused, and one of a namespace."""
    anybody = Visitor(api)
    fails = await put(store, events=("failed", "buried"), definitions=("mail",))
    how = {"state": DeliveryState.WAITING, "status": 504, "retry_after": seconds(60)}
    await send(store, fails, "msg_1", **how)
    rests = await put(store, url="https://old.example/?token=t0p", namespace="acme")
    await store.pause_webhook(webhook_of(rests), by="ann", reason="it <moves>")
    page = await shown(anybody, "/ui/webhooks")
    for part in (
        *("2 endpoints, 1 failing, 1 delivery waits", f'href="{fails}"', "failed, buried", ">failing<"),
        *("mail", ">paused<", "by ann", "it &lt;moves&gt;", "all in acme", "token=[redacted]"),
    ):
        assert part in page, part
    for n in range(49):
        await put(store, url=f"https://hooks.example/{n}")
    first = await shown(anybody, "/ui/webhooks")
    further = first.partition('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&")
    second = await shown(anybody, further)
    assert (first.count('class="name id cut"'), second.count('class="name id cut"')) == (50, 1)
    for query in ("cursor=x", "nonsense=1"):
        assert (await anybody.get(f"/ui/webhooks?{query}")).status in {400, 422}, query
    assert not api.bugs


async def test_a_webhook_tells_what_became_of_its_deliveries(api: Api, store: Store, clock: Clock) -> None:
    """S1.73: with answer, tries and next try; and what the receiver wrote is nowhere."""
    path = await put(store, tries=5)
    await send(store, path, "msg_taken", state=DeliveryState.DELIVERED, status=200)
    await send(store, path, "msg_gone", state=DeliveryState.DEAD, status=410, problem="<b>gone</b>")
    again = {"status": None, "problem": "in 10 s", "retry_after": seconds(240)}
    await send(store, path, "msg_late", state=DeliveryState.WAITING, **again)
    await send(store, path, "msg_new")
    anybody = Visitor(api)
    page = await shown(anybody, path)
    for part in (
        *(
            'data-state="succeeded">200<',
            'data-state="failed">410, given up<',
            "&lt;b&gt;gone&lt;/b&gt;",
        ),
        *('data-state="retrying">no answer<', "try 1 of 5", "250 ms", "Send now", "Send again", "none yet"),
        *("stored in clear", "webhooks.verify(body, headers, secret)"),
    ):
        assert part in page, part
    assert "whsec_" not in page
    waiting = await shown(anybody, f"{path}?state=waiting")
    assert ("msg_late" in waiting, "msg_new" in waiting, "msg_taken" in waiting) == (True, True, False)
    assert "None is in this state" not in waiting
    await clock.advance(seconds(1))
    for n in range(50):
        await send(store, path, f"msg_{n:02}")
    first = await shown(anybody, path)
    older = first.partition('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&")
    assert "msg_taken" not in first
    assert "msg_taken" in await shown(anybody, older)
    for query in ("state=lost", "cursor=x"):
        assert (await anybody.get(f"{path}?{query}")).status in {400, 422}, query
    assert not api.bugs


async def test_buttons_test_pause_resume_send_again_and_delete(api: Api, store: Store, clock: Clock) -> None:
    path = await put(store)
    operator = await visitor(api, store, "operate")
    reply = await operator.submit(f"{path}/test")
    assert (reply.status, reply.headers["location"]) == (303, path)
    [sent] = await store.deliveries(webhook_of(path))
    assert sent.type == "test"
    assert (await operator.submit(f"{path}/pause", {"reason": "moving"})).status == 303
    page = await shown(operator, path)
    assert "Nothing is sent: paused by test" in page
    assert ("Resume from then" in page, "Resume from now" in page) == (True, True)
    assert (await operator.submit(f"{path}/resume", {"catch_up": "true"})).status == 303
    [kept] = await store.deliveries(webhook_of(path))
    assert kept.state is DeliveryState.WAITING
    await operator.submit(f"{path}/pause")
    assert (await operator.submit(f"{path}/resume")).status == 303
    [given_up] = await store.deliveries(webhook_of(path))
    assert given_up.state is DeliveryState.DEAD
    again = await operator.submit(f"{path}/deliveries/{sent.message}/redeliver")
    assert (again.status, again.headers["location"]) == (303, path)
    [waits] = await store.deliveries(webhook_of(path))
    assert waits.state is DeliveryState.WAITING
    assert (await operator.submit(f"{path}/redeliver", {"since": "2020-01-31T08:30"})).status == 303
    for wrong in ({"since": "2999-01-01T00:00"}, {"since": "soon"}, {}):
        assert (await operator.submit(f"{path}/redeliver", wrong)).status == 422, wrong
    assert (await operator.submit(f"{path}/pause", {"reason": "x" * 10_000})).status == 422
    gone = await operator.submit(f"{path}/delete")
    assert (gone.status, gone.headers["location"]) == (303, "/ui/webhooks")
    for act in ("pause", "resume", "test", "rotate", "delete", "deliveries/m/redeliver"):
        assert (await operator.submit(f"{path}/{act}")).status == 404, act
    for nowhere in (path, "/ui/webhooks/nonsense"):
        assert (await operator.get(nowhere)).status == 404
    assert not api.bugs


async def test_a_new_secret_is_shown_on_its_answer_and_nowhere_else(api: Api, store: Store) -> None:
    """S1.79: not kept by a cache, nor told by the page of the webhook."""
    path = await put(store)
    operator = await visitor(api, store, "operate")
    answer = await operator.submit(f"{path}/rotate")
    newest, old = await store.webhook_secrets(webhook_of(path))
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    page = answer.body.decode()
    assert newest.text
    assert old.text
    assert page.count(newest.text) == 1
    assert old.text not in page
    assert "stored in clear" in page
    for place in (path, "/ui/webhooks"):
        assert "whsec_" not in await shown(operator, place)


async def test_a_key_that_only_looks_has_no_buttons_and_a_bound_one_sees_its_own(
    api: Api, store: Store
) -> None:
    ours, theirs = await put(store), await put(store, namespace="acme")
    await send(store, ours, "msg_1")
    reader, bound = (
        await visitor(api, store, "read"),
        await visitor(api, store, "operate", namespace="acme"),
    )
    page = await shown(reader, ours)
    assert f'action="{ours}' not in page
    assert "Rotate" not in page
    assert (await reader.submit(f"{ours}/rotate", token=await reader.token())).status == 403
    listed = await shown(bound, "/ui/webhooks")
    assert (theirs in listed, ours in listed) == (True, False)
    assert (await bound.get(ours)).status == 404
    key = await make(store, "operate", namespace="acme")
    for act in ("pause", "rotate", "test", "delete", "deliveries/msg_1/redeliver"):
        assert (await api.call("POST", f"{ours}/{act}", **bearing(key))).status == 404, act
    assert await store.webhook(webhook_of(ours))
    assert (await api.call("POST", f"{theirs}/test", **bearing(key))).status == 303


async def test_a_delivery_waits_as_long_as_its_endpoint_is_left_alone(api: Api, store: Store) -> None:
    path = await put(store)
    closed = {"status": 503, "retry_after": seconds(5), "closes_for": seconds(600)}
    await send(store, path, "msg_behind", state=DeliveryState.WAITING, **closed)
    webhook = await store.webhook(webhook_of(path))
    assert webhook is not None
    assert webhook.closed_until is not None
    assert f'again <time datetime="{webhook.closed_until.isoformat()}"' in await shown(Visitor(api), path)


async def test_one_that_this_version_cannot_read_has_a_page_that_says_so(
    api: Api, store: Store, backend: Backend
) -> None:
    """S1.73: it can be paused and deleted there, and nothing else is offered."""
    path = await put(store)
    await backend.sql("UPDATE tenure.webhook SET spec = '{'")
    listed, page = await shown(Visitor(api), "/ui/webhooks"), await shown(Visitor(api), path)
    for text in (listed, page):
        assert ">unreadable<" in text
        assert "newer version" in text
        assert str(webhook_of(path)) in text
    assert f'action="{path}/pause"' in page
    assert f'action="{path}/delete"' in page
    for missing in ("test", "rotate", "redeliver", "resume"):
        assert f'action="{path}/{missing}"' not in page
    assert not api.bugs
