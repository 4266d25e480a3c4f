"""Small forms on pages about something else: a bad value comes back beside its field."""

import pytest

from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.contract.store import Store
from tests.browser.filled_store import FAILING_WEBHOOK
from tests.storage.verbs import enqueue_one
from tests.surfaces.dashboard.browser_user import Visitor
from tests.surfaces.http.http_server import Api

HOOK = f"/ui/webhooks/{FAILING_WEBHOOK}"


@pytest.mark.parametrize(
    ("path", "fields", "place", "page"),
    [
        ("/ui/limits/api", {"size": "many"}, "size-api", "/ui/limits"),
        ("/ui/limits/api", {"size": "0"}, "size-api", "/ui/limits"),
        ("/ui/limits/api", {}, "size-api", "/ui/limits"),
        ("/ui/queues/default/pause", {"until": "soon", "reason": "<i>"}, "until-default", "/ui/queues"),
        ("/ui/queues/default/pause", {"until": "1999-01-01T00:00"}, "until-default", "/ui/queues"),
        ("/ui/queues/default/pause", {"reason": "x" * 300}, "reason-default", "/ui/queues"),
        (
            *("/ui/definitions/mail/pause", {"until": "soon", "queue": "slow"}),
            *("until-pause", "/ui/definitions/mail"),
        ),
        ("/ui/definitions/mail/pause", {"queue": "a b"}, "queue-pause", "/ui/definitions/mail"),
        ("/ui/definitions/mail/pause", {"version": "x"}, "version-pause", "/ui/definitions/mail"),
        (f"{HOOK}/redeliver", {"since": "2999-01-01T00:00"}, "since", HOOK),
        (f"{HOOK}/redeliver", {}, "since", HOOK),
    ],
)
async def test_a_bad_value_comes_back_beside_its_field(
    api: Api, store: Store, path: str, fields: dict[str, str], place: str, page: str
) -> None:
    await enqueue_one(store, limits=(Limit("api", size=2),))
    await store.add_webhook(
        NewWebhook(id=FAILING_WEBHOOK, url="https://a.example/", events=("failed",)), secret=random_secret()
    )
    reply = await Visitor(api).submit(path, fields)
    body = reply.body.decode()
    assert reply.status == 422
    problem = body.partition(f'id="{place}-problem">')[2].partition("</span>")[0]
    assert problem, body[-3000:]
    for text in fields.values():
        assert text.replace("<", "&lt;").replace(">", "&gt;") in body
    opened = body.partition(f'id="{place}"')[0].rpartition("<details")[2].partition(">")[0]
    assert " open" in opened
    assert f'hx-get="{page}"' in body, "live updates fetch the page, not the address of the form"
    assert await store.pauses() == []
    assert (await store.limits())[0].size == 2
    assert not api.bugs


async def test_workers_of_an_older_version_and_those_not_heard_from_stand_out(api: Api, store: Store) -> None:
    for name, version in (("old", "0.9.2"), ("new", "0.10.0"), ("also", "0.10.0")):
        await store.enlist(WorkerInfo(id=name, host="h", pid=1, version=version, slots=2, lines=()))
    page = (await Visitor(api).get("/ui/workers")).body.decode()
    assert page.count("others have 0.10.0") == 1
    assert "0 of 6 slots in use" in page
    await store.enlist(WorkerInfo(id="other", host="h", pid=1, version="from source", slots=2, lines=()))
    assert "others have" not in (await Visitor(api).get("/ui/workers")).body.decode()
