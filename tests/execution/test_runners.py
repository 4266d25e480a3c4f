"""What holds in every lane whose attempts are run by a runner: the same context, the same endings."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from tenure.core.errors import StoreUnavailable
from tenure.core.model.lease import Progress
from tenure.core.model.retry import Crashed, FatalAsked, Raised, RetryAsked, Returned, TimedOut, WasStopped
from tenure.core.model.trail import LogLine
from tenure.execution.lanes import Lane, Lanes
from tenure.execution.parent import zygote_client
from tenure.execution.parent.attempt_terms import Ended, StopReason, StopRequest
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import BOUND, JOB, ROOT, Recorder, is_alive, run
from tests.execution.parent.test_stopping import SHORT, pids
from tests.until import until

LANES = ["warm", "async", "thread"]
SAMPLE = "tests.execution.sample_app:app"
HOSTILE = "tests.execution.hostile_app:app"
SOON = 0.05
NEVER = 3600.0


def lanes_of(target: str, **changed: str) -> Lanes:
    return Lanes(target, folder=ROOT, environment=ChildEnvironment({**os.environ, **changed}))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sample() -> AsyncIterator[Lanes]:
    """Lanes of an app whose handlers behave."""
    lanes = lanes_of(SAMPLE)
    await lanes.start()
    yield lanes
    await lanes.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile() -> AsyncIterator[Lanes]:
    """Lanes of one whose handlers do not."""
    lanes = lanes_of(HOSTILE)
    await lanes.start()
    yield lanes
    await lanes.close()


pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.parametrize("name", LANES)]


async def stopped(
    lane: Lane,
    definition: str,
    ledger: Path,
    reason: StopReason,
    *,
    grace: float = BOUND,
    recorder: Recorder | None = None,
) -> Ended:
    """Run an attempt and stop it once its ledger is there."""
    stop = StopRequest()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            run(lane, definition, str(ledger), grace=grace, stop=stop, recorder=recorder)
        )
        await until(ledger.exists)
        stop.ask(reason)
    return running.result()


def result(ended: Ended) -> object:
    assert isinstance(ended.end, Returned)
    value: object = json.loads(ended.end.result)
    return value


def crash(ended: Ended) -> tuple[str, str]:
    assert isinstance(ended.end, Crashed)
    return ended.end.error.kind, ended.end.error.message


@pytest.mark.parametrize("definition", ["returns", "returns_later"])
async def test_what_a_handler_returns_is_the_result(sample: Lanes, name: str, definition: str) -> None:
    for n in range(3):
        assert result(await run(sample.named(name), definition, {"n": n})) == {"n": n}


async def test_what_a_handler_raises_is_told_with_its_own_frames(sample: Lanes, name: str) -> None:
    end = (await run(sample.named(name), "raises")).end
    assert isinstance(end, Raised)
    assert end.lineage[:2] == ("LookupError", "Exception")
    assert end.error.traceback is not None
    assert end.error.traceback.count("File ") == 1
    later = (await run(sample.named(name), "raises_later")).end
    assert isinstance(later, Raised)
    assert later.asked == RetryAsked(timedelta(seconds=5))
    ended = (await run(sample.named(name), "exits")).end
    assert isinstance(ended, Raised)
    assert ended.error.kind == "SystemExit"


async def test_an_exhausted_iterator_is_reported_as_such(sample: Lanes, name: str) -> None:
    """A coroutine must not turn it into a RuntimeError on its way."""
    end = (await run(sample.named(name), "exhausts")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "StopIteration"


async def test_a_handler_that_is_not_there_fails_its_own_attempt(sample: Lanes, name: str) -> None:
    end = (await run(sample.named(name), "missing")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "KeyError"


async def test_attempts_share_a_process_that_is_not_the_worker_s(sample: Lanes, name: str) -> None:
    seen = [result(await run(sample.named(name), "identifies", {"n": n}, fence=7)) for n in range(2)]
    first, second = seen
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["job"], first["fence"], second["params"]) == (str(JOB), 7, {"n": 1})
    assert first["pid"] == second["pid"] != os.getpid()
    assert first["confined"] is True


async def test_what_the_context_says_reaches_the_listener(sample: Lanes, name: str) -> None:
    recorder = Recorder()
    await run(sample.named(name), "logs", recorder=recorder)
    assert [(line.level, line.text) for line in recorder.lines] == [
        ("debug", "one"),
        ("info", "two"),
        ("warning", "three"),
        ("error", "four\\nlines\\x1b[31m"),
    ]
    assert recorder.progresses == [Progress(0.5, "half")]
    assert [note.type for note in recorder.notes] == ["custom:paid", "custom:bare"]


async def test_what_is_printed_is_the_attempts_own(sample: Lanes, name: str) -> None:
    """Also what stands after the last newline, and what goes by `logging`."""
    for _ in range(2):
        recorder = Recorder()
        await run(sample.named(name), "speaks", recorder=recorder)
        assert {"to stdout", "unfinished"} <= set(recorder.texts("stdout"))
        assert recorder.texts("stderr") == ["to stderr"]
        assert recorder.texts("warning") == ["by logging"]
        silent = Recorder()
        await run(sample.named(name), "returns_later", recorder=silent)
        assert silent.lines == []


@pytest.mark.parametrize("definition", ["spawns", "spawns_plainly"])
async def test_children_are_asked_for_and_answered(sample: Lanes, name: str, definition: str) -> None:
    recorder = Recorder()
    ended = await run(sample.named(name), definition, recorder=recorder)
    assert result(ended) == [str(UUID(int=n)) for n in range(3)]
    assert len(recorder.spawned) == 3


async def test_a_refusal_of_the_store_reaches_the_handler(sample: Lanes, name: str) -> None:
    recorder = Recorder(refusal=StoreUnavailable("gone fishing"))
    ended = await run(sample.named(name), "spawns_in_vain", recorder=recorder)
    assert result(ended) == "unavailable: gone fishing"


async def test_what_was_asked_for_is_done_though_nobody_waits_for_it(
    sample: Lanes, name: str, tmp_path: Path
) -> None:
    recorder = Recorder()
    ended = await run(sample.named(name), "spawns_and_leaves", str(tmp_path / "on"), recorder=recorder)
    assert result(ended) == "gone"
    assert len(recorder.spawned) == 1


async def test_hooks_run_there_too(sample: Lanes, name: str) -> None:
    recorder = Recorder()
    await run(sample.named(name), "returns", 1, recorder=recorder)
    assert recorder.texts("info") == ["greeted"]
    failing = Recorder()
    assert result(await run(sample.named(name), "returns_later", 1, recorder=failing)) == 1
    assert [note.type for note in failing.notes] == ["hook_failed"]


async def test_an_error_of_the_listener_is_not_hidden(sample: Lanes, name: str) -> None:
    class Deaf(Recorder):
        def progress(self, progress: Progress) -> None:
            raise RuntimeError("deaf")

        def log(self, line: LogLine) -> None:
            raise RuntimeError("deaf")

    for definition in ("logs", "speaks"):
        with pytest.raises(RuntimeError, match="deaf"):
            await run(sample.named(name), definition, recorder=Deaf())
    assert result(await run(sample.named(name), "returns", 1)) == 1


@pytest.mark.parametrize(
    "definition",
    [
        "stops_when_cancelled",
        "waits_for_cancel",
        "stops_plainly",
        "stops_at_a_glance",
        "blocks_until_cancelled",
    ],
)
async def test_who_is_asked_to_stop_may(sample: Lanes, name: str, definition: str, tmp_path: Path) -> None:
    end = (await stopped(sample.named(name), definition, tmp_path / "on", StopReason.CANCELLED)).end
    returns = {
        "waits_for_cancel": "told",
        "stops_plainly": "stopped by itself",
        "stops_at_a_glance": "stopped by itself",
    }
    if definition in returns:
        assert isinstance(end, Returned)
        assert json.loads(end.result) == returns[definition]
    else:
        assert end == WasStopped()


async def test_a_fatal_error_counts_while_it_is_cancelled(sample: Lanes, name: str, tmp_path: Path) -> None:
    end = (
        await stopped(sample.named(name), "gives_up_when_cancelled", tmp_path / "on", StopReason.CANCELLED)
    ).end
    assert isinstance(end, Raised)
    assert end.asked == FatalAsked()


@pytest.mark.parametrize("definition", ["stops_when_cancelled", "stops_plainly"])
async def test_one_that_stops_at_the_time_limit_has_timed_out(
    sample: Lanes, name: str, definition: str, tmp_path: Path
) -> None:
    recorder = Recorder()
    ended = await run(sample.named(name), definition, str(tmp_path / "on"), timeout=1, recorder=recorder)
    assert ended.end == TimedOut(timedelta(seconds=1))  # time enough to begin
    assert recorder.texts("info") == (["cleaned up"] if definition == "stops_when_cancelled" else [])


@pytest.mark.parametrize("definition", ["spins", "hangs"])
async def test_who_does_not_stop_is_killed_after_the_grace(
    hostile: Lanes, name: str, definition: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "on"
    ended = await run(hostile.named(name), definition, str(ledger), timeout=1, grace=SOON)
    assert ended.end == TimedOut(timedelta(seconds=1))
    assert ended.usage.signal == signal.SIGKILL
    assert not any(map(is_alive, pids(ledger)))
    assert result(await run(hostile.named(name), "returns", 1)) == 1


async def test_the_grace_is_as_long_as_was_said(
    sample: Lanes, hostile: Lanes, name: str, tmp_path: Path
) -> None:
    """S1.71: one that does not stop is killed long before another has met its time limit, not after."""
    stop = StopRequest()
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(
            run(sample.named(name), "stops_plainly", str(tmp_path / "beside"), timeout=5 * SHORT, stop=stop)
        )
        await until((tmp_path / "beside").exists)
        ended = await stopped(
            hostile.named(name), "hangs", tmp_path / "on", StopReason.CANCELLED, grace=SHORT
        )
        assert ended.end == WasStopped()
        assert not beside.done()
        stop.ask(StopReason.CANCELLED)
    assert result(beside.result()) == "stopped by itself"


@pytest.mark.parametrize("reason", [StopReason.LOST, StopReason.SHUTDOWN])
@pytest.mark.parametrize("definition", ["stops_plainly", "stops_when_cancelled"])
async def test_who_is_not_wanted_any_more_counts_for_nothing(
    sample: Lanes, name: str, definition: str, reason: StopReason, tmp_path: Path
) -> None:
    """What it returns because the worker ends is no result of its own."""
    assert (await stopped(sample.named(name), definition, tmp_path / "on", reason)).end is None


@pytest.mark.parametrize("reason", [StopReason.LOST, StopReason.SHUTDOWN])
async def test_who_is_not_wanted_and_does_not_stop_is_killed(
    hostile: Lanes, name: str, reason: StopReason, tmp_path: Path
) -> None:
    ledger = tmp_path / "on"
    ended = await stopped(hostile.named(name), "hangs", ledger, reason)
    assert ended.end is None
    assert not any(map(is_alive, pids(ledger)))


@pytest.mark.parametrize(
    ("reason", "end"),
    [(StopReason.CANCELLED, WasStopped()), (StopReason.LOST, None), (StopReason.SHUTDOWN, None)],
)
async def test_it_may_be_stopped_before_it_starts(
    sample: Lanes, name: str, reason: StopReason, end: object, tmp_path: Path
) -> None:
    stop = StopRequest()
    stop.ask(reason)
    ended = await run(sample.named(name), "stops_plainly", str(tmp_path / "on"), stop=stop)
    assert ended.end == end
    assert not (tmp_path / "on").exists()


async def test_cancelling_the_call_kills_the_attempt(hostile: Lanes, name: str, tmp_path: Path) -> None:
    ledger = tmp_path / "on"
    running = asyncio.create_task(run(hostile.named(name), "hangs", str(ledger)))
    await until(lambda: pids(ledger))
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    assert not any(map(is_alive, pids(ledger)))


async def test_a_crash_of_one_alone_is_named(hostile: Lanes, name: str) -> None:
    lane = hostile.named(name)
    kind, message = crash(await run(lane, "kills_itself", int(signal.SIGSEGV), job=uuid4()))
    assert kind == "KilledBySignal"
    assert "SIGSEGV" in message
    kind, message = crash(await run(lane, "exits_silently", 3, job=uuid4()))
    assert kind == "ExitedWithoutResult"
    assert "code 3" in message
    assert result(await run(lane, "returns", 1)) == 1


@pytest.mark.parametrize("sent", ["ffffffff", "00000003ffffff"])
async def test_garbage_on_the_pipe_ends_the_attempt(hostile: Lanes, name: str, sent: str) -> None:
    assert crash(await run(hostile.named(name), "writes_garbage", sent, job=uuid4()))[0] == "GarbageOnPipe"


async def test_closing_the_pipe_ends_the_attempt(hostile: Lanes, name: str) -> None:
    """While another thread waits for it, it is not even closed, and only the time limit helps."""
    ended = await run(hostile.named(name), "closes_its_pipe", job=uuid4(), timeout=3, grace=SOON)
    if name == "thread":
        assert isinstance(ended.end, TimedOut | Crashed)
    else:
        assert crash(ended)[0] == "PipeClosed"


@pytest.mark.parametrize(
    ("what", "kind"), [("nan", "ResultNotJson"), ("huge", "ResultTooLarge"), ("object", "ResultNotJson")]
)
async def test_a_result_that_cannot_be_kept_is_named(hostile: Lanes, name: str, what: str, kind: str) -> None:
    end = (await run(hostile.named(name), "returns_badly", what)).end
    assert isinstance(end, Raised)
    assert end.error.kind == kind


async def test_only_the_process_that_was_asked_reports(hostile: Lanes, name: str) -> None:
    assert result(await run(hostile.named(name), "returns_twice")) == "parent"


async def test_at_its_deadline_it_is_killed_though_nobody_asks(
    hostile: Lanes, name: str, tmp_path: Path
) -> None:
    """The deadline is the zygote's to keep; one that is moved on in time is not kept."""
    ledger, stop = tmp_path / "on", StopRequest()
    stop.prolong(time.monotonic() + BOUND)
    running = asyncio.create_task(run(hostile.named(name), "hangs", str(ledger), stop=stop))
    await until(lambda: pids(ledger))
    stop.prolong(time.monotonic() + SOON)
    assert (await running).end is None
    assert not any(map(is_alive, pids(ledger)))


async def test_nothing_outlives_its_lease_though_the_zygote_is_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote_client, "PING_EVERY", NEVER)
    lanes, ledger, stop = lanes_of(HOSTILE), tmp_path / "on", StopRequest()
    try:
        await lanes.start()
        stop.prolong(time.monotonic() + NEVER)
        running = asyncio.create_task(
            run(lanes.named(name), "stops_its_elders", str(ledger), stop=stop, timeout=NEVER)
        )
        await until(lambda: pids(ledger))
        stop.prolong(time.monotonic() + 0.2)
        stop.ask(StopReason.LOST)
        assert (await running).end is None
        assert not any(map(is_alive, pids(ledger)))
    finally:
        await lanes.close()
