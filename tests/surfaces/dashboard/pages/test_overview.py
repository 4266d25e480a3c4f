"""The first page: what it draws and counts, what it leaves out, and what it is before there is any job."""

import html
import re
from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Progress, Pulse
from tenure.core.model.outcome import Report, Unrecoverable
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.reports.retention import Retention
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.engine.health.checkup import examine
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded
from tests.surfaces.dashboard.browser_user import EVERY, Visitor
from tests.surfaces.http.http_server import Api, serving

MINUTE = timedelta(minutes=1)


async def looked(store: Store, path: str = "/") -> str:
    """The page, by a server that keeps no figures from before."""
    async with serving(store, routes=EVERY) as api:
        return html.unescape((await Visitor(api).get(path)).body.decode())


def drawn(page: str) -> dict[str, str]:
    """What a pointer over the first chart is told, by minute."""
    chart = page[page.index('id="ended-title"') : page.index('id="took-title"')]
    return dict(re.findall(r"<title>(\d\d:\d\d): ([^<]*)</title>", chart))


def texts(page: str, card: str) -> str:
    """The words of a card."""
    found = re.search(rf'<section[^>]* aria-labelledby="{card}-title">.*?</section>', page, re.DOTALL)
    assert found
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[0]))


async def test_a_minute_that_is_not_over_stands_in_the_table_and_is_drawn_once_it_is(
    store: Store, clock: Clock
) -> None:
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    minute = f"{clock.now:%H:%M}"
    page = await looked(store)
    assert minute not in drawn(page)
    assert set(drawn(page).values()) == {"0 succeeded, 0 failed, 0 cancelled"}
    assert f"{minute}, so far</td><td>1</td>" in page
    await clock.advance(MINUTE)
    page = await looked(store)
    assert drawn(page)[minute] == "1 succeeded, 0 failed, 0 cancelled"
    assert f"{clock.now:%H:%M}, so far</td><td>0</td>" in page


async def test_counts_are_of_the_moment_though_charts_are_made_once_for_all(store: Store) -> None:
    await enqueue_one(store)
    async with serving(store, routes=EVERY) as api:
        shown = []
        for _ in range(2):
            body = (await Visitor(api).get("/")).body.decode()
            shown += re.findall(r"Waiting</span><b>(\d+)</b>", body)
            await enqueue_one(store)
    assert shown == ["1", "2"]


async def test_what_runs_is_told_the_longest_first_with_what_it_says_of_itself(
    api: Api, store: Store, clock: Clock
) -> None:
    """Its words are text, and secrets in them are hidden."""
    for name in ("b.later", "a.first"):
        await store.enqueue([NewJob(definition=name)])
    await clock.advance(seconds(1))
    [first] = await claim(store, lines=[Line("default", "a.first")], worker="mill-3:77")
    await clock.advance(seconds(90))
    [later] = await claim(store, lines=[Line("default", "b.later")], worker="mill-4:1")
    said = Progress(0.35, "<b>7</b> of 20, token=hush")
    await store.heartbeat(Pulse(worker="mill-4:1", leases=(later.lease,), progress={later.lease: said}))
    page = (await Visitor(api).get("/")).body.decode()
    card = texts(page, "running")
    assert card.index("a.first") < card.index("b.later")
    assert "no progress reported · mill-3" in card
    assert "35 %" in card
    assert "&lt;b&gt;7&lt;/b&gt; of 20, token=[redacted]" in card
    assert first.lease.job != later.lease.job


async def test_failures_are_told_by_their_causes_the_latest_first(store: Store, clock: Clock) -> None:
    for kind in ("OSError", "OSError", "KeyError"):
        await enqueue_one(store)
        [owned] = await claim(store)
        await settle(store, [Report(owned.lease, Unrecoverable(Failure(kind, "no room")))])
        await clock.advance(seconds(1))
    card = texts(await looked(store), "failures")
    assert card.index("KeyError: no room") < card.index("OSError: no room")
    assert card.count("2 of this cause") == 1


async def test_definitions_have_the_figures_that_are_on_record(store: Store, clock: Clock) -> None:
    """Nothing is said of a time that no duty has recorded; then each order has its own first."""
    ends = {"often.well": 4, "rare.slow": 1}
    for name, count in ends.items():
        await store.enqueue([NewJob(definition=name) for _ in range(count)])
    owned = await claim(store, limit=9, lines=[Line("default", name) for name in ends])
    quick = [one for one in owned if one.definition == "often.well"]
    await clock.advance(seconds(1))
    bad = Report(quick[0].lease, Unrecoverable(Failure("OSError", "full")))
    await settle(store, [bad, *(succeeded(one) for one in quick[1:])])
    await clock.advance(seconds(20))
    await settle(store, [succeeded(one) for one in owned if one not in quick])
    assert "as far as that is on record" in texts(await looked(store), "definitions")
    await clock.advance(seconds(60))
    await sample_pace(store)
    busiest = texts(await looked(store), "definitions")
    assert busiest.index("often.well") < busiest.index("rare.slow")
    assert "25.0 %" in busiest
    slowest = texts(await looked(store, "/?order=slowest"), "definitions")
    assert slowest.index("rare.slow") < slowest.index("often.well")
    failing = texts(await looked(store, "/?period=day&order=failing"), "definitions")
    assert "often.well" in failing
    assert "rare.slow" not in failing


async def test_the_next_runs_stand_by_their_time(api: Api, store: Store, clock: Clock) -> None:
    for name, hours in (("a.later", 3), ("b.soon", 1)):
        rule = Recurrence(every=timedelta(hours=hours), starts_at=clock.now)
        new = NewSchedule(id=name, job=ScheduledJob(definition="mail"), recurrence=rule)
        await store.add_schedule(new, next_at=clock.now + timedelta(hours=hours), by="ann")
    await enqueue_one(store)
    card = texts((await Visitor(api).get("/")).body.decode(), "coming")
    assert card.index("b.soon") < card.index("a.later")
    assert "every 3 hours" in card


async def test_the_four_figures_compare_with_what_is_usual(store: Store, clock: Clock) -> None:
    """A day of hours on record is needed for that; before, that line is left out."""

    async def hour(failed: int) -> None:
        await sample_pace(store)
        await clock.advance(seconds(5))
        for n in range(10):
            await enqueue_one(store)
            [owned] = await claim(store)
            end = Report(owned.lease, Unrecoverable(Failure("E", "x"))) if n < failed else succeeded(owned)
            await settle(store, [end])
        await clock.advance(seconds(55))
        await sample_pace(store)
        await clock.advance(timedelta(hours=1) - MINUTE)

    await hour(1)
    assert "usually" not in await looked(store)
    for _ in range(25):
        await hour(1)
    await hour(4)
    await sample_pace(store)
    page = await looked(store)
    assert "usually 11 %" in page


@pytest.mark.parametrize(
    ("today", "says"),
    [
        (9, "50 % more than yesterday at this time"),
        (3, "50 % less than yesterday at this time"),
        (6, "as many as yesterday at this time"),
    ],
)
async def test_the_pace_is_compared_with_that_of_the_day_before(
    store: Store, clock: Clock, today: int, says: str
) -> None:
    """Of the same half an hour; before there is one on record, nothing is said of yesterday."""

    async def half_an_hour(ended: int) -> None:
        await sample_pace(store)
        for _ in range(ended):
            await enqueue_one(store)
        await settle(store, map(succeeded, await claim(store)))
        await clock.advance(timedelta(minutes=30))
        await sample_pace(store)

    await half_an_hour(6)
    assert "yesterday" not in await looked(store)
    await clock.advance(timedelta(hours=23, minutes=30))
    await half_an_hour(today)
    assert says in await looked(store)


async def test_without_jobs_the_page_teaches_and_ticks_off_what_is_done(store: Store) -> None:
    assert "0 of 3 done" in await looked(store)
    await store.put_definitions([Definition(key="mail.welcome", version=1, spec=Document("{}"))])
    assert "1 of 3 done" in await looked(store)
    lines = (Line("default", "mail.welcome"),)
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=lines))
    page = await looked(store, "/?how=python")
    assert "2 of 3 done" in page
    assert "welcome.enqueue(" in page
    job: UUID = await enqueue_one(store)
    assert "Needs attention" in await looked(store)
    page = await looked(store, "/?first=run")
    assert "3 of 3 done" in page
    assert f'href="/ui/jobs/{job}"' in page


async def test_a_store_whose_jobs_were_all_pruned_is_not_at_its_first_run(store: Store, clock: Clock) -> None:
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    await clock.advance(seconds(1))
    nothing = timedelta()
    await store.prune(Retention(succeeded=nothing, others=nothing, keyed=nothing))
    assert "Needs attention" in await looked(store)


async def test_a_job_that_is_aside_needs_attention_and_has_a_button(store: Store, backend: Backend) -> None:
    """It leads to the job, whose page says why, and where it is put back."""
    job = await enqueue_one(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    async with serving(store, routes=EVERY) as api:
        visitor = Visitor(api)
        first = (await visitor.get("/")).body.decode()
        assert f"Job {job} is aside, because the database refused to move it (claim)" in first
        assert f'href="/ui/jobs/{job}"' in first
        page = (await visitor.get(f"/ui/jobs/{job}")).body.decode()
        assert "because the database refuses to claim it" in page
        assert f'action="/ui/jobs/{job}/put-back"' in page
        assert f'action="/ui/jobs/{job}/cancel"' not in page
        assert " aside" in (await visitor.get("/ui/jobs")).body.decode()


async def test_the_overview_says_what_the_doctor_says(store: Store) -> None:
    """The same findings in the same words, but for those that need a look at jobs one by one."""
    await enqueue_one(store)
    await store.pause("default", by="ann", reason="spam")
    checkup = await examine(store)
    async with serving(store, routes=EVERY) as api:
        page = html.unescape((await Visitor(api).get("/")).body.decode())
    page = re.sub("</?b>", "", page.replace("<code>", "`").replace("</code>", "`"))
    assert {"unserved", "paused"} <= {symptom.kind for symptom in checkup.symptoms}
    for symptom in checkup.symptoms:
        if symptom.kind != "clock-ahead":  # the time goes on
            assert symptom.what[1:] in page
        assert symptom.cure[1:] in page
