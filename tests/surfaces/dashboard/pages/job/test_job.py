"""The page of one job: what it is told of the job, and what it keeps to itself."""

from datetime import UTC, datetime

from tenure.core.model.lease import Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, found, job_in
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api


async def test_what_a_job_counts_for_and_how_far_it_is_are_told_without_secrets(
    api: Api, store: Store
) -> None:
    limits = (Limit("mail", "ada", 5), Limit("mail", "tok-1", 5))
    job = await enqueue_one(store, params=write({"to": "ada", "token": "tok-1"}), limits=limits)
    [owned] = await claim(store)
    said = Progress(0.5, "asked with password=hunter2")
    await store.heartbeat(Pulse(worker="a", leases=[owned.lease], progress={owned.lease: said}))
    shown = (await Visitor(api).get(f"/ui/jobs/{job}")).body.decode()
    assert '<a href="/ui/limits">mail</a> for ada, <a href="/ui/limits">mail</a> for [redacted]' in shown
    assert "<b>50 %</b><span>asked with password=[redacted]</span>" in shown
    assert "tok-1" not in shown
    assert "hunter2" not in shown


async def test_a_job_that_waits_is_moved_by_a_form(api: Api, store: Store) -> None:
    """A browser's field knows no zone: its time is in UTC. What cannot be taken is named; nothing is lost."""
    job = await job_in(store, State.SCHEDULED)
    operator = await visitor(api, store, "operate")
    token, path = await operator.token(), f"/ui/jobs/{job}/reschedule"
    shown = (await operator.get(f"/ui/jobs/{job}")).body.decode()
    assert "Run now</button>" in shown
    assert f'action="{path}"' in shown
    assert (await operator.submit(path, {"run_at": "2035-01-31T08:30"}, token=token)).status == 303
    assert (await found(store, job)).due_at == datetime(2035, 1, 31, 8, 30, tzinfo=UTC)
    for wrong in ("", "soon", "2035-02-31T08:30", "2999-01-31T08:30"):
        reply = await operator.submit(path, {"run_at": wrong}, token=token)
        assert (reply.status, "run_at" in reply.body.decode()) == (422, True), wrong
    assert (await operator.submit(path, {"run_at": "2035-01-31T09:30"}, token="forged")).status == 403
    moved = [event.payload for event in await store.events(job) if event.type == "rescheduled"]
    assert len(moved) == 1
    entries = [one.entry.action for one in await store.audit_entries()]
    assert "POST /ui/jobs/{jobId}/reschedule" in entries

    reader = await visitor(api, store, "read")
    assert "Run now" not in (await reader.get(f"/ui/jobs/{job}")).body.decode()
