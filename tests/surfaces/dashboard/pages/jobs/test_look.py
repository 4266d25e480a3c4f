"""Searching by what no index has: texts of errors, params, workers, schedules and keys."""

from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.outcome import Unrecoverable
from tenure.core.reports.reading import Filter
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.pages.jobs import look
from tests.storage.verbs import claim, enqueue_one, recoverable, report, settle
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api

TIMEOUT = Failure("OSError", "the ledger timed out, password=hunter2")


async def listed(visitor: Visitor, query: str, jobs: list[UUID]) -> list[UUID]:
    reply = await visitor.get(f"/ui/jobs?q={query}")
    assert reply.status == 200, reply.body
    return [job for job in jobs if f'id="row-{job}"' in reply.body.decode()]


async def failed(store: Store, error: Failure, **fields: Any) -> UUID:
    job = await enqueue_one(store, **fields)
    [owned] = await claim(store, worker="mill-1:7")
    await settle(store, [report(owned, Unrecoverable(error))], worker="mill-1:7")
    return job


async def test_each_word_finds_its_jobs_and_says_among_which(api: Api, store: Store) -> None:
    dead = await failed(store, TIMEOUT, params='{"to":"ann","customer":{"id":7},"secret":"xyz"}')
    other = await failed(store, Failure("ValueError", "bad digit"), params='{"to":"bob"}')
    made = await enqueue_one(store, creator="schedule:nightly", key="order-7")
    jobs, anybody = [dead, other, made], Visitor(api)
    for query, found in {
        "error:TIMED": [dead],
        "error:%22ledger+timed%22": [dead],
        "error:valueerror:": [other],
        "error:timed+worker:mill-1": [dead],
        "param.to:ann": [dead],
        "param.customer.id:7": [dead],
        "worker:mill-1:7": [dead, other],
        "worker:mill-1+param.to:bob": [other],
        "schedule:nightly": [made],
        "key:order-7": [made],
        "key:order": [],
        # What a page would not tell, a search does not find.
        "error:hunter2": [],
        "param.secret:xyz": [],
        "param.secret.x:xyz": [],
    }.items():
        assert await listed(anybody, query, jobs) == found, query
    by_cause = (await anybody.get("/ui/jobs?q=error:timed")).body.decode()
    assert look.CAUSES in by_cause
    assert "among the newest 3 jobs" in (await anybody.get("/ui/jobs?q=key:order-7")).body.decode()


async def test_errors_of_jobs_that_still_run_are_found_in_their_states(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, error=TIMEOUT)])
    assert await listed(Visitor(api), "error:timed", [job]) == []
    assert await listed(Visitor(api), "error:timed&status=retrying", [job]) == [job]


async def test_pages_of_what_was_found_leave_none_out(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several causes, which are walked side by side, and of a look that ends before the list does."""
    monkeypatch.setattr("tenure.surfaces.dashboard.pages.jobs.job_list.PAGE", 2)
    monkeypatch.setattr(look, "LARGEST_PAGE", 3)
    monkeypatch.setattr(look, "MOST_LOOKED_THROUGH", 3)
    kinds = ["A", "B", "A", "A", "B", "A", "B"]
    jobs = [await failed(store, Failure(kind, "boom"), params='{"to":"x"}') for kind in kinds]
    for query in ("error:boom", "param.to:x", "error:boom&sort=createdAt", "error:boom+worker:mill-1"):
        seen: list[UUID] = []
        path: str | None = f"/ui/jobs?q={query}"
        while path:
            body = (await Visitor(api).get(path)).body.decode()
            seen += [job for job in jobs if f'id="row-{job}"' in body]
            _, found, rest = body.partition('rel="next"')
            path = body.partition(' rel="next"')[0].rpartition('href="')[2].rstrip('"').replace("&amp;", "&")
            path = path if found and rest else None
        assert sorted(seen) == sorted(jobs), query


async def test_all_that_match_are_not_changed_by_a_look(api: Api, store: Store) -> None:
    job = await failed(store, TIMEOUT)
    fields = {"act": "replay", "every": "true", "sure": "true", "q": "error:timed"}
    reply = await Visitor(api).submit("/ui/jobs/act", fields)
    assert reply.status == 422
    assert (await store.page(Filter())).jobs[0].id == job


async def test_a_namespace_finds_only_its_own(api: Api, store: Store) -> None:
    foreign = await failed(store, TIMEOUT, params='{"to":"ann"}', namespace="globex")
    own = await failed(store, TIMEOUT, params='{"to":"ann"}', namespace="acme")
    tenant = await visitor(api, store, "read", namespace="acme")
    for query in ("error:timed", "param.to:ann"):
        assert await listed(tenant, query, [foreign, own]) == [own]


async def test_a_job_is_found_by_the_beginning_of_its_id(api: Api, store: Store) -> None:
    job = await enqueue_one(store, id=UUID("01a1e11e-1234-7000-8000-0000abcdef12"))
    reply = await Visitor(api).get("/ui/jobs?q=01a1e11e1234")
    assert (reply.status, reply.headers["location"]) == (303, f"/ui/jobs/{job}")


async def test_params_stand_in_the_list_in_brief(api: Api, store: Store) -> None:
    await enqueue_one(
        store, params='{"to":"ann","lines":[1],"token":"xyz","ok":true,"long":"' + "é" * 200 + '"}'
    )
    body = (await Visitor(api).get("/ui/jobs")).body.decode()
    assert "to=ann token=[redacted] ok=true long=é" in body
    assert "xyz" not in body
    assert "é" * 80 not in body
