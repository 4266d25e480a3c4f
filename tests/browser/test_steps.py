"""Steps in a browser: a signal is sent by its form, and a doubt ended by a button."""

from uuid import UUID, uuid4

import pytest
from playwright.async_api import Page, expect

from tenure.core.model.durable import StepDraft, StepKind, StepStatus, Suspension, Wait, WaitKind
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line
from tenure.core.values.documents import Document
from tests.browser.conftest import PHONE, Site, Window, check_accessible, shot
from tests.storage.verbs import claim


async def claimed(site: Site) -> Claimed:
    """A job of a definition of its own, which runs."""
    definition = f"own.{uuid4().hex[:12]}"
    await site.store.enqueue([NewJob(definition=definition)])
    [held] = await claim(site.store, worker="w", lines=[Line("default", definition)])
    return held


async def suspended(site: Site) -> UUID:
    """A job that has kept steps, waits for an approval, and has an effect in doubt."""
    held = await claimed(site)
    steps = [
        ("plan", StepKind.STEP, StepStatus.DONE, '{"parts":["parse","price"],"total":129.5}'),
        ("fetch the invoice", StepKind.STEP, StepStatus.DONE, '"inv-2030-17"'),
        ("charge", StepKind.ONCE, StepStatus.INTENDED, None),
    ]
    drafts = [
        StepDraft(name=name, kind=kind, status=status, body=None if body is None else Document(body))
        for name, kind, status, body in steps
    ]
    await site.store.keep_steps("w", [(held.lease, draft) for draft in drafts])
    wait = Wait(kind=WaitKind.SIGNAL, step="wait:approved", signal="approved")
    await site.store.suspend("w", [Suspension(held.lease, wait)])
    return held.lease.job


async def test_a_job_is_told_what_it_waits_for_and_what_has_happened(site: Site, page: Page) -> None:
    job = await suspended(site)
    await page.goto(f"/ui/jobs/{job}")
    steps, card = (
        page.get_by_role("region", name="Steps"),
        page.get_by_role("region", name="Has it happened?"),
    )
    await expect(page.locator("#why")).to_contain_text("waits for the signal approved")
    await expect(steps.get_by_role("row", name="plan")).to_contain_text('"total":129.5')
    await shot(page, "job-steps")
    await check_accessible(page)
    await page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    await expect(attention).to_contain_text(f"effect charge of job {job}")
    await shot(page, "overview-doubt")
    await page.goto(f"/ui/jobs/{job}")
    await card.get_by_label("with the result of charge").fill('{"charge": "ch_17"}')
    await card.get_by_role("button", name="It happened: charge").click()
    await expect(steps.get_by_role("row", name="charge")).to_contain_text("kept")
    card = page.get_by_role("region", name="Send the signal it waits for")
    await card.get_by_label("with the payload").fill('{"by": "ann"}')
    await card.get_by_role("button", name="Send signal").click()
    await expect(page.locator(".title .state")).to_have_text("queued")
    assert [signal.body for signal in await site.store.signals(job)] == ['{"by":"ann"}']


@pytest.mark.parametrize("site", ["sqlite"], indirect=True, scope="session")
async def test_steps_fit_a_phone(site: Site, window: Window) -> None:
    job = await suspended(site)
    phone = await window(site.operator, **PHONE)
    await phone.goto(f"/ui/jobs/{job}")
    card = phone.get_by_role("region", name="Has it happened?")
    await expect(card.get_by_role("button", name="It did not happen: charge")).to_be_visible()
    await card.scroll_into_view_if_needed()
    await shot(phone, "job-steps-phone")
    width = await phone.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
    await check_accessible(phone)
