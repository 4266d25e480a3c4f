"""What definitions did, from the minutes and hours on record; what is not on record is not made up."""

from datetime import timedelta

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Report, Unrecoverable
from tenure.core.model.states import State
from tenure.core.reports.pace import MOST_DEFINITIONS
from tenure.core.values.failure import Failure
from tenure.engine.figures.trends import DefinitionFigures, Standing, Trends
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, seconds, settle, succeeded

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
FAILED = Unrecoverable(Failure("OSError", "no room"))


async def minute(store: Store, clock: Clock, well: int = 0, ill: int = 0, name: str = "mail") -> None:
    """A minute in which so many jobs end well and ill, each after a second's wait and four of work."""
    await store.enqueue([NewJob(definition=name) for _ in range(well + ill)])
    await clock.advance(seconds(1))
    owned = await claim(store, limit=100, lines=[Line("default", name)])
    await clock.advance(seconds(4))
    await settle(store, [*map(succeeded, owned[:well]), *(Report(one.lease, FAILED) for one in owned[well:])])
    await clock.advance(MINUTE - seconds(5))
    await sample_pace(store)


async def figures(store: Store, period: str) -> dict[str, DefinitionFigures]:
    """By what keeps nothing from before."""
    known = await Trends(store).of_definitions(period)
    assert known.is_whole
    return {one.definition: one for one in known.definitions}


async def test_an_hour_is_the_sum_of_its_minutes(store: Store, clock: Clock) -> None:
    await minute(store, clock, well=3, ill=1)
    await minute(store, clock, well=5, name="report")
    await minute(store, clock, well=1)
    known = await figures(store, "hour")
    assert list(known) == ["mail", "report"]
    mail = known["mail"]
    assert (mail.jobs, mail.ended, mail.failed) == (5, {State.SUCCEEDED: 4, State.FAILED: 1}, 0.2)
    assert mail.ran is not None
    assert mail.waited is not None
    assert mail.ran.p95 == pytest.approx(4, rel=0.2)
    assert mail.waited.p50 == pytest.approx(1, rel=0.2)
    await clock.advance(HOUR)
    assert await figures(store, "hour") == {}


async def test_a_day_and_a_week_have_their_hours_and_the_minutes_since(store: Store, clock: Clock) -> None:
    for _ in range(3):
        await minute(store, clock, well=2)
        await clock.advance(HOUR - MINUTE)
    await minute(store, clock, well=1)
    for period in ("day", "week"):
        assert (await figures(store, period))["mail"].jobs == 7
    await clock.advance(timedelta(days=2))
    await minute(store, clock, well=4)
    assert (await figures(store, "day"))["mail"].jobs == 4
    assert (await figures(store, "week"))["mail"].jobs == 10


async def test_the_minute_on_the_hour_belongs_to_the_hour_before(store: Store, clock: Clock) -> None:
    now = await store.now()
    await clock.advance(now.replace(minute=0, second=0, microsecond=0) + HOUR - MINUTE - now)
    await sample_pace(store)
    await minute(store, clock, well=2)
    assert (await figures(store, "day"))["mail"].jobs == 2
    await minute(store, clock, well=3)
    assert (await figures(store, "day"))["mail"].jobs == 5


async def test_what_ends_in_a_processs_first_minute_is_counted_once(store: Store, clock: Clock) -> None:
    """Its first sample comes in the middle of a minute, and the next one at the end of it."""
    await clock.advance(seconds(10))
    await store.enqueue([NewJob(definition="mail") for _ in range(4)])
    await settle(store, map(succeeded, await claim(store)))
    await clock.advance(seconds(20))
    await sample_pace(store)
    await clock.advance(seconds(30))
    await sample_pace(store)
    assert (await figures(store, "hour"))["mail"].jobs == 4


async def test_what_failed_usually_is_said_after_a_day_of_hours(store: Store, clock: Clock) -> None:
    for n in range(25):
        assert (await Trends(store).usual_failures() is None) == (n < 25)
        await minute(store, clock, well=9, ill=1)
        await clock.advance(HOUR - MINUTE)
    await minute(store, clock)
    assert await Trends(store).usual_failures() == pytest.approx(0.1)


async def test_a_week_leaves_out_what_is_not_on_record(store: Store, clock: Clock) -> None:
    """That is the first three hours here, before which nobody had duties. The rest is counted exactly."""
    now = await store.now()
    await clock.advance(timedelta(days=1) - (now - now.replace(hour=0, minute=0, second=0, microsecond=0)))
    for hour in range(8):
        await minute(store, clock, well=hour + 1)
        await clock.advance(HOUR - MINUTE)
    await sample_pace(store)
    first, *_ = (await Trends(store).week()).spans
    assert first.ended[State.SUCCEEDED] == 5 + 6 + 7
    assert first.run_seconds is not None


async def test_how_many_waited_and_ran_is_kept_by_the_minute(store: Store, clock: Clock) -> None:
    await store.enqueue([NewJob(definition="mail") for _ in range(5)])
    await claim(store, limit=2, lines=[Line("default", "mail")])
    await sample_pace(store)
    [known] = await Trends(store).standings()
    assert known == Standing(clock.now.replace(second=0, microsecond=0), 3, 2)


async def test_where_events_do_not_reach_back_a_minute_the_figures_are_a_sample(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaled up to the totals, which are exact."""
    await sample_pace(store)
    await clock.advance(MINUTE - seconds(2))
    await store.enqueue([NewJob(definition="mail") for _ in range(30)])
    owned = await claim(store, limit=30, lines=[Line("default", "mail")])
    await settle(store, map(succeeded, owned))
    await clock.advance(seconds(2))
    whole = store.recent

    async def short(*, limit: int = 0) -> object:
        return await whole(limit=20)

    monkeypatch.setattr(store, "recent", short)
    await sample_pace(store)
    known = await Trends(store).of_definitions("hour")
    assert not known.is_whole
    assert known.definitions[0].jobs == 30


async def test_of_many_definitions_those_with_most_jobs_are_kept(store: Store, clock: Clock) -> None:
    lines = [Line("default", f"d{n:03}") for n in range(MOST_DEFINITIONS + 5)]
    await store.enqueue([NewJob(definition=line.definition) for line in lines])
    await store.enqueue([NewJob(definition=lines[-1].definition)])
    owned = await claim(store, limit=len(lines) + 1, lines=lines)
    await settle(store, map(succeeded, owned))
    await clock.advance(MINUTE)
    await sample_pace(store)
    known = await figures(store, "hour")
    assert len(known) == MOST_DEFINITIONS
    assert next(iter(known)) == lines[-1].definition
