"""Durable handlers at their bounds: as many steps as a job may keep, long loops, sleepers by the thousand.

What each costs the database is counted in `tests/storage/touched/test_steps.py`; here it runs.
"""

import time
from collections import Counter
from typing import Any

import pytest

from tenure.core.model.durable import MOST_STEPS
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tests.until import until
from tests.whole import IS_WHOLE
from tests.worker.interfering_store import Interference, InterferingStore
from tests.worker.running_worker import reach
from tests.worker.serving_app import serving_app
from tests.worker.test_durable import TARGET, Verb, enqueue

LONG = 1800
"""Seconds for the long form, on a machine that has other things to do."""

STEPS = MOST_STEPS if IS_WHOLE else 300
TURNS = 2_000 if IS_WHOLE else 40
SLEEPERS = 1_000 if IS_WHOLE else 60


class Calls:
    """How often each verb about progress was called, and what this process has spent by each call."""

    def __init__(self, store: Store) -> None:
        self.counts = Counter[str]()
        self.spent: list[float] = []
        interfering = InterferingStore(store)
        for verb in ("recall", "recall_step", "keep_steps", "forget_steps", "suspend"):
            interfering.interferences[verb] = self._counting(verb)
        self.store = interfering.store

    def _counting(self, verb: str) -> Interference:
        def counted(call: Verb) -> Verb:
            async def counting(*given: Any) -> Any:
                self.counts[verb] += 1
                self.spent.append(time.process_time())
                return await call(*given)

            return counting

        return counted

    def told(self) -> str:
        """The processor's time of this process for the first tenth of the calls, and for the last."""
        tenth = len(self.spent) // 10
        first, last = self.spent[tenth] - self.spent[0], self.spent[-1] - self.spent[-1 - tenth]
        return f"{dict(self.counts)}; of the worker's CPU, first tenth {first:.3f} s, last tenth {last:.3f} s"


@pytest.mark.timeout(LONG)
async def test_a_job_keeps_as_many_steps_as_it_may_one_question_each(store: Store) -> None:
    """S0.7: it asks once what there is, and once for each step."""
    calls = Calls(store)
    async with serving_app(calls.store, TARGET):
        job = await enqueue(store, "async.many_steps", {"count": STEPS})
        done = await reach(store, job, State.SUCCEEDED, State.FAILED, within=LONG)
    assert (done.state, done.error, done.result) == (State.SUCCEEDED, None, str(sum(range(STEPS))))
    assert calls.counts == {"recall": 1, "keep_steps": STEPS}
    assert await store.count_steps(job) == STEPS
    print(calls.told())


@pytest.mark.timeout(LONG)
async def test_a_loop_of_steps_and_sleeps_asks_the_same_in_every_turn(store: Store) -> None:
    """S2.30: and keeps no more in the end than in the beginning."""
    calls = Calls(store)
    async with serving_app(calls.store, TARGET, poll=0.01):
        job = await enqueue(store, "async.turns", {"count": TURNS})
        done = await reach(store, job, State.SUCCEEDED, State.FAILED, within=LONG)
    assert (done.state, done.error, done.result) == (State.SUCCEEDED, None, str(TURNS))
    assert calls.counts == {
        "recall": TURNS + 1,
        "keep_steps": 2 * TURNS,  # the step, and that the sleep is over
        "forget_steps": TURNS,
        "suspend": TURNS,
    }
    assert await store.count_steps(job) == 0
    print(calls.told())


@pytest.mark.timeout(LONG)
async def test_sleepers_hold_no_slot(store: Store) -> None:
    """S2.30: all of them sleep at once, and the one slot is free for whatever comes."""
    async with serving_app(store, TARGET, slots=1):
        for _ in range(SLEEPERS):
            await enqueue(store, "async.naps", {})

        async def all_sleep() -> bool:
            return (await store.page(Filter(states=frozenset({State.RUNNING, State.QUEUED})))).jobs == []

        await until(all_sleep, within=LONG)
        plain = await enqueue(store, "async.many_steps", {"count": 1})
        await reach(store, plain, State.SUCCEEDED)
        [asleep] = [one.counts for one in await store.lines() if one.line.definition == "async.naps"]
    assert asleep == {State.SUSPENDED: SLEEPERS}
