"""The pages of schedules: what they show, to whom, and what their buttons do."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueTick,
    Firing,
    NewSchedule,
    ScheduledJob,
    ScheduleName,
    Source,
    TickOutcome,
)
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api

START = datetime(2020, 1, 1, tzinfo=UTC)
NIGHTLY = ScheduleName("default", "nightly")
AT = "/ui/schedules/default/nightly"


async def put(store: Store, *, cron: str = "0 3 * * *", **terms: Any) -> NewSchedule:
    rule = Recurrence(cron=cron, timezone="Europe/Berlin", starts_at=START)
    job = ScheduledJob(definition="mail", params=write({"to": "ada"}))
    new = NewSchedule(**{"id": "nightly", "job": job, "recurrence": rule, **terms})
    assert await store.add_schedule(new, next_at=rule.next_after(await store.now()))
    return new


async def shown(who: Visitor, path: str) -> str:
    reply = await who.get(path)
    assert reply.status == 200, reply
    return reply.body.decode()


async def test_without_schedules_the_page_says_how_to_make_one(api: Api) -> None:
    page = await shown(Visitor(api), "/ui/schedules")
    assert "No schedules yet" in page
    assert "tenure schedules create nightly --definition" in page


async def test_the_list_tells_rule_next_and_last_run(api: Api, store: Store) -> None:
    """S1.64: in words, with its zone; of 51 schedules the last is on the second page."""
    anybody = Visitor(api)
    await put(store, source=Source.CODE)
    page = await shown(anybody, "/ui/schedules")
    known = await store.schedule(NIGHTLY)
    assert known
    assert known.next_at
    for part in (
        "every day at 03:00, Europe/Berlin",
        ">never ran<",
        "no run yet",
        f"{known.next_at:%a %-d %b %H:%M:%S}",
    ):
        assert part in page, part
    await anybody.submit(f"{AT}/trigger")
    [made] = await store.ticks(NIGHTLY)
    page = await shown(anybody, "/ui/schedules")
    assert f'<a href="/ui/jobs/{made.tick.job}"><span class="state" data-state="queued">' in page
    job = await shown(anybody, f"/ui/jobs/{made.tick.job}")
    assert f'<a href="{AT}">nightly</a>' in job
    assert "No schedule starts bill" in await shown(anybody, "/ui/schedules?definition=bill")
    for n in range(50):
        await put(store, id=f"also-{n:02}")
    first = await shown(anybody, "/ui/schedules?definition=mail")
    assert f'href="{AT}"' not in first
    further = first.partition('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&")
    assert f'href="{AT}"' in await shown(anybody, further)
    for query in ("definition=a%20b", "cursor=x", "nonsense=1"):
        assert (await anybody.get(f"/ui/schedules?{query}")).status in {400, 422}, query
    assert not api.bugs


async def test_a_schedule_tells_its_rules_its_next_runs_and_what_became_of_the_last(
    api: Api, store: Store, clock: Clock
) -> None:
    """S1.66: what was missed or could not run says so, and secrets are not shown."""
    secret = ScheduledJob(definition="mail", params=write({"to": "ada", "password": "hunter2"}))
    new = await put(store, job=secret, remaining=7, jitter=timedelta(minutes=5))
    known = await store.schedule(NIGHTLY)
    assert known
    assert known.next_at
    await clock.advance(known.next_at - clock.now + timedelta(hours=1))
    ticks = [
        DueTick(at=known.next_at - timedelta(days=4), outcome=TickOutcome.MISSED, count=3, until=START),
        DueTick(at=known.next_at, outcome=TickOutcome.FAILED, problem="no <b>template</b>, password=hunter2"),
    ]
    after = new.recurrence.next_after(await store.now())
    firing = Firing(
        namespace="default",
        schedule="nightly",
        revision=1,
        expected=known.next_at,
        next_at=after,
        ticks=ticks,
    )
    assert await store.fire([firing]) == [[]]
    page = await shown(Visitor(api), AT)
    for part in (
        *("<b>every day at 03:00</b>, Europe/Berlin", "run the last one", "let both run", "up to 5 min"),
        *("<dd>7</dd>", "made by hand", "3 runs", "no &lt;b&gt;template&lt;/b&gt;"),
    ):
        assert part in page, part
    assert "hunter2" not in page
    coming = page.partition("Next runs")[2].partition("</table>")[0]
    assert coming.count("<tr><td ") == 6
    assert after
    assert f"<b>{after:%a %-d %b %H:%M:%S}</b>" in coming
    assert "03:00:00 there" in coming
    assert not api.bugs


async def test_buttons_pause_resume_run_and_delete(api: Api, store: Store, clock: Clock) -> None:
    await put(store, cron="* * * * *", source=Source.CODE)
    operator = await visitor(api, store, "operate")
    reply = await operator.submit(f"{AT}/pause", {"reason": "holidays"})
    assert (reply.status, reply.headers["location"]) == (303, AT)
    for path in ("/ui/schedules", AT):
        page = await shown(operator, path)
        assert "by test" in page
        assert "holidays" in page
    await clock.advance(timedelta(minutes=5))
    assert (await operator.submit(f"{AT}/resume")).status == 303
    [missed] = await store.ticks(NIGHTLY)
    assert (missed.tick.outcome, missed.tick.count) == (TickOutcome.MISSED, 5)
    assert 'name="reason"' in await shown(operator, AT)
    await operator.submit(f"{AT}/pause")
    known = await store.schedule(NIGHTLY)
    await clock.advance(timedelta(minutes=5))
    assert 'name="catch_up"' in await shown(operator, AT)
    assert (await operator.submit(f"{AT}/resume", {"catch_up": "true"})).status == 303
    resumed = await store.schedule(NIGHTLY)
    assert known
    assert resumed
    assert (resumed.next_at, resumed.paused_at) == (known.next_at, None)
    assert (await operator.submit(f"{AT}/trigger")).status == 303
    assert "by hand" in await shown(operator, AT)
    assert "It is in code: it comes back" in await shown(operator, AT)
    assert (await operator.submit(f"{AT}/pause", {"reason": "x" * 10_000})).status == 422
    gone = await operator.submit(f"{AT}/delete")
    assert (gone.status, gone.headers["location"]) == (303, "/ui/schedules")
    assert await store.schedule(NIGHTLY) is None
    for act in ("pause", "resume", "trigger", "delete"):
        assert (await operator.submit(f"{AT}/{act}")).status == 404
    for path in (AT, "/ui/schedules/a%20b/c", "/ui/schedules/default/a%20b"):
        assert (await operator.get(path)).status == 404
    assert not api.bugs


async def test_a_run_that_is_refused_says_why_on_a_page(api: Api, store: Store) -> None:
    """The definition has changed since, or is gone."""
    anybody = Visitor(api)
    for name, job in (
        ("wrong", ScheduledJob(definition="mail", params=write({"to": 3}))),
        ("gone", ScheduledJob(definition="nothing")),
    ):
        await put(store, id=name, job=job)
        refused = await anybody.submit(f"/ui/schedules/default/{name}/trigger")
        assert refused.status == 422, refused
        assert b"<html" in refused.body
        assert await store.ticks(ScheduleName("default", name)) == []
    assert not api.bugs


async def test_a_key_that_only_looks_has_no_buttons_and_a_bound_one_sees_its_own(
    api: Api, store: Store
) -> None:
    await put(store)
    await put(store, id="theirs", namespace="acme")
    reader, bound = (
        await visitor(api, store, "read"),
        await visitor(api, store, "operate", namespace="acme"),
    )
    page = await shown(reader, AT)
    assert f'action="{AT}' not in page
    assert "Delete" not in page
    assert (await reader.submit(f"{AT}/pause", token=await reader.token())).status == 403
    assert "/ui/schedules/acme/theirs" in await shown(reader, "/ui/schedules")
    listed = await shown(bound, "/ui/schedules")
    assert "/ui/schedules/acme/theirs" in listed
    assert AT not in listed
    assert (await bound.get(AT)).status == 404
    key = await make(store, "operate", namespace="acme")
    for act in ("pause", "trigger", "delete"):
        assert (await api.call("POST", f"{AT}/{act}", **bearing(key))).status == 404
    known = await store.schedule(NIGHTLY)
    assert known
    assert known.paused_at is None
    assert (await api.call("POST", "/ui/schedules/acme/theirs/trigger", **bearing(key))).status == 303
    [tick] = await store.ticks(ScheduleName("acme", "theirs"))
    assert tick.tick.outcome is TickOutcome.BY_HAND
