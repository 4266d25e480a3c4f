"""Dead letters, queues, workers, definitions, schedules and webhooks in a browser."""

from datetime import UTC, datetime
from uuid import uuid4

from playwright.async_api import Page, expect

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tenure.core.values.failure import Failure
from tenure.core.webhooks.webhook import NewWebhook
from tests.browser.conftest import PHONE, Site, Window, check_accessible, shot
from tests.storage.verbs import claim, settle, succeeded, unrecoverable
from tests.surfaces.http.http_server import register


async def test_dead_letters_of_one_cause_are_replayed_one_first_and_then_all(site: Site, page: Page) -> None:
    definition = f"own.{uuid4().hex[:12]}"
    await site.store.enqueue([NewJob(definition=definition) for _ in range(4)])
    owned = await claim(site.store, worker="a", lines=[Line("default", definition)])
    errors = [Failure("KeyError", f"no customer {n}") for n in range(4)]
    await settle(site.store, [unrecoverable(one, error) for one, error in zip(owned, errors, strict=True)])
    await page.goto("/ui/dead-letters")
    group = page.get_by_role("article", name=f"KeyError in {definition}")
    await expect(group).to_contain_text("4 jobs")
    await group.get_by_role("button", name="Try one").click()
    await expect(group).to_contain_text("is queued")
    [tried] = await claim(site.store, worker="a", lines=[Line("default", definition)])
    await expect(group).to_contain_text("runs since")
    await settle(site.store, [succeeded(tried)])
    # The card follows by itself; only now there is a filled button.
    await expect(group).to_contain_text("The cause seems to be gone.")
    await shot(page, "dead-letters-tried")
    await check_accessible(page)
    await group.get_by_role("button", name="Replay the other 3…").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Replay 3 jobs?")
    await page.get_by_role("button", name="Replay 3 jobs").click()
    await expect(page.get_by_role("status")).to_contain_text("3 jobs were replayed")


async def test_a_queue_is_paused_with_a_reason_and_resumed(site: Site, page: Page) -> None:
    queue = f"own-{uuid4().hex[:12]}"
    await site.store.enqueue([NewJob(definition="mail.welcome", queue=queue)])
    await page.goto("/ui/queues")
    card = page.get_by_role("region", name=f"Queue {queue}")
    await card.get_by_label(f"Why {queue} is paused").fill("the mail server is away")
    await card.get_by_role("button", name="Pause").click()
    await expect(card).to_contain_text("the mail server is away")
    await page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    await expect(attention).to_contain_text(f"under the pause of queue {queue}")
    await shot(page, "overview-paused")
    await page.goto("/ui/queues")
    await card.get_by_role("button", name="Resume").click()
    await expect(card.get_by_role("button", name="Pause")).to_be_visible()


async def test_a_worker_is_asked_to_end_in_peace(site: Site, page: Page) -> None:
    worker = f"own-{uuid4().hex[:12]}"
    await site.store.enlist(WorkerInfo(id=worker, host="h", pid=1, version="1", slots=2, lines=()))
    await page.goto("/ui/workers")
    row = page.get_by_role("row", name=worker)
    await row.get_by_role("button", name="Drain").click()
    await expect(row).to_contain_text("draining")


async def test_without_scripts_a_schedule_is_paused_run_and_deleted(site: Site, window: Window) -> None:
    name = f"own-{uuid4().hex[:12]}"
    rule = Recurrence(cron="0 3 * * *", starts_at=datetime.now(UTC))
    job = ScheduledJob(definition="report.build")
    new = NewSchedule(id=name, job=job, recurrence=rule)
    await site.store.add_schedule(new, next_at=rule.next_after(rule.starts_at))
    page = await window(site.operator, **PHONE, java_script_enabled=False)
    await page.goto("/ui/schedules?definition=report.build")
    await page.get_by_role("link", name=name).click()
    await page.get_by_label("Why it is paused").fill("the printer is away")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator(".notice")).to_contain_text("the printer is away")
    await page.get_by_label("catch up").check()
    await page.get_by_role("button", name="Resume").click()
    await page.get_by_role("button", name="Run now").click()
    run = page.get_by_role("region", name="History").get_by_role("row").nth(1)
    await expect(run).to_contain_text("by hand")
    await run.get_by_role("link").click()
    await page.get_by_role("link", name=name).click()
    await expect(page.get_by_role("button", name="Delete it")).to_be_hidden()
    await page.get_by_text("Delete…").click()
    await page.get_by_role("button", name="Delete it").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    await expect(page.get_by_role("link", name=name)).to_have_count(0)


async def test_without_scripts_a_webhook_is_tried_paused_rotated_and_deleted(
    site: Site, window: Window
) -> None:
    name = f"own-{uuid4().hex[:12]}.example"
    new = NewWebhook(id=uuid4(), url=f"https://{name}/in", events=("failed",))
    await site.store.add_webhook(new, secret=None)
    page = await window(site.operator, **PHONE, java_script_enabled=False)
    await page.goto("/ui/webhooks")
    await page.get_by_role("link", name=name).click()
    await page.get_by_role("button", name="Send a test").click()
    sent = page.get_by_role("region", name="Deliveries").get_by_role("row").nth(1)
    await expect(sent).to_contain_text("waiting")
    await sent.get_by_role("button", name="Send now").click()
    await page.get_by_label("Why it is paused").fill("it moves")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator(".notice")).to_contain_text("it moves")
    await page.get_by_role("button", name="Resume from now").click()
    await expect(sent).to_contain_text("given up")
    await page.get_by_text("Rotate…").click()
    await page.get_by_role("button", name="Make a new secret").click()
    await expect(page.locator("#secret")).to_contain_text("whsec_")
    await page.get_by_role("link", name="Back to the webhook").click()
    await expect(page.get_by_text("whsec_")).to_have_count(0)
    await expect(page.get_by_role("button", name="Delete it")).to_be_hidden()
    await page.get_by_text("Delete…").click()
    await page.get_by_role("button", name="Delete it").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")
    await expect(page.get_by_role("link", name=name)).to_have_count(0)


async def test_the_page_of_a_new_secret_can_be_used_and_fits(site: Site, page: Page) -> None:
    new = NewWebhook(id=uuid4(), url=f"https://own-{uuid4().hex[:12]}.example/in", events=("failed",))
    await site.store.add_webhook(new, secret=None)
    await page.goto(f"/ui/webhooks/{new.id}")
    await page.get_by_text("Rotate…").click()
    await page.get_by_role("button", name="Make a new secret").click()
    await expect(page.locator("#secret")).to_contain_text("whsec_")
    await check_accessible(page)
    await shot(page, "webhook-secret")
    await site.store.delete_webhook(new.id)


async def test_definitions_follow_what_workers_register(site: Site, page: Page) -> None:
    await page.goto("/ui/definitions")
    await expect(page.get_by_role("button", name="live")).to_be_visible()
    key = f"own.{uuid4().hex[:12]}"
    await register(site.store, Spec(key=key))
    await expect(page.get_by_role("link", name=key)).to_be_visible()


async def test_a_definition_is_told_with_its_schema_and_limits(site: Site, page: Page) -> None:
    await page.goto("/ui/definitions")
    await page.get_by_role("link", name="mail.welcome").click()
    await expect(page.locator("#schema-1")).to_contain_text('"to"')
    await page.get_by_role("link", name="Its jobs").click()
    await expect(page.get_by_role("link", name="Remove definition mail.welcome")).to_be_visible()
