"""The list of jobs and one job in a browser: they follow what happens, and buttons do what they say."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from playwright.async_api import Page, Route, expect

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine, Trail
from tenure.core.reports.access import AuditEntry
from tenure.core.reports.operations import PauseScope
from tenure.core.values.failure import Failure
from tests.browser.conftest import Site, Window, check_accessible, shot
from tests.storage.verbs import claim, found, recoverable, settle, succeeded, unrecoverable
from tests.until import until
from tests.whole import STORES


async def enqueue(site: Site, number: int = 1, **options: Any) -> tuple[str, list[UUID]]:
    """Jobs of a definition that no other test has."""
    definition = f"own.{uuid4().hex[:12]}"
    made = await site.store.enqueue([NewJob(definition=definition, **options) for _ in range(number)])
    return definition, [one.id for one in made]


async def test_words_and_pills_narrow_the_list(site: Site, page: Page) -> None:
    definition, [job, other] = await enqueue(site, 2)
    await site.store.cancel([other])
    await page.goto("/ui/jobs")
    await page.get_by_label("Narrow the list").fill(f"definition:{definition}")
    await page.keyboard.press("Enter")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(2)
    pills = page.get_by_role("navigation", name="States")
    await pills.get_by_role("link", name="cancelled 1").click()
    await expect(rows).to_have_count(1)
    await page.wait_for_load_state()  # once the fonts are there, nothing moves
    await pills.get_by_role("link", name="queued 1").click()
    await expect(rows).to_contain_text("queued")
    await pills.get_by_role("link", name="All 2").click()
    await expect(rows).to_have_count(2)
    token = page.get_by_role("link", name=f"Remove definition {definition}")
    await page.get_by_label("Narrow the list").fill("queue:nowhere")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No job matches")).to_be_visible()
    await page.get_by_role("link", name="Remove queue nowhere").click()
    await expect(rows).to_have_count(2)
    await expect(token).to_be_visible()
    await page.get_by_label("Narrow the list").fill("colour:red")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("definition:")
    await expect(token).to_be_visible()
    await page.get_by_label("Narrow the list").fill(str(job))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_contain_text(definition)


@pytest.mark.parametrize("site", STORES, indirect=True)
async def test_the_list_follows_what_happens(site: Site, page: Page) -> None:
    definition, _ = await enqueue(site)
    fetched: list[str] = []
    # The browser tells of requests from some moment after this call on, but surely of those after the next.
    page.on("request", lambda request: fetched.append(request.url) if "/ui/jobs" in request.url else None)
    await page.goto(f"/ui/jobs?q={definition}")
    await expect(page.get_by_role("button", name="live")).to_be_visible()
    row = page.locator("tbody tr")
    fetched.clear()
    [owned] = await claim(site.store, worker="a", lines=[Line("default", definition)])
    await expect(row).to_contain_text("running")
    await settle(site.store, [succeeded(owned)])
    await expect(row).to_contain_text("succeeded")
    # By one fetch each, the first of which may have been under way already, and answered late.
    assert 1 <= len(fetched) <= 8, fetched


async def test_a_phone_is_told_of_a_dead_letter_as_it_comes(site: Site, phone: Page) -> None:
    """At its thumb, on a page that shows another thing: as in the menu of a wide window."""
    definition, _ = await enqueue(site)
    await phone.goto("/ui/jobs?q=definition:nothing.like.it")
    badge = phone.locator("nav.tabs").get_by_role("link", name="Dead letters").locator(".count")
    before = int(await badge.text_content() or 0)
    [owned] = await claim(site.store, worker="a", lines=[Line("default", definition)])
    await settle(site.store, [unrecoverable(owned)])
    await expect(badge).to_have_text(str(before + 1))
    await expect(badge).to_be_visible()


async def test_a_page_that_is_held_stays_as_it_is(site: Site, page: Page) -> None:
    definition, [job] = await enqueue(site)
    await page.goto(f"/ui/jobs?q={definition}")
    await page.get_by_role("button", name="live").click()
    await expect(page.get_by_role("button", name="paused")).to_be_visible()
    await site.store.cancel([job])
    other = await page.context.new_page()
    await other.goto(f"/ui/jobs?q={definition}")
    await expect(other.locator("tbody tr")).to_contain_text("cancelled")
    await expect(page.locator("tbody tr")).to_contain_text("queued")
    await page.get_by_role("button", name="paused").click()
    await expect(page.locator("tbody tr")).to_contain_text("cancelled")


async def test_an_answer_that_comes_after_a_page_was_held_changes_nothing(site: Site, page: Page) -> None:
    definition, [job] = await enqueue(site)
    await page.goto(f"/ui/jobs?q={definition}")
    await expect(page.get_by_role("button", name="live")).to_be_visible()
    is_asked, may_come = asyncio.Event(), asyncio.Event()

    async def come_late(route: Route) -> None:
        is_asked.set()
        await may_come.wait()
        await route.continue_()

    await page.route("**/ui/jobs?*", come_late)
    await site.store.cancel([job])
    await is_asked.wait()
    await page.get_by_role("button", name="live").click()
    await page.evaluate(_COUNT_ANSWERS)
    may_come.set()
    await page.wait_for_function("() => window.answers > 0")
    await expect(page.locator("tbody tr")).to_contain_text("queued")


async def test_a_page_whose_key_was_revoked_leads_to_the_login(site: Site, window: Window) -> None:
    key = await site.key("read")
    page = await window(key)
    definition, [job] = await enqueue(site)
    await page.goto(f"/ui/jobs?q={definition}")
    await expect(page.get_by_role("button", name="live")).to_be_visible()
    await site.store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    await site.store.cancel([job])
    await expect(page.get_by_label("Key")).to_be_visible()


async def test_chosen_rows_are_cancelled_and_the_choice_outlives_a_refresh(site: Site, page: Page) -> None:
    definition, jobs = await enqueue(site, 3)
    await page.goto(f"/ui/jobs?q={definition}")
    cancel = page.get_by_role("button", name="Cancel")
    await expect(cancel).to_be_hidden()
    await page.locator(f"#row-{jobs[0]} input").check()
    await page.locator(f"#row-{jobs[1]} input").check()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    await site.store.enqueue([NewJob(definition=definition)])
    await expect(page.locator("tbody tr")).to_have_count(4)
    await expect(page.locator(f"#row-{jobs[0]} input")).to_be_checked()
    await shot(page, "jobs-chosen")
    await page.get_by_role("button", name="Clear").click()
    await expect(cancel).to_be_hidden()
    await expect(page.locator(f"#row-{jobs[0]} input")).not_to_be_checked()
    await page.locator(f"#row-{jobs[0]} input").check()
    await page.locator(f"#row-{jobs[1]} input").check()
    await cancel.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Cancel 2 jobs?")
    await check_accessible(page)
    await page.get_by_role("button", name="Cancel 2 jobs").click()
    await expect(page.get_by_role("status")).to_have_text("2 jobs were asked to stop.")
    states = [(await found(site.store, job)).state for job in jobs]
    assert states == [State.CANCELLED, State.CANCELLED, State.QUEUED]


async def test_all_that_match_are_changed_after_a_page_has_asked(site: Site, page: Page) -> None:
    definition, jobs = await enqueue(site, 60)
    await page.goto(f"/ui/jobs?q={definition}")
    await page.get_by_label("Select all on this page").check()
    await expect(page.get_by_text("50 selected")).to_be_visible()
    await page.get_by_label("all 60 that match").check()
    await expect(page.get_by_text("all 60 selected")).to_be_visible()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Cancel 60 jobs?")
    await shot(page, "jobs-sure")
    await page.get_by_role("button", name="Cancel 60 jobs").click()
    await expect(page.get_by_role("status")).to_contain_text("60 jobs were asked to stop")
    assert {(await found(site.store, job)).state for job in jobs} == {State.CANCELLED}


async def test_without_scripts_the_same_is_done(site: Site, window: Window) -> None:
    definition, jobs = await enqueue(site, 2)
    page = await window(site.operator, java_script_enabled=False)
    await page.goto(f"/ui/jobs?q={definition}")
    await page.locator(f"#row-{jobs[0]} input").check()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("status")).to_have_text("1 job was asked to stop.")
    await page.locator(f"#row-{jobs[1]} a.name").click()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.locator(".title .state")).to_have_text("cancelled")
    await page.get_by_role("button", name="Replay").click()
    await expect(page.locator(".title .state")).to_have_text("queued")
    await expect(page.get_by_role("link", name=jobs[1].hex[-8:])).to_be_visible()


async def test_a_job_is_seen_through_its_life(site: Site, page: Page) -> None:
    definition, [job] = await enqueue(site, params='{"to":"ada","password":"hunter2"}')
    await page.goto(f"/ui/jobs/{job}")
    why = page.locator("#why")
    await expect(why).to_contain_text(f"Nobody runs {definition}@1")
    # No event of the job tells of this: the page looks by itself.
    await site.store.pause(PauseScope(definition=definition), by="ann")
    await expect(why).to_contain_text(f"Definition {definition} is paused by ann")
    await site.store.resume(PauseScope(definition=definition))
    await expect(why).not_to_contain_text("paused")
    [owned] = await claim(site.store, worker="a", lines=[Line("default", definition)])
    state = page.locator(".title .state")
    await expect(state).to_have_text("running")
    line = LogLine(1, owned.started_at, "info", "a line from afar")
    await site.store.record("a", [Trail(owned.lease, (line,), ())])
    await expect(page.locator("#log")).to_contain_text("a line from afar")
    error = Failure("ValueError", "no such customer", "Traceback (most recent call last):\nValueError")
    await settle(site.store, [recoverable(owned, error=error)])
    await expect(state).to_have_text("retrying")
    await expect(page.get_by_role("group", name="Timeline")).to_contain_text("Attempt 1")
    await expect(page.locator("#error")).to_contain_text("Of attempt 1 of 3. It is tried again.")
    await page.get_by_label("Run it at this time instead, in UTC").fill("2035-01-31T08:30")
    await page.get_by_role("button", name="Reschedule").click()
    await expect(page.locator("#why")).to_contain_text("tried again at 2035-01-31 08:30:00 UTC")
    await page.get_by_role("button", name="Run now").click()
    await expect(page.locator("#history")).to_contain_text("rescheduled")
    await page.get_by_role("button", name="Give up").click()
    await expect(page.locator("#error")).to_contain_text("no such customer")
    await expect(page.locator("#params")).to_contain_text("[redacted]")
    await expect(page.locator("main")).not_to_contain_text("hunter2")


async def test_a_refresh_leaves_alone_what_somebody_has_opened_and_typed(site: Site, page: Page) -> None:
    definition, [job] = await enqueue(site)
    [owned] = await claim(site.store, worker="a", lines=[Line("default", definition)])
    await settle(site.store, [recoverable(owned, after=timedelta(hours=1))])
    await page.goto(f"/ui/jobs/{job}")
    await page.locator("#history summary").click()
    field = page.get_by_label("Run it at this time instead, in UTC")
    await field.fill("2035-01-31T08:30")
    await field.focus()
    # The page looks by itself, and finds that this has changed.
    await site.store.pause(PauseScope(definition=definition), by="ann")
    await expect(page.locator("#why")).to_contain_text("is paused by ann")
    await expect(field).to_have_value("2035-01-31T08:30")
    await expect(field).to_be_focused()
    await expect(page.locator("#history li").first).to_be_visible()

    await page.goto("/ui/dead-letters")
    words = page.get_by_label("Narrow the causes")
    await words.fill("not found by any")
    other, _ = await enqueue(site)
    [dead] = await claim(site.store, worker="a", lines=[Line("default", other)])
    await settle(site.store, [unrecoverable(dead)])
    await expect(page.get_by_role("article", name=other)).to_be_visible()
    await expect(words).to_have_value("not found by any")
    await expect(words).to_be_focused()


# An answer is swapped in at once after this event, if it is; then two pictures are drawn.
_COUNT_ANSWERS = """() => {
    window.answers = 0;
    document.addEventListener("htmx:before:swap", () => {
        requestAnimationFrame(() => requestAnimationFrame(() => { window.answers += 1; }));
    });
}"""


# A refresh that was under way may have put the end back in sight before the page knew of a reader.
_READ_FROM_THE_TOP = """async () => {
    const log = () => document.querySelector("#log");
    do {
        log().scrollTop = 0;
        for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
    } while (log().scrollTop > 0);
}"""


async def test_the_end_of_a_long_log_stays_in_sight(site: Site, window: Window) -> None:
    page = await window(site.operator, viewport={"width": 1280, "height": 2400})
    definition, [job] = await enqueue(site)
    [owned] = await claim(site.store, worker="a", lines=[Line("default", definition)])

    async def say(*numbers: int) -> None:
        lines = tuple(LogLine(n, owned.started_at, "info", f"line {n} ends") for n in numbers)
        await site.store.record("a", [Trail(owned.lease, lines, ())])

    for begin in range(1, 3_501, 500):
        await say(*range(begin, begin + 500))
    await page.goto(f"/ui/jobs/{job}")
    await expect(page.get_by_text("line 3500 ends")).to_be_in_viewport()
    await say(3_501)
    await expect(page.get_by_text("line 3501 ends")).to_be_in_viewport()
    await page.evaluate(_READ_FROM_THE_TOP)
    await say(3_502)
    await expect(page.get_by_text("line 3502 ends")).to_be_attached()
    await expect(page.get_by_text("line 3502 ends")).not_to_be_in_viewport()


async def test_what_is_shown_can_be_copied(site: Site, window: Window) -> None:
    page = await window(site.operator, permissions=["clipboard-read", "clipboard-write"])
    await page.goto(f"/ui/jobs/{site.jobs['succeeded']}")
    await page.get_by_role("region", name="Result").get_by_role("button", name="Copy").click()

    async def is_copied() -> bool:
        return '"pages": 12' in await page.evaluate("() => navigator.clipboard.readText()")

    await until(is_copied)


async def test_a_reader_finds_no_button_anywhere(site: Site, window: Window) -> None:
    page = await window(await site.key("read"))
    job = site.jobs["failed"]
    for path in ("/ui/jobs", f"/ui/jobs/{job}", "/ui/dead-letters", "/ui/queues", "/ui/workers"):
        await page.goto(path)
        await expect(page.get_by_text("can read")).to_be_visible()
        for name in ("Cancel", "Replay", "Pause", "Resume", "Drain"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
