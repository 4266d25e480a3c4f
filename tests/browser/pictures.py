"""Takes the pictures of the documentation: `python -m tests.browser.pictures docs/images`.

They show a store after an hour of work, with a clock that was moved through it.
"""

import asyncio
import math
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from playwright.async_api import Browser

from tenure.core.model.job import NewJob
from tenure.core.model.outcome import Recoverable, Report, Succeeded, Unrecoverable
from tenure.core.model.trail import LogLine, Trail, Usage
from tenure.core.values import documents
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store
from tests.browser.conftest import DARK, LIGHT, PHONE
from tests.browser.filled_store import DECLINED, LINES, SLOW, fill
from tests.chromium import launched
from tests.storage.backends import SqliteBackend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, seconds, settle
from tests.surfaces.dashboard.browser_user import EVERY
from tests.surfaces.http.http_server import serving

MINUTES = 60
PARTS = 5
"""Parts of a minute."""

AT_ONCE = 17
"""How many jobs are claimed at once: in the busiest minutes some wait."""

DAY = 25
"""Hours before, of which there is a little on record, so that it is known what is usual."""

AT_SECOND = 22
"""The second of a minute at which the last things happen."""

PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "overview-light": ("/", {**LIGHT, "viewport": {"width": 1280, "height": 1220}}),
    "jobs-dark": ("/ui/jobs", DARK),
    "job-light": ("/ui/jobs/{job}", LIGHT),
    "dead-letters-dark": ("/ui/dead-letters", DARK),
    "definition-light": ("/ui/definitions/mail.welcome?period=hour", LIGHT),
    "overview-phone": ("/", {**PHONE, "color_scheme": "dark"}),
    "job-phone": ("/ui/jobs/{job}", PHONE),
}


async def work_for_a_while(store: Store, clock: Clock, busy: float, chance: Random) -> None:
    """Run the jobs of a part of a minute; nearly all succeed."""
    kinds = [line.definition for line in LINES[:4]]
    await store.enqueue([NewJob(definition=kinds[n % 4]) for n in range(round(busy * chance.uniform(3, 9)))])
    wait, run = chance.uniform(0.05, 0.6) * busy, chance.lognormvariate(0, 0.5)
    await clock.advance(seconds(wait))
    owned = await claim(store, limit=AT_ONCE, lines=LINES)
    await clock.advance(seconds(run))
    await sample_pace(store)
    ends = [Unrecoverable(SLOW) if chance.random() < 0.01 else Succeeded() for _ in owned]
    await settle(store, [Report(one.lease, end) for one, end in zip(owned, ends, strict=True)])
    await clock.advance(seconds(60 / PARTS - wait - run))


async def finish(store: Store) -> None:
    """Run all that waits."""
    while rest := await claim(store, limit=100, lines=LINES):
        await settle(store, [Report(one.lease, Succeeded()) for one in rest])


async def work_for_a_day(store: Store, clock: Clock, chance: Random) -> None:
    """Run some jobs at the beginning of each hour; hardly any fails."""
    for _ in range(DAY):
        for _ in range(2 * PARTS):
            await work_for_a_while(store, clock, 2.0, chance)
        await clock.advance(timedelta(hours=1, minutes=-2))


async def charge_in_vain(store: Store, clock: Clock) -> UUID:
    """Run a job that fails until its attempts are used up, when nothing else waits."""
    await finish(store)
    params = documents.write({"customer": 4711, "amount": 990, "card": {"token": "tok_1"}})
    [made] = await store.enqueue([NewJob(definition="card.charge", params=params, tags=("checkout",))])
    for attempt in range(1, 4):
        await clock.advance(seconds(0.8 * attempt))
        await store.promote(limit=10)
        [owned] = await claim(store, lines=LINES)
        texts = [("info", "asking the gateway"), ("warning", "it takes long"), ("error", "declined")]
        lines = [LogLine(n, clock.now + seconds(n / 3), *line) for n, line in enumerate(texts, 1)]
        await store.record("a", [Trail(owned.lease, tuple(lines))])
        await clock.advance(seconds(1.3 + attempt / 2))
        used = Usage(exit_code=1, cpu=timedelta(milliseconds=260), peak_memory=41 * 2**20)
        end = Recoverable(DECLINED, seconds(2 * attempt)) if attempt < 3 else Unrecoverable(DECLINED)
        await settle(store, [Report(owned.lease, end, used)])
        await clock.advance(seconds(2 * attempt))
    return made.id


async def take(browser: Browser, url: str, folder: Path, job: UUID) -> None:
    for name, (path, options) in PICTURES.items():
        context = await browser.new_context(base_url=url, **options)
        page = await context.new_page()
        await page.goto(path.format(job=job))
        await page.locator("button.live[data-is=on]").wait_for(state="attached")
        await page.evaluate("() => document.fonts.ready")
        await page.screenshot(path=folder / f"{name}.png")
        await context.close()


async def main(folder: Path) -> None:
    with TemporaryDirectory() as place:
        backend = SqliteBackend(Path(place) / "jobs.db")
        await backend.prepare()
        clock, store = backend.clock, backend.store()
        await store.open()
        # Charts show whole minutes only: the last of them must be full of work.
        await asyncio.sleep((AT_SECOND - datetime.now(UTC).second) % 60)
        start = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=MINUTES)
        chance = Random(7)
        await clock.advance(start - timedelta(hours=DAY) - clock.now)
        await work_for_a_day(store, clock, chance)
        await clock.advance(start - clock.now)
        for part in range((MINUTES - 1) * PARTS):
            await work_for_a_while(store, clock, 2 + math.sin(part / 40), chance)
        job = await charge_in_vain(store, clock)
        for _ in range(PARTS - 2):
            await work_for_a_while(store, clock, 3.5, chance)
        await finish(store)
        await clock.advance(datetime.now(UTC) - seconds(20) - clock.now)
        await fill(store)
        await clock.advance(seconds(20))
        async with serving(store, routes=EVERY, deployment="production") as api, launched() as browser:
            await take(browser, api.server.url, folder, job)
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
