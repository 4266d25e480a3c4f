"""Searching for the eight characters at the end of an id, which is what lists show."""

from uuid import UUID

from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api


async def test_a_job_is_found_by_the_end_of_its_id(api: Api, store: Store) -> None:
    """As lists show it; of several a choice, and where there is none, it is said how far was looked."""
    job = await enqueue_one(store)
    anybody = Visitor(api)
    found = await anybody.get(f"/ui/jobs?q={job.hex[-8:].upper()}")
    assert (found.status, found.headers["location"]) == (303, f"/ui/jobs/{job}")
    alike = [UUID(f"01a1e11e-0000-700{n}-8000-0000abcdef12") for n in range(2)]
    for one in alike:
        await enqueue_one(store, id=one)
    choice = await anybody.get("/ui/jobs?q=abcdef12")
    assert choice.status == 200
    for one in alike:
        assert f'href="/ui/jobs/{one}"' in choice.body.decode()
    missed = (await anybody.get("/ui/jobs?q=00000000")).body.decode()
    assert "None of the newest 100,000 jobs has an id that ends so" in missed


async def test_the_end_of_an_id_may_be_the_name_of_a_definition(api: Api, store: Store) -> None:
    job = await enqueue_one(store, "deadbeef")
    listed = await Visitor(api).get("/ui/jobs?q=deadbeef")
    assert (listed.status, f'id="row-{job}"' in listed.body.decode()) == (200, True)


async def test_the_search_of_a_namespace_finds_no_job_of_another(api: Api, store: Store) -> None:
    job = await enqueue_one(store, namespace="globex")
    tenant = await visitor(api, store, "read", namespace="acme")
    reply = await tenant.get(f"/ui/jobs?q={job.hex[-8:]}")
    assert (reply.status, str(job).encode() in reply.body) == (200, False)
