"""The parts of a job's page: why it does not run, what it does now, its error, its log, what it started."""

import re
from datetime import timedelta
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.progress import keep
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    job_in,
    line,
    recoverable,
    seconds,
    settle,
    succeeded,
    trail,
    unrecoverable,
)
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api

WORKER = WorkerInfo(id="w-1", host="one", pid=7, version="0.1.0", slots=4, lines=(MAIL,))


async def shown(who: Visitor, job: UUID, query: str = "") -> str:
    reply = await who.get(f"/ui/jobs/{job}{query}")
    assert reply.status == 200, reply.body
    return reply.body.decode()


def text_of(page: str, title: str) -> str:
    """The text of the card with this title."""
    [card] = [one for one in re.findall(r"<section.*?</section>", page, re.DOTALL) if f">{title}<" in one]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", card)).strip()


async def serve(store: Store) -> None:
    await store.enlist(WORKER)
    await store.heartbeat(Pulse(worker=WORKER.id, leases=[], ready=True))


async def test_what_is_in_the_way_is_told_with_where_to_act_and_what_is_not_the_reason(
    api: Api, store: Store
) -> None:
    await serve(store)
    limits = (Limit("ledger", "", 1),)
    running = await enqueue_one(store, limits=limits)
    await claim(store, worker="w-1")
    waiting = await enqueue_one(store, limits=limits)
    anybody = await visitor(api, store, "read")
    why = text_of(await shown(anybody, waiting), "Why it does not run yet")
    assert "Limit ledger is full: 1 of 1 jobs run under it. It starts when one of them ends." in why
    assert f"Longest: {running.hex[-8:]} since" in why
    assert "1 worker serves it, ready, 3 slots free Nothing is paused. Workers" in why
    await store.pause("default", by="ann", reason="moving")
    why = text_of(await shown(anybody, waiting), "Why it does not run yet")
    assert "Queue default is paused by ann (moving) until it is resumed." in why
    assert why.index("paused") < why.index("ledger")
    assert "Nothing is paused" not in why
    tenant = await visitor(api, store, "read", namespace="default")
    assert 'href="/ui/limits"' not in await shown(tenant, waiting)


async def test_a_page_with_a_button_names_no_command_for_it(api: Api, store: Store) -> None:
    held, later = await job_in(store, State.CREATED), await job_in(store, State.SCHEDULED)
    operator = await visitor(api, store, "operate")
    page = await shown(operator, held)
    assert "It is held until you release it." in page
    assert "tenure jobs accept" not in page
    assert 'class="main">Release</button>' in page
    page = await shown(operator, later)
    assert "It is scheduled for" in page
    assert "tenure jobs run-now" not in page
    assert "Run now</button>" in page


async def test_a_running_job_tells_what_came_before_when_it_is_stopped_and_how_long_it_may_take(
    api: Api, store: Store, clock: Clock
) -> None:
    job = await enqueue_one(store, policy=Policy(timeout=timedelta(minutes=30)))
    [lost] = await claim(store, worker="mill-1", lease_for=seconds(30))
    await clock.advance(seconds(31))
    await store.reap(limit=10)
    [owned] = await claim(store, worker="mill-2")
    said = Progress(0.5, "page 20 of 40")
    await store.heartbeat(Pulse(worker="mill-2", leases=[owned.lease], progress={owned.lease: said}))
    page = await shown(Visitor(api), job)
    notice = re.sub(r"<[^>]*>", "", page[page.index('id="why"') : page.index('id="why"') + 700])
    assert "Running on mill-2 for" in notice
    assert "This is attempt 2 of 3: attempt 1 lost its worker mill-1 at" in notice
    assert re.search(r"stopped at .*\d\d:\d\d:\d\d if it has not ended", notice)
    assert "<b>50 %</b><span>page 20 of 40</span>" in page
    assert f"Attempt {lost.attempt}</span>" in page


async def test_the_error_of_a_dead_letter_names_the_others_and_how_it_was_given_up(
    api: Api, store: Store
) -> None:
    error = Failure("OSError", "no route to host 7", "Traceback (most recent call last):\nOSError")
    for _ in range(3):
        await enqueue_one(store)
    owned = await claim(store, limit=3)
    await settle(store, [unrecoverable(one, error) for one in owned])
    reader, tenant = [await visitor(api, store, "read", namespace=name) for name in (None, "acme")]
    page = await shown(reader, owned[0].lease.job)
    assert "Not tried again after attempt 1 of 3" in page
    assert re.search(r'<a href="/ui/jobs\?q=fingerprint:mail[^"]*">2 other jobs</a> died of this', page)
    theirs = await enqueue_one(store, namespace="acme")
    [held] = await claim(store)
    await settle(store, [unrecoverable(held, error)])
    assert "3 other jobs" in await shown(reader, theirs)
    assert "other job" not in await shown(tenant, theirs)


async def test_the_log_is_of_all_attempts_of_one_or_warnings_alone(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    [first] = await claim(store)
    await store.record(
        "a",
        [trail(first, line(1, "one", fields=write({"page": 1, "of": "a b"})), line(2, "slow", "warning"))],
    )
    await settle(store, [recoverable(first, after=seconds(0))])
    await store.promote(limit=10)
    [second] = await claim(store)
    await store.record("a", [trail(second, line(1, "two"), line(2, "torn", "error"))])
    anybody = Visitor(api)

    async def lines(query: str = "") -> list[str]:
        page = await shown(anybody, job, query)
        return re.findall(r'<span class="level">\w+</span> <span>([a-z]+)', page)

    assert await lines() == ["one", "slow", "two", "torn"]
    assert await lines("?level=warnings") == ["slow", "torn"]
    assert await lines(f"?of={first.lease.fence}") == ["one", "slow"]
    assert await lines(f"?of={second.lease.fence}") == ["two", "torn"]
    page = await shown(anybody, job)
    assert '<span class="more">page=1 of=&#34;a b&#34;</span>' in page
    assert '<p class="attempt">Attempt 2 on a</p>' in page
    assert (await anybody.get(f"/ui/jobs/{job}?level=loud")).status == 422
    assert (await anybody.get(f"/ui/jobs/{job}?trace=loud")).status == 422


async def test_the_jobs_that_it_started_are_listed_to_those_who_may_see_them(api: Api, store: Store) -> None:
    parent = await enqueue_one(store)
    started = [NewJob(definition="chart", parent=parent) for _ in range(3)]
    made = await store.enqueue([*started, NewJob(definition="chart", parent=parent, namespace="acme")])
    [owned] = await claim(store, lines=[Line("default", "chart")], limit=1)
    await settle(store, [succeeded(owned)])
    reader = await visitor(api, store, "read")
    card = text_of(await shown(reader, parent), "Jobs it started")
    assert "1 of 4 ended" in card
    tenant = await visitor(api, store, "read", namespace="default")
    card = text_of(await shown(tenant, parent), "Jobs it started")
    assert "1 of 3 ended" in card
    assert made[3].id.hex[-8:] not in card
    assert "Jobs it started" not in await shown(tenant, made[0].id)


async def test_steps_stand_in_the_timeline_below_their_attempt(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    [held] = await claim(store)
    await keep(store, held, "fetch <rows>")
    page = await shown(Visitor(api), job)
    assert '<span class="step">fetch &lt;rows&gt;</span>' in page


async def test_attempts_that_ended_alike_say_so(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    for attempt in (1, 2):
        [owned] = await claim(store)
        end = recoverable(owned, after=seconds(0)) if attempt == 1 else unrecoverable(owned)
        await settle(store, [end])
        await store.promote(limit=10)
    card = text_of(await shown(Visitor(api), job), "Attempts")
    assert "both ended alike" in card
    assert card.count("the same place") == 2
