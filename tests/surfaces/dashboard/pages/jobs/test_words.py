"""Further words for a list, by the field beside its tokens."""

from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one
from tests.surfaces.dashboard.browser_user import Visitor
from tests.surfaces.http.http_server import Api


async def test_further_words_lead_to_an_address_that_holds_them_all(api: Api, store: Store) -> None:
    anybody = Visitor(api)
    job = await enqueue_one(store, tags=("red",))
    reply = await anybody.get("/ui/jobs?q=definition:mail&status=queued&more=tag:red")
    assert (reply.status, reply.headers["location"]) == (
        303,
        "/ui/jobs?q=definition:mail%20tag:red&status=queued",
    )
    shown = (await anybody.get(reply.headers["location"])).body.decode()
    assert f'id="row-{job}"' in shown
    assert 'aria-label="Remove tag red"' in shown
    wrong = await anybody.get("/ui/jobs?q=definition:mail&more=colour:red")
    assert wrong.status == 422
    assert 'value="colour:red"' in wrong.body.decode()
    assert 'aria-label="Remove definition mail"' in wrong.body.decode()
    short = await anybody.get(f"/ui/jobs?q=definition:mail&more={job.hex[-8:]}")
    assert short.headers["location"] == f"/ui/jobs?q={job.hex[-8:]}"
