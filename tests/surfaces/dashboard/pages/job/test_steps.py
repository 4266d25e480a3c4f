"""The steps on a job's page, its form for signals, and the buttons for effects in doubt."""

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests import canaries
from tests.storage.progress import asking, in_doubt, keep, many_steps, waiting
from tests.storage.verbs import claim, enqueue_one, job_in, state_of
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api


async def shown(who: Visitor, path: str) -> str:
    return (await who.get(path)).body.decode()


async def test_a_job_without_steps_has_no_card_of_steps(api: Api, store: Store) -> None:
    assert "steps-title" not in await shown(Visitor(api), f"/ui/jobs/{await enqueue_one(store)}")


async def test_the_steps_are_shown_in_parts_without_secrets(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    [held] = await claim(store)
    await keep(store, held, "<plan>", f'{{"password":"{canaries.PARAM}"}}')
    page = await shown(Visitor(api), f"/ui/jobs/{job}")
    assert "&lt;plan&gt;" in page
    assert "{&#34;password&#34;:&#34;[redacted]&#34;}" in page
    many = await many_steps(store, 120)
    page = await shown(Visitor(api), f"/ui/jobs/{many}")
    assert "120 on record" in page
    assert '<span class="id">part 49</span>' in page
    assert "part 50" not in page
    assert "?steps=part+49#steps-title" in page
    page = await shown(Visitor(api), f"/ui/jobs/{many}?steps=part+49")
    assert '<span class="id">part 50</span>' in page
    assert '<span class="id">part 49</span>' not in page
    assert (await Visitor(api).get(f"/ui/jobs/{many}?steps=a/b")).status == 422


async def test_a_signal_is_sent_by_a_form(api: Api, store: Store) -> None:
    """The name of the signal that the job waits for is there already; what is no JSON is named."""
    job = await waiting(store)
    operator = await visitor(api, store, "operate")
    token, path = await operator.token(), f"/ui/jobs/{job}/signal"
    page = await shown(operator, f"/ui/jobs/{job}")
    assert f'action="{path}"' in page
    assert 'value="approved"' in page
    assert "waits for the signal approved" in page
    assert "Signal <strong>approved</strong>" in page
    for fields, status, text in (
        ({"name": "approved", "payload": "{yes}"}, 422, "payload"),
        ({"name": "a/b"}, 422, "name"),
        ({"name": ""}, 422, "name"),
    ):
        reply = await operator.submit(path, fields, token=token)
        assert (reply.status, text in reply.body.decode()) == (status, True), fields
    assert await state_of(store, job) is State.SUSPENDED
    forged = await operator.submit(path, {"name": "approved"}, token="forged")
    assert forged.status == 403
    reply = await operator.submit(path, {"name": "approved", "payload": '{"by": "ann"}'}, token=token)
    assert (reply.status, reply.headers["location"]) == (303, f"/ui/jobs/{job}")
    assert await state_of(store, job) is State.QUEUED
    [kept] = await store.signals(job)
    assert kept.body == '{"by":"ann"}'
    other = await operator.submit(path, {"name": "approved", "payload": "2"}, token=token)
    assert (other.status, b"another payload" in other.body) == (409, True)
    reader = await visitor(api, store, "read")
    assert f'action="{path}"' not in await shown(reader, f"/ui/jobs/{job}")
    assert not api.bugs


async def test_an_effect_in_doubt_is_answered_by_two_buttons(api: Api, store: Store) -> None:
    """The overview names it until somebody says what has happened; a dead letter's as well."""
    job, dead = await asking(store), await in_doubt(store, "refund")
    operator = await visitor(api, store, "operate")
    overview = await shown(operator, "/")
    for one, effect in ((job, "charge"), (dead, "refund")):
        assert f"he effect {effect} of job {one}" in overview
        assert "It happened<" in await shown(operator, f"/ui/jobs/{one}")
    sent = {"effect": "charge", "happened": "yes", "result": '{"id": 7}'}
    refused = await operator.submit(f"/ui/jobs/{job}/answer", {**sent, "result": "id 7"})
    assert (refused.status, b"result" in refused.body) == (422, True)
    assert f'href="/ui/jobs/{job}">Back to the job<'.encode() in refused.body
    assert (await operator.submit(f"/ui/jobs/{job}/answer", sent)).status == 303
    assert await state_of(store, job) is State.QUEUED
    answered = {"effect": "refund", "happened": "no", "result": ""}
    assert (await operator.submit(f"/ui/jobs/{dead}/answer", answered)).status == 303
    late = await operator.submit(f"/ui/jobs/{dead}/answer", {**answered, "happened": "yes"})
    assert (late.status, b"in doubt" in late.body) == (409, True)
    assert [step.status for one in (job, dead) for step in await store.steps(one)] == ["done", "cleared"]
    assert "It happened<" not in await shown(operator, f"/ui/jobs/{dead}")
    entries = [one.entry.action for one in await store.audit_entries()]
    assert entries.count("POST /ui/jobs/{jobId}/answer") >= 2
    assert not api.bugs


async def test_jobs_are_found_by_the_signal_that_they_wait_for(api: Api, store: Store) -> None:
    job, other = await waiting(store), await job_in(store, State.SCHEDULED)
    page = await shown(Visitor(api), "/ui/jobs?q=signal:approved")
    assert str(job) in page
    assert str(other) not in page
