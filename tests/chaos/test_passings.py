"""Every failpoint is on somebody's way: a place that nobody passes any more would never fail anybody."""

import math
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from chaos import failpoints, ledger
from chaos.failpoints import PLACES
from chaos.faults.steps import AFTER_A_STOP
from chaos.ground import Kind
from chaos.load import Wanted
from chaos.scene import Scene, staged
from chaos.staff import Hand, StaffConfig
from tenure.core.model.lease import Line, Order
from tests.until import until

PATIENCE = 60.0
JOBS = ("noop", "parent", "speak", "snooze", "fail_once", "journey")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_worker_passes_every_failpoint_in_its_life(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Armed with all of them at once, to stand still for no time at all."""
    server = request.getfixturevalue("server") if kind == "postgres" else None
    async with staged(kind, tmp_path / "run", StaffConfig(workers=0), server) as scene:
        await _leave_an_orphan(scene)
        hand = await scene.staff.hire_another(",".join(f"{name}=pause:0" for name in PLACES), math.inf)
        assert hand is not None
        await scene.client.enqueue([Wanted(key, key) for key in JOBS])
        await until(lambda: _fired(hand) >= PLACES.keys() - AFTER_A_STOP)
        [stubborn] = await scene.client.enqueue([Wanted("last", "stubborn", {"seconds": 30.0})])
        await until(
            lambda: any(entry.job == stubborn for entry in ledger.read(scene.folder / "ledger", torn=True))
        )
        hand.stop(signal.SIGTERM)
        hand.stop(signal.SIGTERM)
        await hand.process.wait()
        assert _fired(hand) == PLACES.keys()


async def _leave_an_orphan(scene: Scene) -> None:
    """A job under the lease of somebody who will not be heard of again."""
    await scene.client.enqueue([Wanted("orphan", "noop")])
    order = Order(
        worker="gone", lines=(Line("default", "noop"),), limit=1, lease_for=timedelta(milliseconds=1)
    )
    assert len((await scene.store.settle_and_claim([], order)).claimed) == 1


def _fired(hand: Hand) -> set[str]:
    return {one.name for one in failpoints.fired(hand.fired)}
