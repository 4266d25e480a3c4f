"""The one loop: a failed turn is announced and tried again, and a poke starts the next turn."""

import asyncio

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.signals import Recovered, Signal, Troubled
from tenure.engine.upkeep import loop as upkeep_loop
from tenure.engine.upkeep.loop import Loop
from tests.storage.verbs import PATIENCE

LONG = 3600.0


class Turns:
    """Scripted turns: an exception is raised, a number is how long to rest."""

    def __init__(self, *script: BaseException | float) -> None:
        self._script = list(script)
        self.taken = 0
        self.changed = asyncio.Condition()

    async def __call__(self) -> float:
        async with self.changed:
            self.taken += 1
            self.changed.notify_all()
        step = self._script.pop(0) if self._script else LONG
        if isinstance(step, BaseException):
            raise step
        return step

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: self.taken >= count)


async def test_a_turn_that_raises_is_taken_again() -> None:
    """S3.42: a loop never ends because of what it was given; an outage and a bug are both announced."""
    signals: list[Signal] = []
    turns = Turns(StoreUnavailable("away"), ZeroDivisionError(), 0.0)
    loop = asyncio.create_task(Loop("dispatch", turns, signals.append).run())
    await turns.reach(4)
    loop.cancel()
    first, second, third = signals
    assert first == Troubled("dispatch", "away", 1)
    assert isinstance(second, Troubled)
    assert "ZeroDivisionError" in second.error
    assert second.failures == 2
    assert third == Recovered("dispatch")


async def test_a_cancellation_that_is_somebody_elses_ends_no_loop() -> None:
    """A task that is cancelled ends without a word, and its worker would be deaf."""
    signals: list[Signal] = []
    turns = Turns(asyncio.CancelledError())
    loop = asyncio.create_task(Loop("dispatch", turns, signals.append).run())
    await turns.reach(2)
    assert isinstance(signals[0], Troubled)
    loop.cancel()
    await asyncio.wait([loop])
    assert loop.cancelled()


async def test_who_rests_can_be_poked() -> None:
    turns = Turns(LONG)
    resting = Loop("dispatch", turns, lambda _: None)
    loop = asyncio.create_task(resting.run())
    await turns.reach(1)
    resting.poke()
    await turns.reach(2)
    loop.cancel()


async def test_who_rests_after_a_failure_can_be_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else has found that the store is back."""
    monkeypatch.setattr(upkeep_loop, "FIRST_PAUSE", LONG)
    monkeypatch.setattr(upkeep_loop, "LONGEST_PAUSE", LONG)
    turns = Turns(StoreUnavailable("away"))
    resting = Loop("look", turns, lambda _: None)
    loop = asyncio.create_task(resting.run())
    await turns.reach(1)
    resting.hurry()
    await turns.reach(2)
    loop.cancel()


async def test_a_poke_during_a_turn_is_not_lost() -> None:
    """What comes while the turn is under way may be too late for it."""
    taken = 0
    reached = asyncio.Event()

    async def turn() -> float:
        nonlocal taken
        taken += 1
        if taken == 1:
            resting.poke()
        else:
            reached.set()
        return LONG

    resting = Loop("dispatch", turn, lambda _: None)
    loop = asyncio.create_task(resting.run())
    async with asyncio.timeout(PATIENCE):
        await reached.wait()
    loop.cancel()
