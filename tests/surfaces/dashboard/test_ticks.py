"""Drawings of what happened: the ticks of a schedule, and the tries of a webhook's deliveries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.core.model.states import State
from tenure.core.schedule.schedule import Tick, TickOnRecord, TickOutcome
from tenure.core.webhooks.delivery import LastTries, LastTry
from tenure.surfaces.dashboard.figures.ticks import kind_of, large, small, told
from tenure.surfaces.dashboard.figures.tries import tries_chart, usual_answer

NOW = datetime(2026, 11, 16, 14, 32, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def tick(
    ago: int, state: State | None = None, took: float | None = None, outcome: str = "fired", **rest: Any
) -> TickOnRecord:
    at = NOW - ago * MINUTE
    began = None if took is None else at
    ended = None if took is None else at + timedelta(seconds=took)
    return TickOnRecord(Tick(at=at, outcome=TickOutcome(outcome), **rest), state, began, ended)


DONE = tick(1, State.SUCCEEDED, 480)


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (DONE, "succeeded"),
        (tick(1, State.FAILED, 2), "failed"),
        (tick(1, State.BURIED), "failed"),
        (tick(1, State.CANCELLED), "failed"),
        (tick(1, State.RUNNING), "running"),
        (tick(1, State.RETRYING), "waiting"),
        (tick(1, State.QUEUED, outcome="by_hand"), "waiting"),
        (tick(1), "not kept"),
        (tick(1, outcome="missed"), "missed"),
        (tick(1, outcome="overlapped"), "skipped"),
        (tick(1, outcome="full"), "failed"),
        (tick(1, outcome="failed"), "failed"),
    ],
)
def test_every_tick_is_of_a_kind(one: TickOnRecord, kind: str) -> None:
    assert kind_of(one) == kind


def test_a_list_has_a_bar_a_run_with_the_newest_at_the_right_and_each_missed_one_hollow() -> None:
    ticks = [
        DONE,
        tick(15, outcome="missed", count=2),
        tick(45, outcome="overlapped"),
        tick(60, State.FAILED, 9),
    ]
    drawn = small(ticks, 30)
    assert [(one.tone, one.form) for one in drawn] == [
        *(("bad", ""), ("warn", ""), ("muted", "hollow"), ("muted", "hollow"), ("good", "")),
    ]
    assert drawn[-1].x == "97.17%"
    assert drawn[0].height == "100%"
    assert told(ticks, 30) == "last 5 runs: 1 succeeded, 1 failed, 1 skipped, 2 missed"
    assert told([], 30) == "no run yet"
    assert len(small([tick(1, outcome="missed", count=99)], 30)) == 30


def test_a_large_drawing_is_to_scale_and_a_failed_run_stands_before_a_column() -> None:
    ticks = [tick(0, State.RUNNING), DONE, tick(15, State.FAILED, 60), tick(30, State.SUCCEEDED, 960)]
    chart = large(ticks, 4, NOW)
    back, *bars = chart.bars
    assert (back.tone, back.form, back.height) == ("bad", "back", "100%")
    assert [bar.height for bar in bars] == ["100%", "6.25%", "50%", "3%"]
    assert chart.y == ["16 min", "8 min", "0"]
    assert (chart.x[0], chart.x[-1]) == ("14:02", "14:32")
    assert chart.hits[2].title == "2026-11-16 14:31:00 UTC: succeeded, took 8 min"
    assert large([tick(1, outcome="missed")], 50, NOW).y == [], "no length was measured"


def test_tries_stand_in_their_parts_and_what_is_not_known_is_left_out() -> None:
    half, ago = timedelta(seconds=0.5), 7 * MINUTE
    tries = [LastTry(NOW - ago, half, True), LastTry(NOW - MINUTE, None, False), LastTry(NOW, half * 4, True)]
    chart = tries_chart(LastTries(None, tries), NOW)
    assert chart is not None
    assert (len(chart.hits), [bar.tone for bar in chart.bars]) == (24, ["good", "good", "bad"])
    assert chart.hits[-1].title == "14:30 to 14:35: 1 delivered, 1 not"
    assert [row.values for row in chart.rows[:2]] == [["1", "1"], ["1", "0"]]
    cut = tries_chart(LastTries(NOW - 6 * MINUTE, tries), NOW)
    assert cut is not None
    assert [one.title[:5] for one in cut.hits] == ["14:30"]
    assert tries_chart(LastTries(None, []), NOW) is None
    assert (usual_answer(tries), usual_answer([])) == (half, None)
