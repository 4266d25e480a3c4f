"""Dead letters, queues, workers, definitions, schedules and webhooks in a browser."""

from datetime import UTC, datetime
from uuid import uuid4

from playwright.async_api import Page, expect

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob, ScheduleName
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.core.webhooks.webhook import NewWebhook
from tests.browser.conftest import LIGHT, PHONE, Site, Window, check_accessible, shot
from tests.browser.screens import overhang
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
    card = page.get_by_role("row", name=queue)
    await card.get_by_text("Pause…").click()
    await card.get_by_label("Why").fill("the mail server is away")
    await card.get_by_role("button", name="Pause it").click()
    await expect(card).to_contain_text("the mail server is away")
    await page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    await expect(attention).to_contain_text(f"under the pause of queue {queue}")
    await shot(page, "overview-paused")
    await page.goto("/ui/queues")
    await card.get_by_role("button", name="Resume").click()
    await expect(card.get_by_text("Pause…")).to_be_visible()


async def test_a_worker_is_asked_to_end_in_peace(site: Site, page: Page) -> None:
    worker = f"own-{uuid4().hex[:12]}"
    await site.store.enlist(WorkerInfo(id=worker, host="h", pid=1, version="1", slots=2, lines=()))
    await page.goto("/ui/workers")
    row = page.get_by_role("row", name=worker)
    await row.get_by_text("Drain…").click()
    await row.get_by_role("button", name="Drain it").click()
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
    await page.get_by_text("Pause…").click()
    await page.get_by_label("Why").fill("the printer is away")
    await page.get_by_role("button", name="Pause it").click()
    await expect(page.locator(".notice")).to_contain_text("the printer is away")
    await page.get_by_text("Resume…").click()
    await page.get_by_label("also what passed").check()
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
    await page.get_by_text("Pause…").click()
    await page.get_by_label("Why").fill("it moves")
    await page.get_by_role("button", name="Pause it").click()
    await expect(page.locator(".notice")).to_contain_text("it moves")
    await page.get_by_text("Resume…").click()
    await page.get_by_role("button", name="Resume from now").click()
    await expect(sent).to_contain_text("given up")
    await page.get_by_text("Rotate…").click()
    await page.get_by_role("button", name="Make a new secret").click()
    await expect(page.locator("#secret")).to_contain_text("whsec_")
    await page.get_by_role("link", name="Go to the webhook").click()
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
    await page.get_by_text("Schema of its params").click()
    await expect(page.locator("#schema-1")).to_contain_text('"to"')
    await page.get_by_role("link", name="Its jobs").click()
    await expect(page.get_by_role("link", name="Remove definition mail.welcome")).to_be_visible()


async def test_what_is_typed_into_a_form_stays_while_jobs_come_in(site: Site, page: Page) -> None:
    """What is open stays open, too; and what is wrong comes back beside its field."""
    key = f"own.{uuid4().hex[:12]}"
    number = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
    await register(site.store, Spec(key=key, params_schema=write(number)))
    await page.goto(f"/ui/definitions/{key}")
    await expect(page.get_by_role("button", name="live")).to_be_visible()
    await page.get_by_label("order").fill("129,90")
    await page.get_by_text("Queue, priority, delay, key, tags").click()
    await page.get_by_label("Delay").fill("2h")
    await site.store.enqueue([NewJob(definition=key)])
    latest = page.get_by_role("region", name="Latest jobs")
    await expect(latest.get_by_role("row").nth(1)).to_contain_text("queued")
    await expect(page.get_by_label("order")).to_have_value("129,90")
    await expect(page.get_by_label("Delay")).to_have_value("2h")
    await page.get_by_role("button", name="Start job").click()
    await expect(page.get_by_text("is not a whole number; write such as 42")).to_be_visible()
    await check_accessible(page)
    await shot(page, "definition-refused")
    # On a phone, from the beginning: what the bar covers while one scrolls is small for that moment only.
    await page.set_viewport_size(PHONE["viewport"])
    await page.evaluate("() => scrollTo(0, 0)")
    await check_accessible(page, of="layout")
    await page.set_viewport_size(LIGHT["viewport"])
    await site.store.enqueue([NewJob(definition=key)])
    await expect(latest.get_by_role("row")).to_have_count(3)
    await expect(page.get_by_text("is not a whole number; write such as 42")).to_be_visible()
    await page.get_by_label("order").fill("42")
    await page.get_by_role("button", name="Start job").click()
    await expect(page.locator("h1 + .state, h1 .state").first).to_have_text("scheduled")


async def test_without_scripts_a_schedule_and_a_webhook_are_made_by_their_forms(
    site: Site, window: Window
) -> None:
    name = f"own-{uuid4().hex[:12]}"
    page = await window(site.operator, **PHONE, java_script_enabled=False)
    await page.goto("/ui/schedules")
    await page.get_by_role("link", name="New schedule").click()
    await page.get_by_label("Name", exact=False).first.fill(name)
    await page.get_by_label("Starts a definition").select_option("report.build")
    await page.get_by_role("textbox", name="When").fill("every night")
    await page.get_by_role("button", name="Create schedule").click()
    problem = page.locator(".problem")
    await expect(problem).to_have_count(1)
    await check_fits(page)
    await page.get_by_role("textbox", name="When").fill("0 3 * * *")
    await page.get_by_role("button", name="Create schedule").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(name)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Overlap").select_option("skip")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("region", name="Rules")).to_contain_text("skip while one runs")
    await page.goto("/ui/webhooks/new")
    await page.get_by_label("Endpoint").fill("http://plain.example/")
    await page.get_by_role("button", name="Create endpoint").click()
    await expect(problem).to_contain_text("begins with http://")
    await check_fits(page)
    await page.get_by_label("Endpoint").fill(f"https://{name}.example/")
    await page.get_by_role("button", name="Create endpoint").click()
    await expect(page.locator("#secret")).to_contain_text("whsec_")
    made = [one for one in await site.store.webhooks(limit=200) if name in str(one)]
    await site.store.delete_webhook(made[0].id)
    await site.store.delete_schedule(ScheduleName("default", name))


async def check_fits(page: Page) -> None:
    """Nothing of the page is wider than its window."""
    assert await overhang(page) <= 0
