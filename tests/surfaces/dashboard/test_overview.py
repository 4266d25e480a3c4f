"""The first page: what it draws, and what it leaves to the table below."""

import html
import json
import re
from typing import Any

from tenure.storage.contract import Store
from tests.storage.clock import Clock
from tests.storage.telling import claim, enqueue_one, seconds, settle, succeeded
from tests.surfaces.dashboard.visiting import EVERY, Visitor
from tests.surfaces.http.serving import serving


async def _looked(store: Store) -> tuple[dict[str, Any], str]:
    """What the first chart is drawn from, and the page; by a server that keeps no figures from before."""
    async with serving(store, routes=EVERY) as api:
        body = (await Visitor(api).get("/")).body.decode()
    found = re.search(r'id="ended" data-points="([^"]+)"', body)
    assert found
    return json.loads(html.unescape(found[1])), body


async def test_a_minute_that_is_not_over_stands_in_the_table_and_is_drawn_once_it_is(
    store: Store, clock: Clock
) -> None:
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    drawn, body = await _looked(store)
    moments, well, *_ = drawn["data"]
    assert max(moments) + 60 <= clock.now.timestamp()
    assert sum(well) == 0
    assert re.search(r', so far</td><td class="right">1</td>', body)
    await clock.advance(seconds(60))
    drawn, body = await _looked(store)
    assert drawn["data"][1][-1] == 1
    assert re.search(r', so far</td><td class="right">0</td>', body)


async def test_counts_are_of_the_moment_though_charts_are_made_once_for_all(store: Store) -> None:
    async with serving(store, routes=EVERY) as api:
        shown = []
        for _ in range(2):
            body = (await Visitor(api).get("/")).body.decode()
            shown += re.findall(r'href="/ui/jobs\?status=queued"><b>(\d+)</b>', body)
            await enqueue_one(store)
    assert shown == ["0", "1"]
