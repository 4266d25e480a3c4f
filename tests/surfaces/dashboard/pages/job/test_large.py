"""Row 95: a job of the largest size that there can be, and what its page makes of it."""

import re
from collections.abc import Sequence
from uuid import UUID

from tenure.core.model.lease import Claimed
from tenure.core.model.outcome import Succeeded
from tenure.core.values.document_faults import LARGEST_DOCUMENT
from tenure.core.values.documents import Document, write
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.verbs import claim, enqueue_one, line, note, report, settle, trail
from tests.surfaces.dashboard.browser_user import Visitor
from tests.surfaces.http.http_server import Api

LARGEST_PAGE = 600_000
"""Bytes, of which a phone on a bad line would have its fill."""

EVENTS = 100_000
LOG = 2**20
_MANY_EVENTS = f"""
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, payload, mark)
    WITH RECURSIVE counting (n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM counting WHERE n < {EVENTS})
    SELECT job.id, n, 'running', 'running', 1, 1, job.created_at, 'custom:step', 'a', '"{"z" * 60}"', job.mark
      FROM tenure.job job CROSS JOIN counting
"""
_COUNTED = f"UPDATE tenure.job_state SET n = {EVENTS}"


def _largest() -> Document:
    empty = len(write({"password": "hunter2", "a": ""}))
    return write({"password": "hunter2", "a": "x" * (LARGEST_DOCUMENT - empty)})


async def _started(store: Store, params: Document) -> Claimed:
    await enqueue_one(store, params=params)
    [owned] = await claim(store)
    return owned


async def _say(store: Store, owned: Claimed, texts: Sequence[str]) -> None:
    await store.record("a", [trail(owned, *(line(n, text) for n, text in enumerate(texts, 1)))])


async def _shown(api: Api, job: UUID, query: str = "") -> str:
    reply = await Visitor(api).get(f"/ui/jobs/{job}{query}")
    assert reply.status == 200, reply.body
    assert len(reply.body) < LARGEST_PAGE
    return reply.body.decode()


async def test_the_largest_params_and_result_begin_on_the_page_and_are_whole_elsewhere(
    api: Api, store: Store
) -> None:
    owned = await _started(store, _largest())
    await settle(store, [report(owned, Succeeded(_largest()))])
    job = owned.lease.job
    shown = await _shown(api, job)
    assert "hunter2" not in shown
    for name in ("params", "result"):
        assert f"/ui/jobs/{job}/{name}" in shown
        whole = (await Visitor(api).get(f"/ui/jobs/{job}/{name}", accept="*/*")).body
        assert whole == _largest().encode().replace(b"hunter2", b"[redacted]")


async def test_a_log_of_a_mebibyte_is_shown_in_parts_be_its_lines_short_or_long(
    api: Api, store: Store
) -> None:
    for length in (110, 60_000):
        owned = await _started(store, write({}))
        number = LOG // length
        await _say(store, owned, [f"{n} {'y' * (length - 10)}" for n in range(1, number + 1)])
        shown = await _shown(api, owned.lease.job)
        assert f">info</span> <span>{number} yyy" in shown  # its end
        assert shown.count('class="at"') == min(number, 300)
        first = await _shown(api, owned.lease.job, "?log=0.0")
        assert ">info</span> <span>1 yyy" in first
        assert ("Later lines" in first) == (number > 300)


async def test_of_very_many_events_a_page_shows_the_last_and_leads_to_the_first(
    api: Api, store: Store, backend: Backend
) -> None:
    owned = await _started(store, write({}))
    await store.record("a", [trail(owned, note("step", '"few"'))])
    few = await _shown(api, owned.lease.job)
    for statement in (_MANY_EVENTS, _COUNTED):
        await backend.sql(statement)
    shown = await _shown(api, owned.lease.job)
    assert "100,000 events" in shown
    assert len(re.findall(r"<span>custom:step", shown)) == 100
    assert len(shown) < len(few) + 100_000
    first = await _shown(api, owned.lease.job, "?events=0")
    assert re.findall(r'<span class="n">(\d+)</span>', first)[-2:] == ["2", "1"]
