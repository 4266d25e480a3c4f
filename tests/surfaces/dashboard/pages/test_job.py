"""The page of one job: what it is told of the job, and what it keeps to itself."""

from tenure.core.model.lease import Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one
from tests.surfaces.dashboard.browser_user import Visitor
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
    assert "<dt>Concurrency keys</dt><dd>ada, [redacted]</dd>" in shown
    assert "50 % · asked with password=[redacted]" in shown
    assert "tok-1" not in shown
    assert "hunter2" not in shown
