"""The timeline of a job, to scale: attempts, what came before them, and steps."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from tenure.api.durable_shapes import StepItem
from tenure.core.model.durable import StepKind, StepStatus
from tenure.core.model.job import Event
from tenure.core.model.states import STEPS, State
from tenure.surfaces.dashboard.pages.job.timeline import MOST_ROWS, Timeline, draw

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
JOB = uuid4()


def _at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def _events(*steps: tuple[float, State, int], first: int = 1, kind: str = "t") -> list[Event]:
    """Steps by when they were taken, to where, and in which attempt; its number is its fence."""
    events, source = [], None
    for n, (seconds, target, attempt) in enumerate(steps, first):
        events.append(
            Event(
                job=JOB,
                n=n,
                type=kind,
                source=source,
                target=target,
                attempt=attempt,
                fence=attempt,
                at=_at(seconds),
                actor="a",
            )
        )
        source = target
    return events


def _drawn(*steps: tuple[float, State, int], end: float, **rest: str) -> Timeline:
    drawn = draw(_events(*steps, **rest), _at(end))  # type: ignore[arg-type]
    assert drawn is not None
    return drawn


def _step(name: str, at: float, fence: int, status: StepStatus = StepStatus.DONE, **rest: bool) -> StepItem:
    return StepItem(
        name=name,
        kind=StepKind.STEP,
        status=status,
        fence=fence,
        at=_at(at),
        until=None,
        size=None,
        result=None,
        answered_by=None,
        in_doubt=rest.get("in_doubt", False),
    )


RETRIED = (
    *((0, State.QUEUED, 0), (2, State.RUNNING, 1), (5, State.RETRYING, 1), (7, State.QUEUED, 1)),
    *((8, State.RUNNING, 2), (10, State.SUCCEEDED, 2)),
)


def test_each_attempt_has_a_row_that_begins_with_what_led_to_it() -> None:
    drawn = _drawn(*RETRIED, end=10)
    assert [(row.name, row.took, row.state) for row in drawn.rows] == [
        ("Attempt 1", "3 s", "failed"),
        ("Attempt 2", "2 s", "succeeded"),
    ]
    first, second = [[(bar.form, bar.tone, bar.x, bar.width) for bar in row.bars] for row in drawn.rows]
    assert first == [
        ("wait", "muted", "0%", "20%"),
        ("ran", "bad", "20%", "30%"),
        ("", "bad", "49.4%", "0.6%"),
    ]
    assert second == [
        ("wait", "warn", "50%", "20%"),
        ("wait", "muted", "70%", "10%"),
        ("ran", "good", "80%", "20%"),
    ]
    assert drawn.rows[0].says == "waited 2 s, ran 3 s, failed"
    assert [word for word, _, _ in drawn.legend] == ["waiting", "back-off", "succeeded", "failed"]
    assert drawn.times == ["00:00:00", "00:00:02", "00:00:05", "00:00:07", "00:00:10"]
    assert not drawn.is_cut


def test_what_goes_on_is_drawn_until_now_even_by_a_clock_that_is_behind() -> None:
    drawn = _drawn((0, State.QUEUED, 0), (4, State.RUNNING, 1), end=8)
    assert (drawn.rows[0].took, drawn.rows[0].state, drawn.times[-1]) == ("4 s", "running", "now")
    behind = _drawn((0, State.QUEUED, 0), (4, State.RUNNING, 1), end=-60)
    assert (behind.rows[0].bars[-1].width, behind.rows[0].took) == ("0.6%", "0 ms")


def test_a_moment_of_work_after_a_day_of_waiting_can_be_seen() -> None:
    steps = (0, State.SCHEDULED, 0), (86_400, State.QUEUED, 0), (86_400, State.RUNNING, 1)
    drawn = _drawn(*steps, (86_400.01, State.SUCCEEDED, 1), end=86_400.01)
    assert (drawn.rows[0].bars[-1].x, drawn.rows[0].bars[-1].width) == ("99.4%", "0.6%")
    assert drawn.times[0] == "01 Jan 00:00"


def test_every_legal_end_of_an_attempt_is_drawn() -> None:
    for source, target in {(step.source, step.target) for step in STEPS if step.source is State.RUNNING}:
        drawn = _drawn((0, State.QUEUED, 0), (1, source, 1), (2, target, 1), end=3)
        assert drawn.rows[0].state, (source, target)
    lost = _drawn((0, State.QUEUED, 0), (1, State.RUNNING, 1), (2, State.QUEUED, 1), end=3, kind="orphaned")
    assert [(row.name, row.state) for row in lost.rows] == [("Attempt 1", "failed"), ("Waiting", "queued")]
    assert "worker lost" in lost.rows[0].says


def test_a_resumed_attempt_says_so() -> None:
    drawn = _drawn(
        *((0, State.QUEUED, 0), (1, State.RUNNING, 1), (2, State.SUSPENDED, 0), (5, State.QUEUED, 0)),
        *((6, State.RUNNING, 1), (9, State.SUCCEEDED, 1)),
        end=9,
    )
    assert [row.name for row in drawn.rows] == ["Attempt 1", "Attempt 1, resumed"]
    assert "suspended 3 s" in drawn.rows[1].says


def test_steps_stand_below_the_attempt_that_kept_them() -> None:
    """Of a step that is done only the end is known: a mark."""
    steps = [
        *(_step("fetch rows", 4, 1), _step("render", 9, 2)),
        _step("send", 9.5, 2, StepStatus.INTENDED, in_doubt=True),
    ]
    drawn = draw(_events(*RETRIED), _at(10), steps)
    assert drawn is not None
    assert [(row.name, row.took) for row in drawn.rows] == [
        *(("Attempt 1", "3 s"), ("fetch rows", "after 2 s"), ("Attempt 2", "2 s")),
        *(("1 step", "kept"), ("render", "after 1 s"), ("send", "in doubt")),
    ]
    [mark] = drawn.rows[1].bars
    assert (mark.x, mark.width, mark.tone) == ("40%", "0.6%", "good")
    assert "kept" in [word for word, _, _ in drawn.legend]


def test_a_job_that_was_only_recorded_or_whose_beginning_is_left_out() -> None:
    assert [row.name for row in _drawn((0, State.CREATED, 0), end=0).rows] == ["Held"]
    cut = draw(_events((0, State.QUEUED, 5), first=200), _at(1))
    assert cut is not None
    assert cut.is_cut
    assert draw([], _at(0)) is None
    many = [(n * 2 + k, state, n) for n in range(30) for k, state in enumerate((State.QUEUED, State.RUNNING))]
    drawn = _drawn(*many, end=60)
    assert (len(drawn.rows), drawn.is_cut) == (MOST_ROWS, True)
