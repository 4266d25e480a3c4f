"""Bugs that leave jobs stuck are planted into the stores: the doctor finds what they have left, and mends it.

Each life begins in a store with something taken out and goes on in a sound one, as after an upgrade. Mended,
it ends as if nothing had been, and the checker finds nothing.
"""

from pathlib import Path

import pytest

from chaos.checker import check
from tenure.core.model.states import State
from tenure.engine.health.checkup import examine
from tenure.engine.health.repairs import repairs
from tenure.engine.health.stuck_jobs import MENDABLE
from tenure.storage.contract.store import Store
from tests.chaos.planted_bugs import TERMS
from tests.chaos.planted_rot import ROTS, Rot
from tests.chaos.scene import Scene
from tests.chaos.stories import OVER, finish
from tests.chaos.test_planted_sabotage import database
from tests.storage.backends import Backend

CASES = [pytest.param(rot, kind, id=f"{kind}: {rot.kind}") for rot in ROTS for kind in rot.sabotage.stores]


@pytest.mark.parametrize(("rot", "kind"), CASES)
async def test_a_sound_store_has_nothing_to_mend(
    rot: Rot, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with database(request, kind, tmp_path, "rotten") as backend:
        scene = await _lived(backend, rot)
        await _goes_on(backend, scene, mends=[])


@pytest.mark.parametrize(("rot", "kind"), CASES)
async def test_what_a_bug_has_left_is_found_and_mended(
    rot: Rot, kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database(request, kind, tmp_path, "rotten") as backend:
        with monkeypatch.context() as broken:
            await rot.sabotage.apply(backend, broken)
            scene = await _lived(backend, rot)
        await _goes_on(backend, scene, mends=[rot.kind])


async def _lived(backend: Backend, rot: Rot) -> Scene:
    """The first part of a life, in a store of its own."""
    store = backend.store()
    await store.open()
    scene = Scene(store, backend.clock)
    await rot.life(scene)
    await store.close()
    return scene


async def _goes_on(backend: Backend, scene: Scene, *, mends: list[str]) -> None:
    """The rest of it: what is found is mended, and every job comes to its end."""
    store = scene.store = backend.store()
    await store.open()
    try:
        assert await _found(store) == mends
        mended = [await repair.carry_out() async for repair in repairs(store, deep=False)]
        assert [(one.kind, one.outcome) for one in mended] == [(kind, "mended") for kind in mends]
        assert await _found(store) == []
        await scene.wait(OVER)
        await store.reap(10)
        await store.promote(10)
        await finish(scene, "b")
        standing = [await store.get(job) for job in scene.jobs.values()]
        assert {job.state for job in standing if job is not None} == {State.SUCCEEDED}
        assert check(await scene.evidence(TERMS)) == []
    finally:
        await store.close()


async def _found(store: Store) -> list[str]:
    return [one.kind for one in (await examine(store)).symptoms if one.kind in MENDABLE]
