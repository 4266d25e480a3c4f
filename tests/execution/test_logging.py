"""What handlers log by the standard `logging`: it arrives once, with its level, in its own attempt's log."""

import asyncio
import json
import os
import signal
import socket
import struct
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType

import pytest
import pytest_asyncio

from tenure.core.model.retry import Returned
from tenure.execution.handler.frame_writer import FrameWriter
from tenure.execution.lanes import Lanes
from tenure.execution.parent import output
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import ROOT, Recorder, run

pytestmark = pytest.mark.asyncio(loop_scope="module")
EVERY_LANE = ["process", "spawn", "warm", "thread", "async"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lanes() -> AsyncIterator[Lanes]:
    opened = Lanes("tests.execution.logging_app:app", folder=ROOT, environment=ChildEnvironment(os.environ))
    await opened.start()
    yield opened
    await opened.close()


@pytest.mark.parametrize("lane", EVERY_LANE)
async def test_what_is_logged_arrives_once_with_its_level_in_every_lane(lanes: Lanes, lane: str) -> None:
    recorder = Recorder()
    end = (await run(lanes.named(lane), "says", recorder=recorder)).end
    assert end == Returned('["the end","silenced"]')  # type: ignore[arg-type]  # another tool sees all
    assert [(line.level, line.text) for line in recorder.lines] == [
        ("debug", "one"),
        ("info", "to ada"),
        (
            "warning",
            "too %d (its arguments do not fit: TypeError: %d format: a real number is required, not str)",
        ),
        ("error", "no luck"),
        ("error", "the end"),
    ]
    fields = [json.loads(line.fields or "null") for line in recorder.lines]
    assert fields[0] == {"logger": "shop.mail"}
    assert fields[1] == {"to": "ada", "how": "{1, 2}", "logger": "shop.mail"}
    assert fields[3]["exception"].startswith("Traceback (most recent call last):")
    assert fields[3]["exception"].endswith("KeyError: 'NO SUCH'")
    assert fields[4] == {"logger": "shop", "level": "CRITICAL"}


@pytest.mark.parametrize(("lane", "handler"), [("async", "says_in_turn"), ("thread", "says_in_turn_plainly")])
async def test_attempts_that_share_a_process_have_their_own_lines(
    lanes: Lanes, lane: str, handler: str
) -> None:
    """Also what runs in a thread that was given the attempt's context."""
    recorders = {name: Recorder() for name in ("a", "b", "c")}
    await asyncio.gather(
        *(run(lanes.named(lane), handler, name, recorder=each) for name, each in recorders.items())
    )
    for name, recorder in recorders.items():
        assert recorder.texts("info") == [*(f"{name} {n}" for n in range(20)), f"{name} beside"]


@pytest.mark.parametrize("lane", ["process", "warm"])
async def test_what_a_forked_process_logs_is_output(lanes: Lanes, lane: str) -> None:
    recorder = Recorder()
    assert isinstance((await run(lanes.named(lane), "forks", recorder=recorder)).end, Returned)
    assert recorder.texts("stderr") == ["FORMATTED shop.mail from a fork"]
    assert recorder.texts("info") == ["from the handler"]


async def test_the_apps_own_configuration_decides_what_arrives(lanes: Lanes, tmp_path: Path) -> None:
    recorder = Recorder()
    end = (await run(lanes.named("process"), "configures", str(tmp_path / "log"), recorder=recorder)).end
    assert end == Returned('"hush\\nkept\\nnot for the console\\n"')  # type: ignore[arg-type]
    assert [(line.level, line.text) for line in recorder.lines] == [("warning", "kept")]


async def test_a_hook_logs_like_a_handler(lanes: Lanes) -> None:
    recorder = Recorder()
    await run(lanes.named("process"), "says", recorder=recorder, hook="on_success")
    assert [(line.level, line.text) for line in recorder.lines] == [("info", "by a hook")]


async def test_what_is_logged_is_bounded_like_all_lines(lanes: Lanes) -> None:
    recorder = Recorder()
    most = output.MOST_LINES
    assert isinstance((await run(lanes.named("warm"), "floods", most + 50, recorder=recorder)).end, Returned)
    assert len(recorder.texts("info")) == most
    assert output.CUT in recorder.texts("warning")[-1]


@pytest.mark.parametrize("lane", ["process", "spawn"])
async def test_an_app_that_imports_no_logging_pays_nothing_and_may_still_log(lane: str) -> None:
    """Information is told, as nothing is configured; and to configure it works as ever."""
    opened = Lanes("tests.execution.bare_app:app", folder=ROOT, environment=ChildEnvironment(os.environ))
    try:
        await opened.start()
        recorder = Recorder()
        end = (await run(opened.named(lane), "logs_after_all", recorder=recorder)).end
        assert end == Returned("false")  # type: ignore[arg-type]
        lines = [(line.level, line.text) for line in recorder.lines]
        assert lines == [("info", "told"), ("debug", "told too")]
        if lane == "process":
            end = (await run(opened.named(lane), "loaded")).end
            assert end == Returned("[]")  # type: ignore[arg-type]
    finally:
        await opened.close()


async def test_a_signal_handler_that_logs_does_not_wait_for_the_write_it_interrupts() -> None:
    """Nor does a finalizer. Frames stay whole, and the one that came in between follows."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        writer = FrameWriter(theirs.fileno())
        frames = [_framed(b"x" * 3_000_000), _framed(b"y" * 10), _framed(b"z")]
        received = bytearray()

        def read() -> None:
            received.extend(ours.recv(1000))
            os.kill(os.getpid(), signal.SIGUSR1)  # while the other thread writes
            while len(received) < sum(map(len, frames)):
                received.extend(ours.recv(65_536))

        def speak_up(_number: int, _frame: FrameType | None) -> None:
            writer.write(frames[1])

        before = signal.signal(signal.SIGUSR1, speak_up)
        reading = threading.Thread(target=read)
        try:
            reading.start()
            writer.write(frames[0])
            writer.write(frames[2])
            reading.join(60)
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert bytes(received) == b"".join(frames)


def _framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body
