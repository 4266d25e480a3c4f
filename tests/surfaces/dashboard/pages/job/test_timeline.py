"""The timeline of a job, to scale."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from tenure.core.model.job import Event
from tenure.core.model.states import State, Step
from tenure.surfaces.dashboard.pages.job.timeline import WIDTH, draw

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
JOB = uuid4()


def _at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def _events(*steps: tuple[float, State, int], first: int = 1) -> list[Event]:
    """Steps by when they were taken, to where, and in which attempt."""
    events = []
    source = None
    for n, (seconds, target, attempt) in enumerate(steps, first):
        step = Step(source, target, "t", "a", "")
        events.append(_event(n, step, attempt, _at(seconds)))
        source = target
    return events


def _event(n: int, step: Step, attempt: int, at: datetime) -> Event:
    source, target, kind, actor, _ = step
    return Event(
        job=JOB, n=n, type=kind, source=source, target=target, attempt=attempt, fence=0, at=at, actor=actor
    )


def test_each_start_has_a_row_that_begins_with_what_led_to_it() -> None:
    events = _events(
        *((0, State.QUEUED, 0), (2, State.RUNNING, 1), (5, State.RETRYING, 1), (7, State.QUEUED, 1)),
        *((8, State.RUNNING, 2), (10, State.SUCCEEDED, 2)),
    )
    drawn = draw(events, _at(10))
    assert drawn is not None
    assert (drawn.begin, drawn.end, drawn.is_cut) == (_at(0), _at(10), False)
    assert drawn.states == [State.QUEUED, State.RUNNING, State.RETRYING]
    ran = [(row.attempt, row.ran) for row in drawn.rows]
    assert ran == [(1, timedelta(seconds=3)), (2, timedelta(seconds=2))]
    shown = [[(bar.state, bar.x, bar.width) for bar in row.bars] for row in drawn.rows]
    assert shown == [
        [(State.QUEUED, 0, 200), (State.RUNNING, 200, 300)],
        [(State.RETRYING, 500, 200), (State.QUEUED, 700, 100), (State.RUNNING, 800, 200)],
    ]


def test_what_goes_on_is_drawn_until_now_even_by_a_clock_that_is_behind() -> None:
    events = _events((0, State.QUEUED, 0), (4, State.RUNNING, 1))
    drawn = draw(events, _at(8))
    assert drawn is not None
    assert drawn.rows[0].ran == timedelta(seconds=4)
    behind = draw(events, _at(-60))
    assert behind is not None
    assert behind.end == _at(4)
    assert all(bar.width >= 0 and bar.x + bar.width <= WIDTH + 4 for row in behind.rows for bar in row.bars)


def test_a_moment_of_work_after_a_day_of_waiting_can_be_seen() -> None:
    events = _events((0, State.SCHEDULED, 0), (86_400, State.QUEUED, 0), (86_400, State.RUNNING, 1))
    drawn = draw([*events, *_events((86_400.01, State.SUCCEEDED, 1), first=4)], _at(86_400.01))
    assert drawn is not None
    running = drawn.rows[0].bars[-1]
    assert running.width >= 4
    assert running.x <= WIDTH - 4


def test_a_job_that_was_only_recorded_or_whose_beginning_is_left_out() -> None:
    held = draw(_events((0, State.CREATED, 0)), _at(0))
    assert held is not None
    assert [row.attempt for row in held.rows] == [None]
    cut = draw(_events((0, State.QUEUED, 5), first=200), _at(1))
    assert cut is not None
    assert cut.is_cut
    assert draw([], _at(0)) is None
