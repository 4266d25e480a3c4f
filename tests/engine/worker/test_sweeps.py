"""When a worker that messages lead claims by itself: at once, then in time, or where jobs were left."""

import time

import pytest

from tenure.core.model.claim_by_id import Unclaimed, WhyUnclaimed
from tenure.core.model.lease import Line
from tenure.engine.worker.sweeps import Sweeps

MAIL, POST = Line("default", "mail"), Line("default", "post")
ALL = (MAIL, POST)


class Time:
    """The clock of a test, which moves when it is told to."""

    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    moved = Time()
    monkeypatch.setattr(time, "monotonic", lambda: moved.now)
    return moved


def test_the_first_sweep_comes_at_once_and_the_next_in_time(clock: Time) -> None:
    sweeps = Sweeps(ALL, 30)
    assert sweeps.due() == ALL
    sweeps.note_swept(ALL, 2, 4)
    assert sweeps.due() == ()
    clock.now += 30
    assert sweeps.due() == ALL


def test_a_sweep_that_fills_every_slot_goes_on_until_a_message_leads_to_a_job(clock: Time) -> None:
    sweeps = Sweeps(ALL, 30)
    sweeps.note_swept(ALL, 4, 4)
    assert sweeps.due() == ALL
    sweeps.note_named([], [Unclaimed(WhyUnclaimed.OWNED, MAIL)])
    assert sweeps.due() == ALL
    sweeps.note_named([MAIL], [])
    assert sweeps.due() == ()
    clock.now += 30
    assert sweeps.due() == ALL


@pytest.mark.parametrize("why", [WhyUnclaimed.PAUSED, WhyUnclaimed.LIMITED])
def test_a_hint_leads_to_the_lines_in_which_jobs_were_left(clock: Time, why: WhyUnclaimed) -> None:
    sweeps = Sweeps(ALL, 30)
    sweeps.note_swept(ALL, 0, 4)
    sweeps.hint()
    assert sweeps.due() == ()
    sweeps.note_named([], [Unclaimed(why, POST)])
    assert sweeps.due() == (POST,)
    sweeps.note_swept((POST,), 1, 4)
    assert sweeps.due() == ()  # until the next hint
    sweeps.hint()
    assert sweeps.due() == (POST,)


def test_a_line_in_which_a_message_has_led_to_a_job_needs_no_hint(clock: Time) -> None:
    sweeps = Sweeps(ALL, 30)
    sweeps.note_swept(ALL, 0, 4)
    sweeps.note_named([], [Unclaimed(WhyUnclaimed.PAUSED, POST)])
    sweeps.note_named([POST], [])
    sweeps.hint()
    assert sweeps.due() == ()


def test_what_is_left_for_other_reasons_is_not_looked_for(clock: Time) -> None:
    sweeps = Sweeps(ALL, 30)
    sweeps.note_swept(ALL, 0, 4)
    others = set(WhyUnclaimed) - {WhyUnclaimed.PAUSED, WhyUnclaimed.LIMITED}
    sweeps.note_named([], [Unclaimed(why, POST) for why in others])
    sweeps.hint()
    assert sweeps.due() == ()


def test_without_messages_every_claim_is_a_sweep(clock: Time) -> None:
    sweeps = Sweeps(ALL, 3600)
    sweeps.note_swept(ALL, 0, 4)
    sweeps.is_blind = True
    assert sweeps.due() == ALL
    sweeps.note_swept(ALL, 0, 4)
    assert sweeps.due() == ALL
    sweeps.is_blind = False
    assert sweeps.due() == ()
