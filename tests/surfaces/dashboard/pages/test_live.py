"""Hints to pages that something has happened, each only to whom it concerns."""

import asyncio
import re
from importlib.resources import files

import pytest

from tenure.engine.client.feed import GLANCE, PACE
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.pages.live import TOGETHER
from tests.storage.verbs import enqueue_one
from tests.surfaces.dashboard.browser_user import visitor
from tests.surfaces.http.http_server import Api


async def test_a_namespace_hears_nothing_of_what_happens_to_others(api: Api, store: Store) -> None:
    """Not even that it does: when others are busy is their affair."""
    tenant = await visitor(api, store, "read", namespace="acme")
    operator = await visitor(api, store, "read")
    async with (
        api.listen("/ui/live", cookie=operator.cookie) as all_of_it,
        api.listen("/ui/live", cookie=tenant.cookie) as own,
    ):
        for listener in (all_of_it, own):
            assert await listener.next()  # what happened between the page and now
        hearing = asyncio.create_task(own.next())
        for _ in range(3):  # by the last of these hints, one of the first would have come here, too
            await enqueue_one(store)
            assert await all_of_it.next()
        assert not hearing.done()
        await enqueue_one(store, namespace="acme")
        assert (await hearing).event == "hint"  # type: ignore[union-attr]


async def test_a_job_page_hears_of_its_job_alone(api: Api, store: Store) -> None:
    reader = await visitor(api, store, "read")
    job = await enqueue_one(store)
    async with (
        api.listen("/ui/live", cookie=reader.cookie) as all_of_it,
        api.listen(f"/ui/jobs/{job}/live", cookie=reader.cookie) as own,
    ):
        for listener in (all_of_it, own):
            assert await listener.next()
        hearing = asyncio.create_task(own.next())
        for _ in range(3):
            await enqueue_one(store)
            assert await all_of_it.next()
        assert not hearing.done()
        await store.cancel([job])
        assert (await hearing).event == "hint"  # type: ignore[union-attr]


@pytest.mark.parametrize("begins", ["with an event", "with a line of the log"])
def test_no_wait_on_the_way_to_a_page_is_so_long_that_it_would_be_a_second_old(begins: str) -> None:
    """The longest that each part may rest; a tenth of a second is left for the work itself."""
    script = files("tenure.surfaces.dashboard").joinpath("static/dashboard.js").read_text()
    pause, look = (int(found) / 1000 for found in re.findall(r"const (?:PAUSE|LOOK) = (\d+);", script))
    to_hint = max(GLANCE + PACE, TOGETHER) if begins == "with an event" else look
    assert to_hint + pause <= 0.9
