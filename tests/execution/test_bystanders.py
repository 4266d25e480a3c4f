"""A zygote that dies or is stuck: its attempts come to an end, and only a known culprit pays."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from tenure.core.model.retry import AttemptEnd, Crashed, Returned
from tenure.execution.parent import patience, quarantine, zygote_client
from tenure.execution.parent.attempt_terms import Ended, Interrupted, StopReason, StopRequest, Unstarted
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import Recorder, is_alive, opened, run
from tests.execution.parent.test_stopping import pids
from tests.execution.zygote.test_survivors import parent_of
from tests.until import until

NEVER = 3600.0
HOSTILE = "tests.execution.hostile_app:app"


@pytest_asyncio.fixture
async def lane() -> AsyncIterator[ProcessLane]:
    """One whose handlers are hostile, for one test alone."""
    async with opened(HOSTILE) as lane:
        yield lane


async def begun(lane: ProcessLane, definition: str, ledger: Path, **options: object) -> asyncio.Task[Ended]:
    """An attempt of a job of its own that has begun and will not end by itself."""
    options.setdefault("job", uuid4())
    running = asyncio.create_task(run(lane, definition, str(ledger), timeout=NEVER, **options))  # type: ignore[arg-type]
    await until(lambda: pids(ledger))
    return running


async def test_a_zygote_that_is_stopped_is_replaced_and_its_guard_too(
    lane: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the time limits of its attempts."""
    monkeypatch.setattr(zygote_client, "PING_EVERY", 0.3)
    bystander = await begun(lane, "ignores_sigterm", tmp_path / "bystander")
    culprit = await begun(lane, "stops_its_elders", tmp_path / "culprit")
    waiting = asyncio.create_task(run(lane, "returns", 1, timeout=NEVER))
    await until(lambda: bystander.done() and culprit.done() and waiting.done())
    assert isinstance((await bystander).end, Interrupted)
    assert isinstance((await culprit).end, Interrupted)
    assert isinstance((await waiting).end, Unstarted)
    assert not any(map(is_alive, pids(tmp_path / "bystander") + pids(tmp_path / "culprit")))
    assert (await run(lane, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]


async def test_a_zygote_that_gives_signs_of_life_is_left_alone(
    lane: ProcessLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long its attempts take: this one is asked for more of them than it may leave unanswered."""
    monkeypatch.setattr(zygote_client, "PING_EVERY", 0.02)
    monkeypatch.setattr(zygote_client, "MOST_UNANSWERED", 100)
    assert isinstance((await run(lane, "sleeps", 4)).end, Returned)


async def test_nothing_of_an_attempt_outlives_its_lease_though_the_zygote_is_stopped(
    lane: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has lost its lease is not waited for longer than the lease lasts."""
    monkeypatch.setattr(zygote_client, "PING_EVERY", NEVER)
    monkeypatch.setattr(patience, "PATIENCE", NEVER)
    stop = StopRequest()
    stop.prolong(time.monotonic() + NEVER)
    running = await begun(lane, "stops_its_elders", tmp_path / "on", stop=stop)
    stop.prolong(time.monotonic() + 0.2)
    stop.ask(StopReason.LOST)
    await until(running.done)
    assert (await running).end is None
    assert not any(map(is_alive, pids(tmp_path / "on")))


async def test_who_is_alone_with_a_zygote_that_dies_has_killed_it(lane: ProcessLane, tmp_path: Path) -> None:
    ended = await run(lane, "kills_its_parent", str(tmp_path / "on"), job=uuid4())
    assert kind(ended.end) == "ZygoteDied"


async def test_where_it_cannot_be_known_nobody_is_charged_and_the_next_time_it_is_known(
    lane: ProcessLane, tmp_path: Path
) -> None:
    """Each of them is run apart then: the culprit harms no other any more, the others are cleared."""
    culprit, bystander = uuid4(), uuid4()
    said = Recorder()
    running = await begun(lane, "ignores_sigterm", tmp_path / "first", job=bystander, recorder=said)
    ended = await run(lane, "kills_its_parent", str(tmp_path / "on"), job=culprit)
    assert isinstance(ended.end, Interrupted)
    assert isinstance((await running).end, Interrupted)
    assert "handed back" in said.texts("warning")[-1]

    stop, others = StopRequest(), StopRequest()
    running = await begun(lane, "ignores_sigterm", tmp_path / "second", job=bystander, stop=stop)
    other = await begun(lane, "ignores_sigterm", tmp_path / "third", stop=others)
    for n in range(2):
        ended = await run(lane, "kills_its_parent", str(tmp_path / f"on{n}"), job=culprit)
        assert kind(ended.end) == "ZygoteDied"
    assert not running.done()
    assert not other.done()
    assert parent_of(pids(tmp_path / "second")[0]) != parent_of(pids(tmp_path / "third")[0])
    for one in (stop, others):
        one.ask(StopReason.SHUTDOWN)
    assert (await running).end is (await other).end is None

    running = await begun(lane, "stops_itself", tmp_path / "fourth", job=bystander)
    other = await begun(lane, "stops_itself", tmp_path / "fifth")
    assert parent_of(pids(tmp_path / "fourth")[0]) == parent_of(pids(tmp_path / "fifth")[0])
    await lane.close()
    await asyncio.gather(running, other)


async def test_no_more_than_a_few_are_run_apart(
    lane: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs an import; a job that finds no room runs among the others."""
    monkeypatch.setattr(quarantine, "MOST_OWN_ZYGOTES", 0)
    culprit = uuid4()
    for n in range(2):
        running = await begun(lane, "stops_itself", tmp_path / f"bystander{n}")
        ended = await run(lane, "kills_its_parent", str(tmp_path / f"on{n}"), job=culprit)
        assert isinstance(ended.end, Interrupted)
        assert isinstance((await running).end, Interrupted)


async def test_what_had_not_begun_when_the_zygote_died_is_not_started(tmp_path: Path) -> None:
    """Even if it is the only one: an attempt that has read nothing has killed nothing."""
    async with opened(HOSTILE, spares=0) as lane:
        stop = StopRequest()
        running = await begun(lane, "ignores_sigterm", tmp_path / "on", stop=stop)
        zygote = parent_of(pids(tmp_path / "on")[0])
        stop.ask(StopReason.SHUTDOWN)
        await running
        os.kill(zygote, signal.SIGSTOP)
        waiting = asyncio.create_task(run(lane, "returns", 1))
        await asyncio.sleep(0)  # until it was asked for
        os.kill(zygote, signal.SIGKILL)
        end = (await waiting).end
        assert isinstance(end, Unstarted)
        assert end.error.kind == "ZygoteDied"


async def test_where_no_process_can_be_made_the_attempt_is_not_started(tmp_path: Path) -> None:
    async with opened(
        HOSTILE, spares=0, environment=ChildEnvironment({**os.environ, "TMPDIR": str(tmp_path)})
    ) as lane:
        [scratch] = tmp_path.iterdir()  # noqa: ASYNC240
        shutil.rmtree(scratch)
        end = (await run(lane, "returns", 1)).end
        assert isinstance(end, Unstarted)
        assert end.error.kind == "NotStarted"
        scratch.mkdir()
        assert (await run(lane, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]


def kind(end: AttemptEnd | Unstarted | Interrupted | None) -> str:
    assert isinstance(end, Crashed)
    return end.error.kind
