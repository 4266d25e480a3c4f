"""The lane `warm`: processes that are used again, and what one attempt finds of those before it."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenure.core.model.retry import Crashed, OutOfMemory, Returned, TimedOut
from tenure.execution.lanes import Lane, Lanes
from tenure.execution.parent import runner_lanes
from tenure.execution.parent.attempt_terms import Ended, Interrupted
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import ROOT, Recorder, is_alive, run
from tests.execution.parent.test_stopping import pids
from tests.until import until

MEBIBYTE = 1 << 20


@pytest_asyncio.fixture
async def lane() -> AsyncIterator[Lane]:
    """A lane of its own for each test: what runs in it is what the test has started."""
    lanes = Lanes(
        "tests.execution.shared_process_app:app",
        folder=ROOT,
        environment=ChildEnvironment({**os.environ, "WANTED": "yes"}, ()),
    )
    await lanes.start()
    yield lanes.named("warm")
    await lanes.close()


def value(ended: Ended) -> Any:
    assert isinstance(ended.end, Returned)
    return json.loads(ended.end.result)


async def test_what_an_attempt_changes_around_it_is_put_back(lane: Lane) -> None:
    before = value(await run(lane, "looks_around"))
    assert value(await run(lane, "spoils")) == before["pid"]
    assert value(await run(lane, "looks_around")) == before
    assert value(await run(lane, "looks_around_later")) == before


async def test_a_variable_is_given_to_the_definition_that_names_it_and_to_no_other(lane: Lane) -> None:
    named = value(await run(lane, "looks_around", limits=ResourceLimits(environment=("WANTED",))))
    other = value(await run(lane, "looks_around"))
    assert (named["wanted"], other["wanted"]) == ("yes", None)
    assert named["pid"] == other["pid"]


async def test_each_attempt_has_the_limits_of_its_own_definition(lane: Lane) -> None:
    free = value(await run(lane, "looks_around", limits=ResourceLimits(files=512)))
    bound = value(
        await run(lane, "looks_around", limits=ResourceLimits(files=256, memory=512 * MEBIBYTE, cpu=5))
    )
    again = value(await run(lane, "looks_around", limits=ResourceLimits(files=512)))
    assert (free["files"], bound["files"], bound["memory"]) == (512, 256, 512 * MEBIBYTE)
    assert 5 <= bound["cpu"] <= 10
    assert again == free
    assert free["pid"] == bound["pid"]


async def test_too_much_memory_is_named_and_the_next_has_its_own(lane: Lane) -> None:
    assert isinstance((await run(lane, "looks_around")).end, Returned)
    limits = ResourceLimits(memory=256 * MEBIBYTE)
    assert (await run(lane, "allocates", 512 * MEBIBYTE, limits=limits)).end == OutOfMemory()
    assert value(await run(lane, "allocates", 512 * MEBIBYTE)) == 512 * MEBIBYTE


async def test_the_time_of_earlier_attempts_is_nobody_elses(lane: Lane) -> None:
    """Neither counted for the next, nor taken from its limit."""
    first = await run(lane, "spins", 0.7, limits=ResourceLimits(cpu=2))
    second = await run(lane, "spins", 0.5, limits=ResourceLimits(cpu=1))
    assert value(first) == value(second)
    assert first.usage.cpu >= timedelta(seconds=0.7)
    assert timedelta(seconds=0.5) <= second.usage.cpu < timedelta(seconds=0.7)
    third = await run(lane, "spins", 60, limits=ResourceLimits(cpu=1))
    assert isinstance(third.end, Crashed)
    assert "SIGXCPU" in third.end.error.message
    assert third.usage.signal == signal.SIGXCPU


async def test_memory_is_counted_by_attempt(lane: Lane) -> None:
    large = await run(lane, "allocates", 256 * MEBIBYTE)
    small = await run(lane, "looks_around")
    assert large.usage.peak_memory > 256 * MEBIBYTE > small.usage.peak_memory > 0


async def test_a_runner_is_replaced_after_so_many_attempts(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_lanes, "WARM_ATTEMPTS", 3)
    seen = [value(await run(lane, "looks_around"))["pid"] for _ in range(7)]
    assert [seen.count(pid) for pid in dict.fromkeys(seen)] == [3, 3, 1]
    await until(lambda: not any(map(is_alive, seen[:6])))


async def test_a_runner_is_replaced_when_it_is_old(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    first = value(await run(lane, "looks_around"))["pid"]
    monkeypatch.setattr(runner_lanes, "WARM_AGE", timedelta(0))
    second = value(await run(lane, "looks_around"))["pid"]
    assert first != second
    await until(lambda: not is_alive(first) and not is_alive(second))


async def test_a_runner_is_not_used_again_after_an_attempt_that_was_asked_to_stop(lane: Lane) -> None:
    """Its signal may still be on its way, and would stop the next one."""
    first = value(await run(lane, "looks_around"))["pid"]
    ended = await run(lane, "stops_when_asked", timeout=0.05, grace=60)
    assert isinstance(ended.end, TimedOut)
    assert value(await run(lane, "looks_around"))["pid"] != first


async def test_a_runner_is_replaced_when_it_has_grown(lane: Lane) -> None:
    """By what attempts leave in it, not by what they need for a while."""
    first = value(await run(lane, "looks_around"))["pid"]
    assert isinstance((await run(lane, "allocates", 256 * MEBIBYTE)).end, Returned)
    assert value(await run(lane, "hoards", 256 * MEBIBYTE)) == first
    assert not is_alive(first)
    assert value(await run(lane, "looks_around"))["pid"] != first


async def test_a_thread_that_an_attempt_leaves_ends_the_runner(lane: Lane) -> None:
    first = value(await run(lane, "leaves_a_thread"))
    assert not is_alive(first)
    assert value(await run(lane, "looks_around"))["threads"] == 1


async def test_what_an_attempt_leaves_in_its_loop_is_ended_and_the_runner_kept(
    lane: Lane, tmp_path: Path
) -> None:
    first = value(await run(lane, "leaves_a_task", str(tmp_path / "task")))
    assert (tmp_path / "task").read_text() == "cancelled"
    assert value(await run(lane, "uses_a_thread", str(tmp_path / "thread"))) == first
    assert (tmp_path / "thread").read_text() == "done"
    assert value(await run(lane, "looks_around_later"))["pid"] == first


async def test_a_process_that_an_attempt_leaves_is_gone_when_it_is_over(tmp_path: Path) -> None:
    lanes = Lanes("tests.execution.hostile_app:app", folder=ROOT, environment=ChildEnvironment(os.environ))
    await lanes.start()
    ledger = tmp_path / "ledger"
    assert value(await run(lanes.named("warm"), "daemonises", str(ledger))) == "done"
    assert pids(ledger)
    assert not any(map(is_alive, pids(ledger)))
    await lanes.close()


async def test_there_are_as_many_runners_as_are_needed_at_once(lane: Lane, tmp_path: Path) -> None:
    here = [Recorder() for _ in range(3)]
    waiting = [
        asyncio.create_task(run(lane, "waits_for", str(tmp_path / "go"), recorder=recorder))
        for recorder in here
    ]
    await until(lambda: all(recorder.progresses for recorder in here))
    (tmp_path / "go").touch()
    seen = {value(ended) for ended in await asyncio.gather(*waiting)}
    assert len(seen) == 3
    again = await asyncio.gather(*(run(lane, "looks_around") for _ in range(3)))
    assert {value(ended)["pid"] for ended in again} <= seen


async def test_output_is_heard_before_the_end(lane: Lane, tmp_path: Path) -> None:
    recorder = Recorder()
    running = asyncio.create_task(run(lane, "prints_and_waits", str(tmp_path / "go"), recorder=recorder))
    await until(partial(recorder.texts, "stdout"))
    assert not running.done()
    (tmp_path / "go").touch()
    assert isinstance((await running).end, Returned)


async def test_an_idle_runner_that_is_killed_is_replaced_and_nobody_charged(lane: Lane) -> None:
    first = value(await run(lane, "looks_around"))["pid"]
    os.kill(first, signal.SIGKILL)
    await until(lambda: not is_alive(first))
    ended = await run(lane, "looks_around")
    if isinstance(ended.end, Interrupted):  # its end was not known yet
        ended = await run(lane, "looks_around")
    assert value(ended)["pid"] != first


async def test_who_was_given_to_a_dead_runner_is_not_charged(lane: Lane) -> None:
    """It was stopped, so the worker could not know that it would not read what it was sent."""
    first = value(await run(lane, "looks_around"))["pid"]
    os.kill(first, signal.SIGSTOP)
    running = asyncio.create_task(run(lane, "looks_around"))
    for _ in range(3):
        await asyncio.sleep(0)  # until it was sent
    os.kill(first, signal.SIGKILL)
    assert isinstance((await running).end, Interrupted)
