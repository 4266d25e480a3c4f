"""Models of pydantic in a real worker: read in the process of the attempt, and written there as results."""

from datetime import UTC, datetime

import pytest

from tenure import InvalidParams, Tenure
from tenure.core.model.states import State
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tests.whole import dealt
from tests.worker.running_worker import enqueue, reach
from tests.worker.typed_app import LANES, Order, Receipt
from tests.worker.worker_process import worker_process

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("address", dealt(1), indirect=True)
async def test_a_model_is_read_in_the_attempt_and_returned_from_it(store: Store, address: str) -> None:
    """Params that its code no longer takes end the job at once: no other attempt could read them."""
    order = Order(to="ada@example.com", at=AT)
    async with worker_process(address, target="tests.worker.typed_app:app") as worker:
        await worker.wait_for("worker.ready")
        async with Tenure(address, settings=Settings()) as caller:
            for lane in LANES:
                job = await caller.enqueue(f"order.{lane}", order)
                assert Receipt.model_validate(await job.wait(timeout=60)) == Receipt(order=order, attempt=1)
            with pytest.raises(InvalidParams, match="params/at: is missing"):
                await caller.enqueue("order.process", {"to": "ada@example.com"})
        accepted = await enqueue(store, "order.process", {"to": "ada", "at": "2026-01-31T09:30:00Z"})
        failed = await reach(store, accepted, State.FAILED)
    assert failed.attempt == 1
    assert failed.error is not None
    assert failed.error.message == ("the params of order.process@1 cannot be read: params/to: has no domain")
