"""The form of a schedule: what it makes and changes, and what comes back."""

from datetime import UTC, datetime, timedelta

import pytest

from tenure.core.model.spec import Spec
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    NewSchedule,
    Overlap,
    Schedule,
    ScheduledJob,
    ScheduleName,
    Source,
)
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api, register

NIGHTLY = ScheduleName("default", "nightly")
AT = "/ui/schedules/default/nightly"
RIGHT = {"name": "nightly", "definition": "mail", "cron": "0 3 * * *", "params": '{"to": "ada"}'}


async def on_record(store: Store, name: ScheduleName = NIGHTLY) -> Schedule:
    found = await store.schedule(name)
    assert isinstance(found, Schedule)
    return found


async def shown(who: Visitor, path: str) -> str:
    reply = await who.get(path)
    assert reply.status == 200, reply
    return reply.body.decode()


async def test_a_schedule_is_made_as_the_form_says(api: Api, store: Store) -> None:
    operator = await visitor(api, store, "operate")
    assert '<option value="mail" selected>' in await shown(operator, "/ui/schedules/new?definition=mail")
    more = {
        "timezone": "Europe/Berlin",
        "overlap": "skip",
        "missed": "all",
        "jitter": "30s",
        "remaining": "9",
    }
    job = {"queue": "fast", "priority": "-2", "attempts": "5", "timeout": "90s", "tags": "a b,c"}
    ends = {"ends": "2999-01-31T08:30", "starts": "2020-01-01T00:00:05", "paused": "true"}
    reply = await operator.submit("/ui/schedules", {**RIGHT, **more, **job, **ends})
    assert (reply.status, reply.headers["location"]) == (303, AT)
    known = await on_record(store)
    asked, rule = known.asked, known.asked.recurrence
    assert (rule.cron, rule.timezone, asked.jitter) == ("0 3 * * *", "Europe/Berlin", timedelta(seconds=30))
    assert (rule.starts_at, rule.ends_at) == (
        datetime(2020, 1, 1, 0, 0, 5, tzinfo=UTC),
        datetime(2999, 1, 31, 8, 30, tzinfo=UTC),
    )
    assert (asked.overlap, asked.missed.value, known.remaining) == (Overlap.SKIP, "all", 9)
    assert (asked.job.queue, asked.job.priority, asked.job.max_attempts) == ("fast", -2, 5)
    assert (asked.job.timeout, asked.job.tags) == (timedelta(seconds=90), ("a", "b", "c"))
    assert (asked.job.params, asked.source) == ('{"to":"ada"}', Source.API)
    assert (known.paused_at is not None, known.paused_by) == (True, "test")
    targets = [one.entry.target for one in await store.audit_entries() if one.entry.action.startswith("POST")]
    assert "nightly" in targets
    assert not api.bugs


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"name": ""}, "name", "is missing; write one, such as report.nightly"),
        ({"name": "a b"}, "name", "has characters that no name has; write letters"),
        ({"definition": "nope"}, "definition", ""),
        ({"definition": ""}, "definition", "is missing; choose what it starts"),
        ({"cron": ""}, "cron", "is missing, and so is an interval; write one of the two"),
        ({"cron": "every night"}, "cron", ""),
        ({"every": "15m"}, "cron", "is given beside an interval"),
        ({"cron": "", "every": "0.2s"}, "every", ""),
        ({"cron": "", "every": "often"}, "every", "is &#39;often&#39;; write seconds, or one such as 90s"),
        ({"timezone": "Mars/Olympus"}, "timezone", ""),
        ({"ends": "1999-01-01T00:00"}, "ends", ""),
        ({"starts": "soon"}, "starts", "is &#39;soon&#39;"),
        ({"jitter": "2d"}, "jitter", ""),
        ({"remaining": "0"}, "remaining", "is too small; write 1 or more"),
        ({"remaining": "many"}, "remaining", "write a whole number"),
        ({"overlap": "stack"}, "overlap", ""),
        ({"priority": "99999999"}, "priority", ""),
        ({"attempts": "0"}, "attempts", ""),
        ({"timeout": "999d"}, "timeout", ""),
        ({"tags": "a,<b>"}, "tags", ""),
        ({"params": "{"}, "params", "is not JSON"),
        ({"params": '{"to": 3}'}, "params", "to is not of type"),
    ],
)
async def test_what_is_wrong_comes_back_beside_its_field(
    api: Api, store: Store, fields: dict[str, str], field: str, told: str
) -> None:
    sent = {**RIGHT, **fields}
    reply = await Visitor(api).submit("/ui/schedules", sent)
    page = reply.body.decode()
    assert reply.status == 422
    problem = page.partition(f'id="{field}-problem">')[2].partition("</span>")[0]
    assert problem, page.partition('role="alert"')[2][:300]
    assert told in problem
    for name in sent.keys() - {"definition", "overlap"}:
        typed = sent[name].replace('"', "&#34;").replace("<", "&lt;").replace(">", "&gt;")
        assert typed in page, name
    assert await store.schedule(NIGHTLY) is None
    assert not api.bugs


async def test_a_name_that_is_taken_is_told_beside_it(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    assert (await anybody.submit("/ui/schedules", RIGHT)).status == 303
    again = await anybody.submit("/ui/schedules", RIGHT)
    assert (again.status, b'id="name-problem">is taken by another schedule' in again.body) == (422, True)


async def test_what_is_changed_holds_and_the_rest_stays(api: Api, store: Store) -> None:
    """What the form does not show, secrets among the params, is not lost by it."""
    begin = datetime(2020, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
    rule = Recurrence(every=timedelta(minutes=15), starts_at=begin)
    await register(store, Spec(key="report"))
    job = ScheduledJob(definition="report", params=write({"to": "ada", "password": "hunter2"}))
    await store.add_schedule(
        NewSchedule(id="nightly", job=job, recurrence=rule), next_at=rule.next_after(await store.now())
    )
    operator = await visitor(api, store, "operate")
    page = await shown(operator, f"{AT}/edit")
    for part in ('value="900s"', 'value="2020-01-01T00:00:00"', "blank keeps them", 'value="1"'):
        assert part in page, part
    assert "hunter2" not in page
    assert f'href="{AT}/edit"' in await shown(operator, AT)
    same = {"definition": "report", "every": "900s", "starts": "2020-01-01T00:00:00", "revision": "1"}
    reply = await operator.submit(f"{AT}/edit", {**same, "overlap": "queue"})
    assert (reply.status, reply.headers["location"]) == (303, AT)
    known = await on_record(store)
    assert (known.asked.overlap, known.revision) == (Overlap.QUEUE, 2)
    assert (known.asked.recurrence.starts_at, known.asked.job.params) == (begin, job.params)
    late = await operator.submit(f"{AT}/edit", {**same, "overlap": "allow"})
    assert late.status == 422
    assert "has changed since it was read" in late.body.decode()
    assert (await on_record(store)).asked.overlap is Overlap.QUEUE
    assert (await operator.submit(f"{AT}/edit", {**same, "revision": "2", "every": "x"})).status == 422
    assert not api.bugs


async def test_one_from_code_has_no_form_and_cannot_be_changed_by_one(api: Api, store: Store) -> None:
    rule = Recurrence(cron="0 3 * * *", starts_at=datetime(2020, 1, 1, tzinfo=UTC))
    new = NewSchedule(id="nightly", job=ScheduledJob(definition="mail"), recurrence=rule, source=Source.CODE)
    await store.add_schedule(new, next_at=rule.next_after(await store.now()))
    operator = await visitor(api, store, "operate")
    assert f"{AT}/edit" not in await shown(operator, AT)
    reply = await operator.submit(f"{AT}/edit", {**RIGHT, "revision": "1", "cron": "0 4 * * *"})
    assert (reply.status, b"in the code of an app" in reply.body) == (409, True)


async def test_a_bound_key_makes_schedules_in_its_namespace_alone(api: Api, store: Store) -> None:
    bound = await visitor(api, store, "operate", namespace="acme")
    page = await shown(bound, "/ui/schedules/new")
    assert 'name="namespace"' not in page
    token = page.partition('name="csrf-token" content="')[2][:64]
    reply = await bound.submit("/ui/schedules", {**RIGHT, "namespace": "other"}, token=token)
    assert (reply.status, reply.headers["location"]) == (303, "/ui/schedules/acme/nightly")
    assert await store.schedule(NIGHTLY) is None
    reader = await visitor(api, store, "read")
    assert "Create schedule" not in await shown(reader, "/ui/schedules/new")
    assert (await reader.submit("/ui/schedules", RIGHT, token=await reader.token())).status == 403
