"""What every screen shows, to whom, and what it makes of texts and numbers that somebody chose with care."""

import html
import json
import re
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec import structs

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Pulse
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.actions import many_jobs
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    enqueue_one,
    line,
    note,
    one_in_each_state,
    seconds,
    settle,
    trail,
    unrecoverable,
)
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY

SCREENS = (
    *("/", "/ui/jobs", "/ui/dead-letters", "/ui/queues", "/ui/limits", "/ui/workers"),
    *("/ui/definitions", "/ui/definitions/mail", "/ui/schedules"),
)
HOSTILE = """"'><img src=x onerror=alert(1)></script><script>alert(1)</script>"""
WORKER = WorkerInfo(id="w-1", host="one", pid=7, version="0.1.0", slots=4, lines=(Line("default", "mail"),))


def _shown(body: bytes) -> str:
    """A page as text; what a script would read is left in."""
    return body.decode()


async def test_every_screen_is_there_on_an_empty_store_and_on_a_full_one(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    for path in SCREENS:
        assert (await anybody.get(path)).status == 200, path
    jobs = await one_in_each_state(store)
    await store.enlist(WORKER)
    await store.pause("default", until=None, by="ops", reason="moving house")
    for path in (*SCREENS, *(f"/ui/jobs/{job}" for job in jobs.values())):
        reply = await anybody.get(path)
        assert reply.status == 200, path
        part = await anybody.get(path, hx_request="true", hx_request_type="partial")
        assert part.status == 200
        assert b"<html" not in part.body, path
    listed = _shown((await anybody.get("/ui/jobs")).body)
    for state, job in jobs.items():
        assert f'data-state="{state}"' in listed
        assert str(job) in listed
    assert not api.bugs


async def test_states_and_words_narrow_the_list(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    jobs = await one_in_each_state(store, tags=("red",))
    other = await enqueue_one(store, "mail", queue="slow")

    async def listed(query: str) -> set[UUID]:
        body = _shown((await anybody.get(f"/ui/jobs?{query}")).body)
        return {UUID(found) for found in re.findall(r'id="row-([0-9a-f-]{36})"', body)}

    assert await listed("") == {*jobs.values(), other}
    assert await listed("status=failed&status=buried") == {jobs[State.FAILED], jobs[State.BURIED]}
    assert await listed("q=tag:red&status=queued") == {jobs[State.QUEUED]}
    assert await listed("q=queue:slow") == {other}
    assert await listed("q=mail") == {other}
    assert await listed("q=nobody.knows") == set()
    reply = await anybody.get(f"/ui/jobs?q={other}")
    assert (reply.status, reply.headers["location"]) == (303, f"/ui/jobs/{other}")


async def test_a_list_goes_on_from_page_to_page_without_a_job_twice(api: Api, store: Store) -> None:
    made = {await enqueue_one(store) for _ in range(120)}
    anybody, found, path = Visitor(api), [], "/ui/jobs?q=mail"
    while path:
        body = _shown((await anybody.get(path)).body)
        found += re.findall(r'id="row-([0-9a-f-]{36})"', body)
        following = re.search(r'href="([^"]+)" rel="next"', body)
        path = following[1].replace("&amp;", "&") if following else ""
    assert sorted(found) == sorted(map(str, made))


async def test_a_job_that_is_rare_is_found_behind_many_that_do_not_match(api: Api, store: Store) -> None:
    rare = await enqueue_one(store, tags=("red",))
    await store.cancel([rare])
    await store.enqueue([NewJob(definition="mail", tags=("red",)) for _ in range(1_100)])
    body = _shown((await Visitor(api).get("/ui/jobs?q=tag:red&status=cancelled")).body)
    assert re.findall(r'id="row-([0-9a-f-]{36})"', body) == [str(rare)]


async def test_bad_words_and_numbers_are_refused_with_the_way_out(api: Api) -> None:
    """Row 93."""
    anybody = Visitor(api)
    for path, said in (
        ("/ui/jobs?q=colour:red", "definition:"),
        ("/ui/jobs?q=queue:%3Cscript%3E", "letters, digits"),
        ("/ui/jobs?status=%3Cscript%3E", "succeeded"),
        ("/ui/jobs?days=1000000000", "days"),
        ("/ui/jobs?changed=1e9", "whole number"),
        ("/?period=%3Cscript%3E", "hour, day"),
        (f"/ui/jobs/{NOBODY}?events=-1", "whole number"),
        (f"/ui/jobs/{NOBODY}?events=99999999999999999999", "whole number"),
        (f"/ui/jobs/{NOBODY}?log=%3Cscript%3E", "0.0"),
    ):
        reply = await anybody.get(path)
        assert reply.status == 422, path
        assert said in _shown(reply.body), path
        assert "<script>" not in _shown(reply.body)
    for path in (f"/ui/jobs/{NOBODY}", "/ui/jobs/nope", "/ui/definitions/nope", f"/ui/jobs/{NOBODY}/params"):
        assert (await anybody.get(path, accept="*/*")).status == 404, path
    assert (await anybody.get("/ui/jobs?cursor=AAAA")).status == 400


async def test_texts_that_somebody_chose_are_texts(api: Api, store: Store) -> None:
    """Rows 89, 90: params, results, errors, logs, notes, reasons, worker ids, searches and paths."""
    job = await enqueue_one(store, params=write({"note": f"\u202e{HOSTILE}", HOSTILE: 1}), key=HOSTILE)
    await store.enlist(structs.replace(WORKER, id=HOSTILE, host=HOSTILE))
    [owned] = await claim(store, worker=HOSTILE)
    forged = f"one\r\n2030-01-01 error forged\x1b[31m {HOSTILE}"
    turned = f"\u202e{HOSTILE}\x9b31m"
    said = line(1, forged, fields=write({"x": HOSTILE})), note("said", json.dumps(HOSTILE))
    await store.record(HOSTILE, [trail(owned, *said)])
    error = Failure(HOSTILE, turned, f"Traceback:\n  {turned}")
    await settle(store, [unrecoverable(owned, error)], worker=HOSTILE)
    await store.pause("default", until=None, by=HOSTILE, reason=HOSTILE)
    anybody = Visitor(api)
    token = await anybody.token()
    await anybody.submit("/ui/queues/default/pause", {"reason": HOSTILE}, token=token)
    searched = "/ui/jobs?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"
    for path in (*SCREENS, f"/ui/jobs/{job}", searched, "/ui/%3Cimg%3E"):
        body = _shown((await anybody.get(path)).body)
        assert "<img" not in body, path
        assert "alert(1)</script>" not in body, path
        assert not {"\x1b", "\x9b", "\u202e"}.intersection(body), path
    shown = _shown((await anybody.get(f"/ui/jobs/{job}")).body)
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "one\\r\\n2030-01-01 error forged\\x1b[31m" in shown
    assert not api.bugs


async def test_a_reader_sees_no_buttons(api: Api, store: Store) -> None:
    jobs = await one_in_each_state(store)
    await store.enlist(WORKER)
    reader, operator = [await visitor(api, store, scope) for scope in ("read", "operate")]
    for path in (*SCREENS, *(f"/ui/jobs/{job}" for job in jobs.values())):
        shown = _shown((await reader.get(path)).body)
        assert re.findall(r'<form method="post" action="([^"]+)"', shown) == ["/logout"], path
        assert 'name="act"' not in shown
        assert 'name="job"' not in shown
    shown = _shown((await operator.get("/ui/jobs")).body)
    assert 'name="act" value="cancel"' in shown


async def test_a_namespace_sees_its_own_jobs_and_nothing_of_others(api: Api, store: Store) -> None:
    own = await enqueue_one(store, namespace="acme")
    others = await enqueue_one(store)
    tenant = await visitor(api, store, "operate", namespace="acme")
    assert (await tenant.get("/")).headers["location"] == "/ui/jobs"
    listed = _shown((await tenant.get("/ui/jobs")).body)
    assert str(own) in listed
    assert str(others) not in listed
    assert 'href="/ui/queues"' not in listed
    assert (await tenant.get(f"/ui/jobs/{own}")).status == 200
    assert (await tenant.get(f"/ui/jobs/{others}")).status == 404
    assert (await tenant.get("/ui/queues")).status == 403
    token = re.findall(r'name="csrf-token" content="([0-9a-f]+)"', listed)[0]
    choice = {"act": "cancel", "job": [str(own), str(others)], "sure": "true"}
    reply = await tenant.submit("/ui/jobs/act", choice, token=token)
    assert reply.headers["location"] == "/ui/jobs?did=cancel&changed=1&chosen=2"
    assert (await store.get(others)).state is State.QUEUED  # type: ignore[union-attr]


async def test_many_jobs_are_changed_only_after_a_page_has_said_how_many(api: Api, store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(5)]
    anybody = Visitor(api)
    token = await anybody.token()
    every = {"act": "cancel", "every": "true", "q": "mail"}
    asked = await anybody.submit("/ui/jobs/act", every, token=token)
    assert asked.status == 200
    assert "Cancel 5 jobs?" in _shown(asked.body)
    assert {(await store.get(job)).state for job in jobs} == {State.QUEUED}  # type: ignore[union-attr]
    done = await anybody.submit("/ui/jobs/act", {**every, "sure": "true"}, token=token)
    assert (done.status, done.headers["location"]) == (303, "/ui/jobs?q=mail&did=cancel&changed=5")
    again = {"act": "replay", "every": "true", "q": "mail", "status": "cancelled", "sure": "true", "key": "k"}
    for changed in (5, 0):  # the same page sent twice
        done = await anybody.submit("/ui/jobs/act", again, token=token)
        assert done.headers["location"].endswith(f"did=replay&changed={changed}&status=cancelled"), done
    targets = [one.entry.target for one in await store.audit_entries()]
    assert targets == [
        *["replay every: mail cancelled"] * 2,
        "cancel every: mail",
        "dry run: cancel every: mail",
    ]
    assert "5 jobs were replayed" in _shown((await anybody.get("/ui/jobs?did=replay&changed=5")).body)


async def test_dead_letters_are_deleted_after_a_question_with_their_number(
    api: Api, store: Store, clock: Clock
) -> None:
    """Those whose idempotency key still counts stay, and the page says so; so do jobs that are not dead."""
    for key in (None, None, "order-7"):
        await enqueue_one(store, key=key)
    owned = await claim(store)
    alive = await enqueue_one(store)
    await settle(store, [unrecoverable(one) for one in owned])
    await clock.advance(seconds(1))
    anybody = Visitor(api)
    token = await anybody.token()
    page = _shown((await anybody.get("/ui/dead-letters")).body)
    form = page[page.index('value="purge"') - 200 :]
    fields = dict(re.findall(r'name="(act|every|q)" value="([^"]*)"', form)[:3])
    fields["status"] = ["failed", "buried"]
    assert (fields["act"], fields["every"]) == ("purge", "true")
    asked = _shown((await anybody.submit("/ui/jobs/act", fields, token=token)).body)
    assert "Delete 2 jobs?" in asked
    assert "1 more, for their idempotency keys" in asked
    assert all([await store.get(one.lease.job) for one in owned])
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked)
    sure = {**{name: html.unescape(value) for name, value in hidden}, "status": ["failed", "buried"]}
    done = await anybody.submit("/ui/jobs/act", sure, token=token)
    assert done.status == 303
    assert "did=purge&changed=2" in done.headers["location"]
    assert "2 dead letters were deleted" in _shown((await anybody.get(done.headers["location"])).body)
    left = [await store.get(one.lease.job) is not None for one in owned]
    assert (left, await store.get(alive) is not None) == ([False, False, True], True)
    refused = await anybody.submit("/ui/jobs/act", {"act": "purge", "job": str(alive)}, token=token)
    assert refused.status == 422


async def test_what_is_too_much_for_one_request_goes_on_with_the_next(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_jobs, "PORTION", 1)
    await store.enqueue([NewJob(definition="mail") for _ in range(1_100)])
    anybody = Visitor(api)
    token = await anybody.token()
    fields = {"act": "cancel", "every": "true", "sure": "true", "status": "queued", "key": "k"}
    first = await anybody.submit("/ui/jobs/act", fields, token=token)
    assert "1,000 done, and there are more" in _shown(first.body)
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', _shown(first.body))
    rest = await anybody.submit("/ui/jobs/act", dict(hidden), token=token)
    assert rest.headers["location"] == "/ui/jobs?did=cancel&changed=1100&status=queued"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"act": "cancel"}, "no job is selected"),
        ({"act": "explode", "job": NOBODY}, "act"),
        ({"act": "cancel", "job": "1"}, "36 characters"),
        ({"act": "cancel", "every": "true", "status": "failed"}, "choose other states"),
        ({"act": "replay", "every": "true", "q": "colour:red"}, "definition:"),
        ({"act": "cancel", "job": [NOBODY] * 501}, "too many"),
        ({"act": "cancel", "every": "true", "q": NOBODY}, "names one job"),
    ],
)
async def test_a_choice_without_sense_is_refused(api: Api, fields: dict[str, object], said: str) -> None:
    reply = await Visitor(api).submit("/ui/jobs/act", fields)
    assert reply.status == 422
    assert said in _shown(reply.body)


async def test_buttons_of_a_job_do_what_they_say(api: Api, store: Store) -> None:
    jobs = await one_in_each_state(store)
    anybody = Visitor(api)
    token = await anybody.token()

    async def press(state: State, name: str) -> tuple[int, str | None]:
        reply = await anybody.submit(f"/ui/jobs/{jobs[state]}/{name}", token=token)
        return reply.status, reply.headers.get("location")

    for state, name in (
        (State.CREATED, "release"),
        (State.SCHEDULED, "run-now"),
        (State.RETRYING, "run-now"),
        (State.RETRYING, "give-up"),
        (State.QUEUED, "cancel"),
        (State.RUNNING, "cancel"),
        (State.CANCELLED, "cancel"),
    ):
        assert await press(state, name) == (303, f"/ui/jobs/{jobs[state]}"), name
    status, address = await press(State.FAILED, "replay")
    assert status == 303
    assert address != f"/ui/jobs/{jobs[State.FAILED]}"
    for state, name in (
        (State.FAILED, "cancel"),
        (State.SUCCEEDED, "release"),
        (State.SCHEDULED, "replay"),
        (State.RETRYING, "run-now"),  # it was given up
        (State.SUSPENDED, "run-now"),
    ):
        assert (await press(state, name))[0] == 409, (state, name)
    assert (await press(State.QUEUED, "replay"))[0] == 303
    for name in ("cancel", "replay", "release", "give-up", "run-now", "put-back"):
        assert (await anybody.submit(f"/ui/jobs/{NOBODY}/{name}", token=token)).status == 404


async def test_queues_and_workers_are_stopped_and_let_go(api: Api, store: Store) -> None:
    await enqueue_one(store)
    await store.enlist(WORKER)
    operator = await visitor(api, store, "operate")
    token = await operator.token()

    async def shown(path: str) -> str:
        return _shown((await operator.get(path)).body)

    assert '<td class="right tight wide muted">1</td>' in await shown("/ui/queues")
    paused = await operator.submit("/ui/queues/default/pause", {"reason": "moving"}, token=token)
    assert paused.status == 303
    assert "moving" in await shown("/ui/queues")
    assert (await operator.submit("/ui/queues/default/resume", token=token)).status == 303
    assert "Workers claim nothing" not in await shown("/ui/queues")
    assert (await operator.submit("/ui/queues/a%2Fb/pause", token=token)).status == 404
    assert (await operator.submit("/ui/workers/w-1/drain", token=token)).status == 303
    assert "draining" in await shown("/ui/workers")
    assert (await operator.submit("/ui/workers/nobody/drain", token=token)).status == 404


async def test_why_a_job_does_not_run_is_said(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    anybody = Visitor(api)

    async def said() -> str:
        return _shown((await anybody.get(f"/ui/jobs/{job}")).body)

    assert "Nobody runs mail@1." in await said()
    await store.enlist(WORKER)
    assert "1 worker serves it, but cannot run jobs now" in await said()
    await store.heartbeat(Pulse(worker=WORKER.id, leases=[], ready=True))
    assert "It is the next of mail@1 in queue default" in await said()
    await store.pause("default", until=None, by="ops", reason="moving")
    paused = await said()
    assert "Queue default is paused by ops (moving) until it is resumed." in paused
    assert "<code>tenure queues resume default</code>" in paused
    assert "It is the next of mail@1" in paused, "what else is in its way is told as well"
    held = await enqueue_one(store, hold=True, delay=timedelta(hours=1))
    assert "It is held" in _shown((await anybody.get(f"/ui/jobs/{held}")).body)


async def test_dead_letters_are_told_by_their_cause(api: Api, store: Store) -> None:
    for n in range(3):
        await enqueue_one(store, params=write({"n": n}))
        [owned] = await claim(store)
        await settle(store, [unrecoverable(owned, Failure("KeyError", f"no customer {n}"))])
    anybody = Visitor(api)
    shown = _shown((await anybody.get("/ui/dead-letters")).body)
    assert "3 jobs that failed for good" in shown
    assert shown.count('<span class="bad">KeyError</span>') == 1
    [search] = set(re.findall(r'name="q" value="(fingerprint:mail:[0-9a-f]{12})"', shown))
    listed = _shown((await anybody.get(f"/ui/jobs?q={search}")).body)
    assert listed.count('id="row-') == 3
