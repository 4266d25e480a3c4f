"""Pauses: what a store remembers of a line from before its pause takes no job out of it."""

from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL, claim, enqueue_one, state_of

POST = Line("default", "post")


async def test_a_job_that_comes_into_a_paused_line_waits_while_others_are_plenty(store: Store) -> None:
    """However well the line was known before it was paused."""
    await enqueue_one(store)
    assert len(await claim(store, limit=1, lines=(MAIL, POST))) == 1
    await store.pause(MAIL)
    for _ in range(3):
        await enqueue_one(store, "post")
    assert len(await claim(store, limit=1, lines=(MAIL, POST))) == 1
    late = await enqueue_one(store)
    assert len(await claim(store, limit=10, lines=(MAIL, POST))) == 2
    assert await state_of(store, late) is State.QUEUED
