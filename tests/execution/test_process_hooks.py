"""Hooks of an app at the start and the end of each process that runs its handlers."""

import json
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.core.model.retry import Raised, Returned, TimedOut
from tenure.execution.lanes import Lanes
from tenure.execution.parent import patience
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import ROOT, Recorder, run
from tests.until import until

ONE_BY_ONE = ["process", "spawn"]
USED_AGAIN = ["warm", "async"]


class Place:
    """The folder of an app's ledger and switches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ledger(self) -> list[str]:
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def words(self) -> list[str]:
        return [line.split()[0] for line in self.ledger()]

    def turn_on(self, switch: str) -> None:
        (self.folder / switch).touch()

    def turn_off(self, switch: str) -> None:
        (self.folder / switch).unlink()

    @asynccontextmanager
    async def lanes(self) -> AsyncIterator[Lanes]:
        environment = ChildEnvironment(os.environ, set_here={"HOOKS_PLACE": str(self.folder)})
        target = "tests.execution.process_hooks_app:app"
        opened = Lanes(target, folder=ROOT, environment=environment, spares=0)
        try:
            await opened.start()
            yield opened
        finally:
            await opened.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def result(attempt: Coroutine[Any, Any, Any]) -> Any:
    end = (await attempt).end
    assert isinstance(end, Returned), end
    return json.loads(end.result)


@pytest.mark.parametrize("lane", ONE_BY_ONE)
async def test_a_process_of_one_attempt_starts_before_it_and_stops_after_it(place: Place, lane: str) -> None:
    """All on one event loop: what a hook opens there belongs to the handler's."""
    async with place.lanes() as lanes:
        for _ in range(2):
            found = await result(run(lanes.named(lane), "works"))
            assert found == {"is_same_loop": True, "is_open": True, "variable": "yes"}
    assert place.words() == ["start", "attempt", "stop"] * 2
    assert len({line.split()[1] for line in place.ledger()}) == 2


@pytest.mark.parametrize("lane", USED_AGAIN)
async def test_a_process_that_is_used_again_starts_once_and_stops_with_its_worker(
    place: Place, lane: str
) -> None:
    """What the hooks began goes on from one attempt to the next; what an attempt leaves does not end it."""
    async with place.lanes() as lanes:
        for _ in range(3):
            found = await result(run(lanes.named(lane), "works"))
            assert found == {"is_same_loop": True, "is_open": True, "variable": "yes"}
        assert place.words() == ["start", "attempt", "attempt", "attempt"]
    assert place.words()[-1] == "stop"
    assert len({line.split()[1] for line in place.ledger()}) == 1


async def test_threads_start_once_and_stop_with_their_worker(place: Place) -> None:
    async with place.lanes() as lanes:
        for _ in range(2):
            assert await result(run(lanes.named("thread"), "works_plainly")) == {"variable": "yes"}
    assert place.words() == ["start", "attempt", "attempt", "stop-elsewhere"]


async def test_a_worker_that_ends_at_once_runs_no_stop_hooks(place: Place) -> None:
    async with place.lanes() as lanes:
        await result(run(lanes.named("warm"), "works"))
        await lanes.close(at_once=True)
    assert place.words() == ["start", "attempt"]


async def test_a_program_starts_nothing_of_the_apps(place: Place) -> None:
    async with place.lanes() as lanes:
        assert await result(run(lanes.named("command"), "program")) is None
    assert place.words() == ["attempt"]


@pytest.mark.parametrize("lane", ["process", "warm", "thread", "async"])
async def test_a_start_hook_that_fails_fails_the_attempt_and_the_next_process_tries_again(
    place: Place, lane: str
) -> None:
    """The failure is known by its own name, and by that of what was raised: a policy may name either."""
    async with place.lanes() as lanes:
        place.turn_on("start-fails")
        end = (await run(lanes.named(lane), "works_plainly")).end
        assert isinstance(end, Raised)
        assert end.error.kind == "ProcessStartFailed"
        assert end.error.message == "on_process_start start_plainly: ConnectionError: no database here"
        assert end.error.traceback is not None
        assert "tenure" not in end.error.traceback.replace(str(ROOT), "")
        assert end.lineage[:2] == ("ProcessStartFailed", "ConnectionError")
        place.turn_off("start-fails")
        assert await result(run(lanes.named(lane), "works_plainly")) == {"variable": "yes"}
    assert place.words()[:3] == ["start", "start", "attempt"]
    assert len({line.split()[1] for line in place.ledger()}) == 2


@pytest.mark.parametrize("lane", ["process", "warm", "async"])
async def test_a_start_hook_that_hangs_is_ended_by_the_attempts_timeout(place: Place, lane: str) -> None:
    async with place.lanes() as lanes:
        place.turn_on("start-hangs-later")
        end = (await run(lanes.named(lane), "works", timeout=0.2, grace=0.2)).end
        assert isinstance(end, TimedOut)
        place.turn_off("start-hangs-later")
        assert (await result(run(lanes.named(lane), "works")))["is_open"]


async def test_a_stop_hook_that_fails_is_told_in_the_log_and_stops_no_other(place: Place) -> None:
    recorder = Recorder()
    place.turn_on("stop-fails")
    async with place.lanes() as lanes:
        await result(run(lanes.named("process"), "works", recorder=recorder))
    assert place.words() == ["start", "attempt", "stop"]
    assert recorder.texts("stderr")[0] == "on_process_stop stop_plainly failed:"
    assert recorder.texts("stderr")[-1] == "ValueError: cannot close it"


@pytest.mark.parametrize("lane", ["process", "warm"])
async def test_a_stop_hook_that_hangs_costs_no_result(
    place: Place, lane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "STOP_HOOKS", 0.5)
    place.turn_on("stop-hangs")
    async with place.lanes() as lanes:
        await result(run(lanes.named(lane), "works"))
    await until(lambda: place.words()[-2:] == ["stop", "hangs"])


async def test_what_stop_hooks_of_a_used_process_say_is_in_the_workers_log(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    place.turn_on("stop-fails")
    async with place.lanes() as lanes:
        await result(run(lanes.named("warm"), "works"))
    assert "ValueError: cannot close it" in capfd.readouterr().err
