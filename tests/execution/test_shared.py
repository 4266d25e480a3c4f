"""The lanes `async` and `thread`: many attempts in one process, and what becomes of them when one fails."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.retry import Crashed, Returned, TimedOut
from tenure.execution.lanes import Lane, Lanes
from tenure.execution.parent import runner_attempt
from tenure.execution.parent.attempt_terms import Ended, Interrupted, StopReason, StopRequest
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import ROOT, Recorder, is_alive, run
from tests.until import until

SOON = 0.05
NEVER = 3600.0
MEBIBYTE = 1 << 20


@pytest_asyncio.fixture
async def lanes() -> AsyncIterator[Lanes]:
    """Lanes of its own for each test: what runs in them is what the test has started."""
    lanes = Lanes(
        "tests.execution.shared_process_app:app",
        folder=ROOT,
        environment=ChildEnvironment({**os.environ, "WANTED": "yes"}, ()),
    )
    await lanes.start()
    yield lanes
    await lanes.close()


BOTH = pytest.mark.parametrize(("name", "suffix"), [("async", "_later"), ("thread", "")])
"""Each lane with the handlers that are made for it."""


def value(ended: Ended) -> Any:
    assert isinstance(ended.end, Returned), ended
    return json.loads(ended.end.result)


async def begun(lane: Lane, definition: str, params: object, **options: Any) -> asyncio.Task[Ended]:
    """An attempt of a job of its own that is known to run."""
    recorder = Recorder()
    options.setdefault("job", uuid4())
    options.setdefault("timeout", NEVER)
    running = asyncio.create_task(run(lane, definition, params, recorder=recorder, **options))
    await until(lambda: recorder.progresses)
    return running


@BOTH
async def test_what_each_says_reaches_its_own(lanes: Lanes, name: str, suffix: str) -> None:
    recorders = [Recorder() for _ in range(20)]
    lane = lanes.named(name)
    ended = await asyncio.gather(
        *(run(lane, f"speaks_of{suffix}", f"#{n:02}", recorder=each) for n, each in enumerate(recorders))
    )
    assert [value(each) for each in ended] == [f"#{n:02}" for n in range(20)]
    for n, each in enumerate(recorders):
        own = f"#{n:02}"
        printed = [text for text in each.texts("stdout") if not text.endswith("from a thread")]
        assert printed == [f"{own} prints {turn}" for turn in range(20)]
        assert each.texts("stderr") == [f"{own} errs {turn}" for turn in range(20)]
        assert {json.loads(line.fields or "")["by"] for line in each.lines if line.level == "info"} == {own}
        assert {json.loads(note.payload or "")["by"] for note in each.notes} == {own}
        assert [progress.message for progress in each.progresses] == [own]
        threads = [text for text in each.texts("stdout") if text.endswith("from a thread")]
        assert set(threads) <= {f"{own} prints from a thread"}


@BOTH
async def test_they_share_one_process(lanes: Lanes, name: str, suffix: str, tmp_path: Path) -> None:
    lane = lanes.named(name)
    waiting = [await begun(lane, f"waits_for{suffix}", str(tmp_path / "go")) for _ in range(5)]
    (tmp_path / "go").touch()
    pids = {value(ended) for ended in await asyncio.gather(*waiting)}
    assert len(pids) == 1
    assert value(await run(lane, f"looks_around{suffix}"))["pid"] in pids


@BOTH
async def test_many_come_and_go_at_once(lanes: Lanes, name: str, suffix: str) -> None:
    lane = lanes.named(name)
    seen = []
    for _ in range(3):
        ended = await asyncio.gather(*(run(lane, f"looks_around{suffix}") for _ in range(200)))
        seen += [value(each)["pid"] for each in ended]
    assert len(set(seen)) == 1


@BOTH
async def test_who_must_be_killed_takes_the_runner_and_its_neighbours_are_not_charged(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    """Nor are they suspected of anything: they run among others again."""
    lane, neighbour = lanes.named(name), uuid4()
    first = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"), job=neighbour)
    blocking = await begun(lane, f"blocks{suffix}", None, timeout=1, grace=SOON)
    assert (await blocking).end == TimedOut(timedelta(seconds=1))
    ended = await first
    assert isinstance(ended.end, Interrupted)
    assert ended.end.error.kind == "RunnerKilled"
    (tmp_path / "go").touch()
    pid = value(await run(lane, f"looks_around{suffix}"))["pid"]
    assert value(await run(lane, f"waits_for{suffix}", str(tmp_path / "go"), job=neighbour)) == pid


@BOTH
async def test_one_that_blocks_does_not_stop_other_lanes(lanes: Lanes, name: str, suffix: str) -> None:
    stop = StopRequest()
    blocking = await begun(lanes.named(name), f"blocks{suffix}", None, stop=stop)
    for other in {"process", "warm", "async", "thread"} - {name}:
        assert value(await run(lanes.named(other), "looks_around"))["pid"]
    assert not blocking.done()
    stop.ask(StopReason.SHUTDOWN)
    assert (await blocking).end is None


@BOTH
async def test_a_crash_among_others_is_charged_to_nobody_and_the_next_time_to_the_guilty(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    lane, guilty, innocent = lanes.named(name), uuid4(), uuid4()
    go = tmp_path / "go"
    bystander = await begun(lane, f"waits_for{suffix}", str(tmp_path / "later"), job=innocent)
    culprit = await begun(lane, f"exits_when{suffix}", str(go), job=guilty)
    go.touch()
    for ended in await asyncio.gather(bystander, culprit):
        assert isinstance(ended.end, Interrupted)
        assert ended.end.error.kind == "RunnerDied"

    other = await begun(lane, f"waits_for{suffix}", str(tmp_path / "later"))
    alone = await run(lane, f"exits_when{suffix}", str(go), job=guilty)
    assert isinstance(alone.end, Crashed)
    assert (alone.end.error.kind, alone.usage.exit_code) == ("ExitedWithoutResult", 7)
    apart = await begun(lane, f"waits_for{suffix}", str(tmp_path / "later"), job=innocent)
    assert not other.done()
    (tmp_path / "later").touch()
    among = value(await other)
    assert value(await apart) != among
    assert value(await run(lane, f"waits_for{suffix}", str(tmp_path / "later"), job=innocent)) == among


@BOTH
async def test_who_has_lost_its_lease_and_stops_harms_nobody(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    lane, stop = lanes.named(name), StopRequest()
    stop.prolong(time.monotonic() + NEVER)
    neighbour = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"))
    lost = await begun(lane, f"stops_when_asked{suffix}", None, stop=stop)
    stop.ask(StopReason.LOST)
    assert (await lost).end is None
    (tmp_path / "go").touch()
    assert value(await neighbour)


@pytest.mark.parametrize("name", ["warm", "async", "thread"])
async def test_what_cannot_wait_for_the_store_any_more_is_refused(
    lanes: Lanes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To wait until there is room would keep its neighbours waiting; what was taken is done."""
    monkeypatch.setattr(runner_attempt, "MOST_REQUESTED", 2)
    go = asyncio.Event()

    class Slow(Recorder):
        async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
            await go.wait()
            return await super().spawn(jobs)

    recorder = Slow()
    running = asyncio.create_task(run(lanes.named(name), "asks_too_much", recorder=recorder))
    await until(lambda: recorder.texts("info"))
    assert "wait to be enqueued" in recorder.texts("info")[0]
    assert value(await run(lanes.named(name), "looks_around"))["pid"]
    go.set()
    assert value(await running) == "refused"
    assert len(recorder.spawned) == 2


@BOTH
async def test_at_the_deadline_of_one_its_neighbours_are_handed_back(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    lane, early, late = lanes.named(name), StopRequest(), StopRequest()
    late.prolong(time.monotonic() + NEVER)
    early.prolong(time.monotonic() + NEVER)
    neighbour = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"), stop=late)
    expiring = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"), stop=early)
    early.prolong(time.monotonic() + SOON)
    assert (await expiring).end is None
    assert isinstance((await neighbour).end, Interrupted)


@BOTH
async def test_the_deadline_of_one_that_has_ended_is_nobody_elses(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    lane, early, late = lanes.named(name), StopRequest(), StopRequest()
    end = time.monotonic() + 1
    early.prolong(end)
    late.prolong(time.monotonic() + NEVER)
    first = value(await run(lane, f"looks_around{suffix}", stop=early))["pid"]
    staying = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"), stop=late)
    await until(lambda: time.monotonic() > end + 0.2)
    (tmp_path / "go").touch()
    assert value(await staying) == first
    assert is_alive(first)


@BOTH
async def test_a_runner_that_has_grown_ends_with_its_last_attempt(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    lane = lanes.named(name)
    staying = await begun(lane, f"waits_for{suffix}", str(tmp_path / "go"))
    first = value(await run(lane, f"hoards{suffix}", 256 * MEBIBYTE))

    async def is_replaced() -> bool:
        return bool(value(await run(lane, f"looks_around{suffix}"))["pid"] != first)

    await until(is_replaced)
    assert not staying.done()
    (tmp_path / "go").touch()
    assert value(await staying) == first
    await until(lambda: not is_alive(first))


@BOTH
async def test_a_variable_that_a_definition_names_is_there(lanes: Lanes, name: str, suffix: str) -> None:
    seen = value(
        await run(lanes.named(name), f"looks_around{suffix}", limits=ResourceLimits(environment=("WANTED",)))
    )
    assert seen["wanted"] == "yes"


async def test_tasks_that_an_attempt_leaves_are_ended_before_it_is_over(lanes: Lanes, tmp_path: Path) -> None:
    for name in ("async", "thread"):
        value(await run(lanes.named(name), "leaves_a_task", str(tmp_path / name)))
        assert (tmp_path / name).read_text() == "cancelled"


async def test_a_task_that_calls_for_the_end_of_the_process_ends_only_itself(
    lanes: Lanes, tmp_path: Path
) -> None:
    lane = lanes.named("async")
    neighbour = await begun(lane, "waits_for_later", str(tmp_path / "go"))
    assert value(await run(lane, "task_exits")) == "still here"
    (tmp_path / "go").touch()
    assert value(await neighbour)


@BOTH
async def test_whatever_is_printed_is_no_reason_to_fail(lanes: Lanes, name: str, suffix: str) -> None:
    """As in a process of its own: what is too long is cut, and what is no text is written out."""
    recorder = Recorder()
    value(await run(lanes.named(name), f"prints_oddly{suffix}", recorder=recorder))
    cut, odd = recorder.texts("stdout")
    assert cut.startswith("xxx")
    assert odd == "a name \\udcff"


@BOTH
async def test_who_closes_the_socket_of_all_keeps_nobody_waiting(
    lanes: Lanes, name: str, suffix: str, tmp_path: Path
) -> None:
    """No attempt in this runner can report any more: they are handed back, and the runner ends."""
    lane = lanes.named(name)
    neighbour = await begun(lane, f"waits_for{suffix}", str(tmp_path / "never"))
    closing = await begun(lane, f"closes_everything{suffix}", str(tmp_path / "go"))
    (tmp_path / "go").touch()
    for ended in await asyncio.gather(neighbour, closing):
        assert isinstance(ended.end, Interrupted)


@BOTH
async def test_an_end_that_cannot_be_told_is_one(lanes: Lanes, name: str, suffix: str) -> None:
    ended = await run(lanes.named(name), f"raises_the_unspeakable{suffix}", timeout=NEVER)
    assert isinstance(ended.end, Crashed)


async def test_time_is_counted_by_thread(lanes: Lanes) -> None:
    busy, idle = await asyncio.gather(
        run(lanes.named("thread"), "spins", 0.5), run(lanes.named("thread"), "looks_around")
    )
    assert busy.usage.cpu >= timedelta(seconds=0.5) > idle.usage.cpu


async def test_a_zygote_that_dies_hands_back_all_and_each_runs_apart(lanes: Lanes, tmp_path: Path) -> None:
    lane, job = lanes.named("async"), UUID(int=7)
    running = [
        await begun(lane, "waits_for_later", str(tmp_path / "go"), job=job),
        await begun(lane, "waits_for_later", str(tmp_path / "go")),
    ]
    value(await run(lanes.named("warm"), "looks_around"))
    zygote = value(await run(lanes.named("process"), "tells_its_parent"))
    os.kill(zygote, 9)
    for ended in await asyncio.gather(*running):
        assert isinstance(ended.end, Interrupted)
        assert ended.end.error.kind == "ZygoteDied"
    (tmp_path / "go").touch()
    apart = value(await run(lane, "waits_for_later", str(tmp_path / "go"), job=job))
    assert not is_alive(apart)
    assert value(await run(lane, "waits_for_later", str(tmp_path / "go"), job=job)) != apart
