"""Many jobs that are selected: a page asks before more than one is changed."""

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one, state_of
from tests.surfaces.dashboard.browser_user import Visitor
from tests.surfaces.http.http_server import Api


async def test_several_selected_jobs_are_changed_only_after_a_page_has_asked(api: Api, store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(3)]
    anybody = Visitor(api)
    chosen = {"act": "cancel", "job": [str(job) for job in jobs[:2]]}
    asked = await anybody.submit("/ui/jobs/act", chosen)
    assert "Cancel 2 jobs?" in asked.body.decode()
    assert 'class="harm main">Cancel 2 jobs</button>' in asked.body.decode()
    assert {await state_of(store, job) for job in jobs} == {State.QUEUED}
    done = await anybody.submit("/ui/jobs/act", {**chosen, "sure": "true"})
    assert done.headers["location"] == "/ui/jobs?did=cancel&changed=2&chosen=2"
    one = await anybody.submit("/ui/jobs/act", {"act": "cancel", "job": str(jobs[2])})
    assert one.headers["location"] == "/ui/jobs?did=cancel&changed=1&chosen=1"
    targets = [entry.entry.target for entry in await store.audit_entries()]
    assert [target.startswith("dry run: cancel: ") for target in targets] == [False, False, True]
