"""How long it takes until a client that follows a list of jobs sees what has happened to one of them."""

import asyncio
import time
from collections.abc import Awaitable
from random import Random
from typing import NamedTuple, TypeVar
from uuid import UUID

from playwright.async_api import Page

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Report, Succeeded
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.chromium import launched

T = TypeVar("T")
LINE = Line("watched", "bench.watched")
PATIENCE = 30_000
_CHANCE = Random(7)
_NOTE = """() => {
    window.seen = {};
    const look = () => document.querySelectorAll("tbody tr").forEach((row) => {
        const name = row.id + row.querySelector(".state").dataset.state;
        window.seen[name] = window.seen[name] || Date.now();
    });
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


class Watched(NamedTuple):
    """A store in which jobs are changed, a window in which that is seen, and the milliseconds in between."""

    store: Store
    page: Page
    spent: list[float]

    async def see(self, change: Awaitable[T], job: UUID, state: str) -> T:
        """Change a job, at any moment, and wait until the page shows it."""
        await asyncio.sleep(_CHANCE.random())
        answer = await change
        committed = time.time() * 1000
        name = f"row-{job}{state}"
        shown = await self.page.wait_for_function("(name) => window.seen[name]", arg=name, timeout=PATIENCE)
        self.spent.append(float(await shown.json_value()) - committed)
        return answer

    async def life(self) -> None:
        """A job from its release to its end."""
        [made] = await self.store.enqueue([NewJob(definition=LINE.definition, queue=LINE.queue, hold=True)])
        await self.see(self.store.accept([made.id]), made.id, "queued")
        claiming = self.store.settle_and_claim([], Order(worker="watched", lines=(LINE,), limit=1))
        turn = await self.see(claiming, made.id, "running")
        reports = [Report(owned.lease, Succeeded()) for owned in turn.claimed]
        order = Order(worker="watched", lines=(), limit=0)
        await self.see(self.store.settle_and_claim(reports, order), made.id, "succeeded")


async def followed(url: str, address: str, jobs: int) -> list[float]:
    """See jobs through their lives; answers with what each change took from its commit to the page."""
    store = store_for(address)
    await store.open()
    try:
        async with launched() as browser:
            page = await browser.new_page()
            await page.goto(f"{url}/ui/jobs?q=definition:{LINE.definition}")
            await page.get_by_role("button", name="live").wait_for()
            await page.evaluate(_NOTE)
            watched = Watched(store, page, [])
            for _ in range(jobs):
                await watched.life()
        return watched.spent
    finally:
        await store.close()
