"""What is put on record of a worker that cannot receive: the change, and not each failure."""

import pytest

from tenure.relay.messages import reception
from tenure.relay.messages.reception import Reception


class Notes:
    """A store that is told."""

    def __init__(self) -> None:
        self.told: list[str | None] = []
        self.is_away = False

    async def note_receiver(self, worker: str, queue: str, problem: str | None) -> None:
        assert (worker, queue) == ("a", "jobs")
        if self.is_away:
            raise ConnectionError
        self.told.append(problem)


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    monkeypatch.setattr(reception, "LEAST_PAUSE", 0.0)
    return Notes()


def reception_of(notes: Notes) -> Reception:
    return Reception(notes, "a", "jobs")  # type: ignore[arg-type]


async def test_the_beginning_and_the_end_of_failures_are_told(notes: Notes) -> None:
    """So is the start: it says which queue leads the worker."""
    of = reception_of(notes)
    await of.tell()
    for problem, is_news in ((None, False), ("away", True), ("away", False), ("gone", False), (None, True)):
        assert of.note(problem) is is_news
        await of.tell()
    assert notes.told == [None, "away", None]


async def test_another_problem_takes_its_place_after_a_while(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = reception_of(notes)
    of.note("away")
    await of.tell()
    of.note("refused")
    await of.tell()
    assert notes.told == ["away"]
    monkeypatch.setattr(reception, "OTHER_PROBLEM_AFTER", 0.0)
    await of.tell()
    assert notes.told == ["away", "refused"]


async def test_a_broker_that_comes_and_goes_is_not_told_each_time(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "LEAST_PAUSE", 60.0)
    of = reception_of(notes)
    await of.tell()
    for problem in ("away", None, "away"):
        of.note(problem)
        assert 0 < await of.tell() <= 60
    assert notes.told == [None]


async def test_what_could_not_be_put_on_record_is_told_later(notes: Notes) -> None:
    of = reception_of(notes)
    of.note("away")
    notes.is_away = True
    with pytest.raises(ConnectionError):
        await of.tell()
    notes.is_away = False
    await of.tell()
    assert notes.told == ["away"]
