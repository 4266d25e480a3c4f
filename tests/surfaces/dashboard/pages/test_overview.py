"""The first page: what it draws, and what it leaves to the table below."""

import html
import json
import re
from typing import Any

import pytest

from tenure.core.model.aside import JobsAside
from tenure.engine.health.checkup import examine
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded
from tests.surfaces.dashboard.browser_user import EVERY, Visitor
from tests.surfaces.http.http_server import serving


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
    page = page.replace("<code>", "`").replace("</code>", "`")
    assert {"unserved", "paused"} <= {symptom.kind for symptom in checkup.symptoms}
    for symptom in checkup.symptoms:
        if symptom.kind != "clock-ahead":  # the time goes on
            assert symptom.what[1:] in page
        assert symptom.cure[1:] in page
