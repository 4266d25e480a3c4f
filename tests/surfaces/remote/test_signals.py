"""What a client tells jobs: signals, and answers about effects."""

from typing import Any

import pytest

from tenure import Conflict, InvalidInput, NotFound, State
from tenure.storage.contract.store import Store
from tests.storage.progress import asking, many_steps, waiting
from tests.storage.verbs import job_in
from tests.surfaces.remote.test_verbs import client  # noqa: F401
from tests.surfaces.store_behind import NOBODY


async def test_a_signal_is_sent_once_however_often(client: Any, store: Store) -> None:  # noqa: F811
    """What was lost on the way may be sent again."""
    job = await waiting(store, "all clear")
    assert [one.job_id async for one in client.list(waiting_for="all clear")] == [job]
    shown = await client.get(job)
    assert (shown.waiting_for.signal, shown.kept_steps) == ("all clear", 2)
    for _ in range(2):
        assert await client.signal(job, "all clear", {"by": "ann"}) is State.QUEUED
    with pytest.raises(Conflict) as conflict:
        await client.signal(shown, "all clear")
    assert conflict.value.kind == "signal-differs"
    with pytest.raises(Conflict) as conflict:
        await client.signal(await job_in(store, State.SUCCEEDED), "all clear")
    assert (conflict.value.kind, conflict.value.problem.job_status) == ("job-terminal", State.SUCCEEDED)
    with pytest.raises(InvalidInput, match="name: is 'a/b'"):
        await client.signal(job, "a/b")
    with pytest.raises(NotFound):
        await client.signal(NOBODY, "all clear")


async def test_an_answer_ends_the_doubt(client: Any, store: Store) -> None:  # noqa: F811
    job = await asking(store, "charge#2")
    assert (await client.get(job)).effects_in_doubt[0].step == "charge#2"
    for _ in range(2):
        assert await client.answer(job, "charge#2", happened=True, result=[7]) is State.QUEUED
    [step] = [one async for one in client.steps(job)]
    assert (step.name, step.result, step.in_doubt) == ("charge#2", [7], False)
    with pytest.raises(Conflict) as conflict:
        await client.answer(job, "charge#2", happened=False)
    assert conflict.value.kind == "not-in-doubt"


async def test_steps_go_on_over_their_pages(client: Any, store: Store) -> None:  # noqa: F811
    job = await many_steps(store, 450)
    assert [step.result async for step in client.steps(job)] == list(range(450))
    with pytest.raises(NotFound):
        [step async for step in client.steps(NOBODY)]
