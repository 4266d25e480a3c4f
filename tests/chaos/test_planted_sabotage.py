"""Every promise of the stores that others have broken is broken here on purpose, and the checker sees it.

Each story is told twice: to the sound store it does no harm; to one with something taken out it does, and
what the store then has on record gives it away.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chaos.checker import check
from chaos.evidence import Evidence, Terms
from tenure.core.errors import StoreRefused, StoreUnavailable
from tenure.core.model.aside import JobsAside
from tenure.core.model.job import Enqueued, NewJob
from tenure.storage.sqlite.store import SqliteStore
from tests.chaos import (
    planted_bugs,
    planted_hooks,
    planted_progress,
    planted_ticks,
    stories,
    tick_stories,
)
from tests.chaos.planted_bugs import TERMS, Plant, sqlite
from tests.chaos.scene import Scene
from tests.chaos.stories import Story
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend

PLANTS = (
    *planted_bugs.PLANTS,
    *planted_ticks.PLANTS,
    *planted_progress.PLANTS,
    *planted_hooks.PLANTS,
)
CASES = [
    pytest.param(plant, kind, id=f"{kind}: {plant.name}")
    for plant in PLANTS
    for kind in plant.sabotage.stores
]
ONLY_SOUND = (tick_stories.by_cron, tick_stories.one_after_the_other, tick_stories.edited_while_one_fires)
"""Stories in which nothing is taken out: each has shown a mistake of the checker's or of the product's."""

SOUND = {(plant.story, kind): plant.terms for plant in PLANTS for kind in plant.sabotage.stores} | {
    (story, kind): TERMS for story in ONLY_SOUND for kind in ("sqlite", "postgres")
}


class Unsynced(SqliteBackend):
    """A file that is never synced: nobody cuts the power here."""

    def store(self) -> SqliteStore:
        return SqliteStore(self.path, durability="normal")

    def _run(self, text: str) -> list[tuple[Any, ...]]:
        return super()._run(f"PRAGMA synchronous = off; {text}")


@asynccontextmanager
async def database(
    request: pytest.FixtureRequest, kind: str, folder: Path, name: str
) -> AsyncIterator[Backend]:
    """An empty database of a kind."""
    made: Backend
    if kind == "sqlite":
        made = Unsynced(folder / "tenure.db")
    else:
        made = PostgresBackend(request.getfixturevalue("postgres_server"), name)
    await made.prepare()
    try:
        yield made
    finally:
        await made.dispose()


async def told(backend: Backend, story: Story, terms: Terms) -> Evidence:
    """What a story leaves behind."""
    store = backend.store()
    await store.open()
    try:
        scene = Scene(store, backend.clock)
        await story(scene)
        return await scene.evidence(terms)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("story", "kind"), [pytest.param(*case, id=f"{case[1]}: {case[0].__name__}") for case in SOUND]
)
async def test_a_sound_store_stands_it(
    story: Story, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with database(request, kind, tmp_path, "sound") as backend:
        assert check(await told(backend, story, SOUND[story, kind])) == []


@pytest.mark.parametrize(("plant", "kind"), CASES)
async def test_what_was_taken_out_is_noticed(
    plant: Plant,
    kind: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"sabotaged_{PLANTS.index(plant)}" if plant.sabotage.changes_schema else "sabotaged"
    async with database(request, kind, tmp_path, name) as backend:
        await plant.sabotage.apply(backend, monkeypatch)
        found = check(await told(backend, plant.story, plant.terms))
    assert plant.notice <= {violation.invariant for violation in found}, found


async def answer_before_the_commit(self: SqliteStore, jobs: Sequence[NewJob]) -> list[Enqueued]:
    answers: list[Enqueued] = []
    asked = await self._new_rows(jobs)

    def lose(connection: Any, turn: Any) -> None:
        answers.extend(self._enqueue(connection, turn, asked))
        raise StoreRefused("the power went out before the commit")

    with pytest.raises(StoreRefused):
        await self._writer.run(lose)
    return answers


async def refuse_after_the_commit(self: SqliteStore, jobs: Sequence[NewJob]) -> list[Enqueued]:
    await SOUND_ENQUEUE(self, jobs)
    raise StoreRefused("this cannot be kept")


async def write_one_by_one(self: SqliteStore, jobs: Sequence[NewJob]) -> list[Enqueued]:
    await SOUND_ENQUEUE(self, jobs[:1])
    raise StoreUnavailable("the connection broke after the first")


SOUND_ENQUEUE = SqliteStore.enqueue
ENQUEUES = {
    "an answer before the commit": ({"I1"}, answer_before_the_commit),
    "a call refused after its commit": ({"I2"}, refuse_after_the_commit),
    "a batch that is written one by one": ({"I5"}, write_one_by_one),
}
BY_FUNCTION = {name: numbers for name, (numbers, _) in ENQUEUES.items()}


@pytest.mark.parametrize("name", ENQUEUES)
async def test_a_bad_enqueue_is_noticed(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, enqueue = ENQUEUES[name]
    story = stories.key_used_twice if broken == {"I2"} else stories.batch
    monkeypatch.setattr(SqliteStore, "enqueue", enqueue)
    async with database(request, "sqlite", tmp_path, "") as backend:
        found = check(await told(backend, story, TERMS))
    assert {violation.invariant for violation in found} == broken


async def test_the_guards_of_the_database_stop_a_reaper_that_takes_what_has_ended(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = next(plant for plant in PLANTS if plant.story is stories.reaped_when_done)
    async with database(request, "sqlite", tmp_path, "") as backend:
        await sqlite(*plant.sabotage.patches["sqlite"]).apply(backend, monkeypatch)
        with pytest.raises(JobsAside, match="a finished job never changes"):
            await told(backend, plant.story, TERMS)
