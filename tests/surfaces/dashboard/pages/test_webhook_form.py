"""The form of a webhook: what it makes and changes, and what comes back."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.webhooks.webhook import Webhook
from tenure.storage.contract.store import Store
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api

NEW = "/ui/webhooks/new"
RIGHT = {"url": "https://hooks.example/in?token=t0p", "events": ["onFail", "onStart"]}


async def only_webhook(store: Store) -> Webhook:
    [found] = await store.webhooks()
    assert isinstance(found, Webhook)
    return found


async def test_a_webhook_is_made_and_its_secret_is_shown_this_once(api: Api, store: Store) -> None:
    operator = await visitor(api, store, "operate")
    sent = {
        **RIGHT,
        "types": "custom:paid, buried",
        "definitions": "mail",
        "queues": "a b",
        "tags": "x",
        "with_params": "true",
        "tries": "5",
        "timeout": "3s",
        "namespace": "acme",
        "paused": "true",
    }
    reply = await operator.submit("/ui/webhooks", sent)
    page = reply.body.decode()
    known = await only_webhook(store)
    asked = known.asked
    [secret] = await store.webhook_secrets(known.id)
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-store")
    assert secret.text
    assert (page.count(secret.text), "t0p" in page) == (1, False)
    assert (asked.url, asked.events) == (RIGHT["url"], ("onFail", "onStart", "custom:paid", "buried"))
    assert (asked.definitions, asked.queues, asked.tags) == (("mail",), ("a", "b"), ("x",))
    assert (asked.with_params, asked.with_result, asked.tries) == (True, False, 5)
    assert (asked.timeout, known.namespace, known.paused_by) == (timedelta(seconds=3), "acme", "test")
    [entry] = [one.entry for one in await store.audit_entries() if one.entry.action == "POST /ui/webhooks"]
    assert entry.target == "hooks.example"
    assert secret.text not in (await operator.get(f"/ui/webhooks/{known.id}")).body.decode()
    assert not api.bugs


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"url": ""}, "url", "is missing; write the address of a server of yours"),
        ({"url": "http://hooks.example/"}, "url", "begins with http://"),
        ({"url": "https://10.0.0.1/"}, "url", ""),
        ({"url": "https://u:p@hooks.example/"}, "url", "has a user or a password"),
        ({"events": []}, "events", "are missing; tick one or more, or write types"),
        ({"types": "onFailed"}, "events", "did you mean"),
        ({"definitions": "<b>"}, "definitions", ""),
        ({"tries": "99"}, "tries", ""),
        ({"tries": "some"}, "tries", "write a whole number"),
        ({"timeout": "9m"}, "timeout", ""),
        ({"since": "2999-01-01T00:00"}, "since", "is in the future; give a time that has passed"),
        ({"since": "soon"}, "since", "is &#39;soon&#39;"),
        ({"namespace": "a b"}, "namespace", ""),
    ],
)
async def test_what_is_wrong_comes_back_beside_its_field(
    api: Api, store: Store, fields: dict[str, str], field: str, told: str
) -> None:
    reply = await Visitor(api).submit("/ui/webhooks", {**RIGHT, **fields})
    page = reply.body.decode()
    assert reply.status == 422
    problem = page.partition(f'id="{field}-problem">')[2].partition("</span>")[0]
    assert problem, page.partition('role="alert"')[2][:300]
    assert told in problem
    if "events" not in fields:
        assert page.count(" checked>") == 2, "the boxes are still ticked"
    assert await store.webhooks() == []
    assert not api.bugs


async def test_what_is_changed_holds_and_an_address_with_a_secret_stays(api: Api, store: Store) -> None:
    operator = await visitor(api, store, "operate")
    await operator.submit("/ui/webhooks", {**RIGHT, "tries": "5"})
    known = await only_webhook(store)
    path = f"/ui/webhooks/{known.id}"
    page = (await operator.get(f"{path}/edit")).body.decode()
    assert ("t0p" in page, "blank keeps it" in page, page.count(" checked>")) == (False, True, 2)
    changed = {"events": ["onEnd"], "definitions": "mail", "tries": "3", "revision": "1"}
    reply = await operator.submit(f"{path}/edit", changed)
    assert (reply.status, reply.headers["location"]) == (303, path)
    asked = (await only_webhook(store)).asked
    assert (asked.url, asked.events, asked.definitions, asked.tries) == (
        *(RIGHT["url"], ("onEnd",), ("mail",), 3),
    )
    late = await operator.submit(f"{path}/edit", changed)
    assert (late.status, b"has changed since it was read" in late.body) == (422, True)
    nowhere = f"/ui/webhooks/{UUID(int=9)}/edit"
    assert ((await operator.get(nowhere)).status, (await operator.submit(nowhere)).status) == (404, 404)
    assert not api.bugs


async def test_a_bound_key_makes_webhooks_of_its_namespace_alone(api: Api, store: Store) -> None:
    bound = await visitor(api, store, "operate", namespace="acme")
    page = (await bound.get(NEW)).body.decode()
    assert 'name="namespace"' not in page
    token = page.partition('name="csrf-token" content="')[2][:64]
    refused = await bound.submit("/ui/webhooks", {**RIGHT, "namespace": "other"}, token=token)
    assert (refused.status, await store.webhooks()) == (403, [])
    assert (await bound.submit("/ui/webhooks", RIGHT, token=token)).status == 200
    assert (await only_webhook(store)).namespace == "acme"
    reader = await visitor(api, store, "read")
    assert "Create endpoint" not in (await reader.get(NEW)).body.decode()
    assert (await reader.submit("/ui/webhooks", RIGHT, token=await reader.token())).status == 403
