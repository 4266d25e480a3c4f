"""Charts where the last events do not reach back far enough: drawn from the minutes on record."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.model.states import State
from tenure.core.reports import pace
from tenure.core.reports.pace import PACE_KEPT
from tenure.engine.figures.statistics import Series, series
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded

MINUTE = timedelta(minutes=1)


async def work(store: Store, clock: Clock, count: int, takes: timedelta) -> None:
    """Let jobs wait a second, run for so long and end well."""
    for _ in range(count):
        await enqueue_one(store)
    await clock.advance(seconds(1))
    owned = await claim(store, limit=count)
    await clock.advance(takes)
    await settle(store, [succeeded(one) for one in owned])


async def charted(store: Store, period: str) -> Series:
    """A chart from very few events."""
    return series(await store.recent(limit=1), await store.paces(PACE_KEPT), period)


def ended(drawn: Series) -> list[int]:
    return [span.ended[State.SUCCEEDED] for span in drawn.spans]


async def test_what_ended_in_each_minute_is_the_difference_of_two(store: Store, clock: Clock) -> None:
    assert await sample_pace(store)
    for count in (3, 1, 2):
        await work(store, clock, count, seconds(8))
        await clock.advance(MINUTE - seconds(9))
        assert await sample_pace(store)
        assert not await sample_pace(store)
    await work(store, clock, 4, seconds(2))
    hour = await charted(store, "hour")
    assert ended(hour) == [3, 1, 2, 4]
    first = hour.spans[0]
    assert first.wait_seconds is not None
    assert first.run_seconds is not None
    assert first.wait_seconds.p50 == pytest.approx(1, rel=0.2)
    assert first.run_seconds.p50 == first.run_seconds.p95 == pytest.approx(8, rel=0.2)
    assert ended(await charted(store, "day")) == [10]


async def test_hours_are_put_together_from_their_minutes(store: Store, clock: Clock) -> None:
    await sample_pace(store)
    for takes in (2, 2, 2, 25):
        await work(store, clock, 5, seconds(takes))
        await clock.advance(MINUTE - seconds(1 + takes))
        await sample_pace(store)
    await clock.advance(timedelta(hours=1))
    await sample_pace(store)
    day = await charted(store, "day")
    assert ended(day)[0] == 20
    spread = day.spans[0].run_seconds
    assert spread is not None
    assert spread.p50 == pytest.approx(2, rel=0.2)
    assert spread.p95 == pytest.approx(25, rel=0.2)


async def test_a_time_when_nobody_had_duties_is_left_out(store: Store, clock: Clock) -> None:
    """Rather than shown too small, or too large."""
    await sample_pace(store)
    await work(store, clock, 2, seconds(1))
    await clock.advance(5 * MINUTE)
    await work(store, clock, 3, seconds(1))
    await sample_pace(store)
    await clock.advance(MINUTE)
    await sample_pace(store)
    await work(store, clock, 1, seconds(1))
    assert ended(await charted(store, "hour")) == [0, 1]


@given(st.lists(st.timedeltas(timedelta(0), timedelta(days=30)), min_size=1))
def test_a_length_by_class_is_a_fifth_too_long_at_most(lengths: list[timedelta]) -> None:
    ordered = sorted(one.total_seconds() for one in lengths)
    longest = pace.quantile(pace.histogram(lengths), 1.0)
    assert ordered[-1] - 0.001 <= longest <= ordered[-1] * 1.2 + 0.001
