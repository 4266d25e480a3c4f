"""Retention on the page of definitions: who sees it, who sets it, and what is refused."""

import re
from datetime import timedelta

from tenure.core.model.spec import Spec
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.surfaces.dashboard.browser_user import visitor
from tests.surfaces.http.http_server import Api, register

PAGE = "/ui/definitions"
DAY = timedelta(days=1)


async def test_an_operator_sees_it_and_sets_it(api: Api, store: Store) -> None:
    await register(store, Spec(key="bill"))
    operator = await visitor(api, store, "operate")
    shown = (await operator.get(PAGE)).body.decode()
    assert re.findall(r'name="(\w+)" value="([^"]*)" placeholder', shown) == [
        *(("succeeded", "7d"), ("others", "30d"), ("keyed", "7d"), ("logs", "")),
        *((part, "") for part in ("succeeded", "others", "keyed", "logs")),
    ]
    times = {"succeeded": "36h", "others": "", "keyed": " 90d ", "logs": "0"}
    done = await operator.submit("/ui/retention", {"definition": "mail", **times})
    assert (done.status, done.headers["location"]) == (303, "/ui/definitions#retention")
    rule = (await store.retention()).rules[0]
    assert (rule.succeeded, rule.others, rule.keyed, rule.logs) == (
        *(timedelta(hours=36), None, 90 * DAY, timedelta(0)),
    )
    assert rule.by == "test"
    shown = (await operator.get(PAGE)).body.decode()
    assert 'value="36h"' in shown
    assert "<option>bill</option>" in shown
    assert "<option>mail</option>" not in shown
    everyone = {"succeeded": "1d", "others": "2d", "keyed": "3d", "logs": "12h"}
    assert (await operator.submit("/ui/retention", {"definition": "", **everyone})).status == 303
    assert (await store.retention()).for_all == Retention(
        succeeded=DAY, others=2 * DAY, keyed=3 * DAY, logs=DAY / 2
    )
    assert (await operator.submit("/ui/retention", {"definition": "mail"})).status == 303
    assert (await store.retention()).rules == ()
    targets = [one.entry.target for one in await store.audit_entries() if "retention" in one.entry.action]
    assert targets[-1] == "mail succeeded=36h others=- keyed=90d logs=0"
    assert not api.bugs


async def test_what_is_wrong_is_named_and_changes_nothing(api: Api, store: Store) -> None:
    operator = await visitor(api, store, "operate")
    for fields, named in (
        (
            {"definition": "mail", "succeeded": "a week"},
            'id="keep-other-succeeded-problem">is &#39;a week&#39;',
        ),
        ({"definition": "mail", "logs": "-1d"}, 'id="keep-other-logs-problem"'),
        ({"definition": "mail", "keyed": "0.0001s"}, 'id="keep-other-keyed-problem"'),
        ({"definition": "nobody", "keyed": "1d"}, "/definition"),
        ({"definition": "", "others": "1d"}, 'id="keep-0-succeeded-problem"'),
        ({"definition": "mail", "results": "1d"}, "results"),
    ):
        reply = await operator.submit("/ui/retention", fields)
        assert reply.status == 422, fields
        assert named in reply.body.decode(), fields
    policy = await store.retention()
    assert (policy.for_all, policy.rules) == (Retention(), ())
    assert not api.bugs


async def test_a_reader_sees_it_and_a_key_of_a_namespace_does_not(api: Api, store: Store) -> None:
    await store.set_retention("mail", {"others": timedelta(days=3)})
    reader = await visitor(api, store, "read")
    shown = (await reader.get(PAGE)).body.decode()
    assert "How long finished jobs are kept" in shown
    assert "3d" in shown
    assert 'action="/ui/retention"' not in shown
    assert "<input form" not in shown
    assert (await reader.submit("/ui/retention", {"definition": "mail", "others": "1d"})).status == 403
    operator = await visitor(api, store, "operate")
    forged = await operator.submit("/ui/retention", {"definition": "mail", "others": "1d"}, token="0" * 64)
    assert forged.status == 403
    bound = await visitor(api, store, "operate", namespace="acme")
    shown = (await bound.get(PAGE)).body.decode()
    assert "How long finished jobs are kept" not in shown
    [token] = re.findall(r'name="csrf-token" content="(\w+)"', shown)
    tried = await bound.submit("/ui/retention", {"definition": "mail", "others": "1d"}, token=token)
    assert tried.status == 403
    assert (await store.retention()).of("mail").others == timedelta(days=3)
