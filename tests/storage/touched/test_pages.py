"""What a page touches does not grow with history: every address that reads, over real requests."""

from uuid import UUID

from tenure.core.model.spec import Spec
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tenure.core.webhooks.delivery import NewDelivery
from tenure.core.webhooks.webhook import NewWebhook
from tests.storage.clock import START
from tests.storage.touched.conftest import Made, Make
from tests.storage.touched.cost import Costs, grown
from tests.storage.touched.history import Past
from tests.surfaces.dashboard.browser_user import EVERY, Visitor
from tests.surfaces.http.http_server import register, serving
from tests.surfaces.read_addresses import addresses
from tests.whole import IS_WHOLE

# The short one is long enough for whatever is looked at in part: the last events, the newest jobs, lines.
SHORT, LONG = Past(40_000), Past(200_000 if IS_WHOLE else 60_000)
HOOK = NewWebhook(id=UUID(int=7), url="https://example.com/hook", events=("onEnd",))
MESSAGE = "msg_1"
NAMES = {
    "key": "mail",
    "version": "1",
    "definition": "mail",
    "queue": "default",
    "tag": "red",
    "fingerprint": "mail:000000000001",
    "namespace": "default",
    "name": "nightly",
    "webhookId": str(HOOK.id),
    "message": MESSAGE,
    "moment": START.strftime("%Y-%m-%dT%H:%M:%SZ"),
}
NIGHTLY = NewSchedule(
    id="nightly", job=ScheduledJob(definition="mail"), recurrence=Recurrence(cron="@daily", starts_at=START)
)


async def test_what_a_page_touches_does_not_grow_with_history(make: Make) -> None:
    """By the database's own count of all that the statements behind a page read, each time nothing kept."""
    small, large = await make(SHORT), await make(LONG)
    ways = small[0].ways
    measure = {way: await _costs(small, way) for way in set(ways.values())}
    found = {
        (way, route, n): grown(before, after)
        for way, measured_by in ways.items()
        for (route, n), after in (await _costs(large, way)).items()
        for before in [measure[measured_by][route, n]]
    }
    assert {page: more for page, more in found.items() if more} == {}


async def _costs(made: Made, way: str) -> dict[tuple[str, int], Costs]:
    """By route, and by the number of the request there."""
    backend, scene = made
    store = backend.store()
    await store.open()
    await register(store, Spec(key="mail"))
    await store.add_schedule(NIGHTLY, next_at=None)
    if await store.webhook(HOOK.id) is None:
        await store.add_webhook(HOOK, secret=None)
        await store.add_delivery(
            NewDelivery(webhook=HOOK.id, message=MESSAGE, type="succeeded", at=START, body="{}")
        )
    await store.close()
    costs = {}
    async with backend.watched(way) as (watched, so_far):
        for route, those in addresses({**NAMES, "jobId": str(scene.middle)}).items():
            for n, address in enumerate(those):
                so_far.clear()
                async with serving(watched, routes=EVERY) as api:
                    reply = await Visitor(api).get(address, accept="text/html, application/json")
                assert reply.status == 200, (address, reply.body)
                assert so_far, address
                costs[route, n] = dict(so_far)
    return costs
