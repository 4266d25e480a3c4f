"""Places at which a process of a run can be made to fail: named here, and nowhere in the product.

Arming wraps the function at a place; what is not armed is not touched. `TENURE_TEST_FAILPOINTS` says what to
arm, as `name=action@n*times`, with commas between: at the n-th passing (the first, if none is named), and at
every n-th one after it until it has fired so many times (once, if nothing is said)

    kill        the process kills itself
    pause:S     it stands still for S seconds, its event loop and all
    hang        this call alone never comes back
    raise       the call fails with an error that nobody expects

Whoever fires leaves a file in the folder `TENURE_TEST_FAILPOINTS_FIRED`, by which a run knows that it hit
what it meant to hit, and the next process with the same folder how often it did.
"""

import asyncio
import functools
import importlib
import inspect
import mmap
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tenure.execution.protocol.messages import DurableQuestion

VARIABLE = "TENURE_TEST_FAILPOINTS"
FIRED = "TENURE_TEST_FAILPOINTS_FIRED"

Side = Literal["worker", "zygote", "api", "clock", "relay"]
"""Who arms a place: the worker, the zygote for itself and its children, a server, what fires or sends."""


class Place(NamedTuple):
    """A function, and whether to fail before or after it."""

    side: Side
    target: str
    """`module:name` or `module:Class.name`; several with a blank between them."""
    when: Literal["before", "after"]
    counts: Callable[[tuple[Any, ...]], bool] = lambda _: True
    """Whether a call with these arguments is a passing."""


class Fired(NamedTuple):
    """A failpoint that has fired: which, in what process, when by CLOCK_MONOTONIC."""

    name: str
    pid: int
    at: float


def _around(
    side: Side, name: str, target: str, counts: Callable[[tuple[Any, ...]], bool] = lambda _: True
) -> dict[str, Place]:
    return {
        f"{name}.before": Place(side, target, "before", counts),
        f"{name}.after": Place(side, target, "after", counts),
    }


def _is_no_rehearsal(arguments: tuple[Any, ...]) -> bool:
    """Whether a child does this for an attempt: zygotes and spares do it in vain, under no fence."""
    return all(getattr(argument, "fence", 1) for argument in arguments)


def _is_about_progress(arguments: tuple[Any, ...]) -> bool:
    """Whether what a handler asks its worker is about its progress."""
    return isinstance(arguments[1](0), DurableQuestion)


def _verb(verb: str) -> str:
    return (
        f"tenure.storage.sqlite.store:SqliteStore.{verb} tenure.storage.postgres.store:PostgresStore.{verb}"
    )


PLACES: dict[str, Place] = {
    **_around("worker", "store.settle_and_claim", _verb("settle_and_claim")),
    **_around("worker", "store.heartbeat", _verb("heartbeat")),
    **_around("worker", "store.record", _verb("record")),
    **_around("worker", "store.reap", _verb("reap")),
    **_around("worker", "store.promote", _verb("promote")),
    **_around("worker", "store.hand_back", _verb("hand_back")),
    **_around("worker", "store.spawn", _verb("spawn")),
    **_around("worker", "store.recall", _verb("recall")),
    **_around("worker", "store.keep_steps", _verb("keep_steps")),
    **_around("worker", "store.save_checkpoints", _verb("save_checkpoints")),
    **_around("worker", "store.suspend", _verb("suspend")),
    **_around("worker", "dispatcher.start", "tenure.engine.worker.in_flight:InFlight.take"),
    **_around("worker", "dispatcher.tell", "tenure.engine.worker.dispatcher:Dispatcher._announce"),
    **_around("worker", "heartbeat.beat", "tenure.engine.worker.heartbeat:Heartbeat.beat"),
    **_around("worker", "settler.note", "tenure.engine.worker.in_flight:InFlight._note"),
    **_around("worker", "lane.start", "tenure.execution.parent.zygote_client:ZygoteClient.start"),
    **_around("zygote", "zygote.start", "tenure.execution.zygote.children:ZygoteChildren.start"),
    **_around("zygote", "zygote.spare", "tenure.execution.zygote.children:ZygoteChildren.fork_spare"),
    **_around("zygote", "zygote.reap", "tenure.execution.zygote.children:ZygoteChildren.reap"),
    "child.begin": Place("zygote", "tenure.execution.child.process:run_attempt", "before"),
    "child.handler": Place("zygote", "tenure.execution.child.performance:_call", "before", _is_no_rehearsal),
    "child.effect": Place(
        "zygote", "tenure.execution.child.performance:_returned", "before", _is_no_rehearsal
    ),
    **_around("zygote", "child.ask", "tenure.execution.handler.replies:Replies.ask", _is_about_progress),
    "child.reply": Place("zygote", "tenure.execution.handler.durable_calls:answer_in", "before"),
    "child.report": Place("zygote", "tenure.execution.child.process:_flush", "after"),
}
"""Every failpoint of a worker by name."""

API_PLACES: dict[str, Place] = {
    **_around("api", "api.enqueue", _verb("enqueue")),
    "api.answer": Place("api", "tenure.surfaces.http.server.application:Application._answer", "after"),
}
"""Every failpoint of a server: before a job is recorded, after it, and with the answer in its hand."""


CLOCK_PLACES: dict[str, Place] = {
    "clock.read": Place("clock", _verb("due_schedules"), "after"),
    **_around("clock", "clock.fire", _verb("fire")),
}
"""Every failpoint of what fires schedules: what is due was read; it is about to be fired; it was."""

RELAY_PLACES: dict[str, Place] = {
    "relay.read": Place("relay", _verb("scan"), "after"),
    **_around("relay", "relay.fan_out", _verb("fan_out")),
    "relay.taken": Place("relay", _verb("due_deliveries"), "after"),
    **_around("relay", "relay.sent", "tenure.relay.egress:Egress.post"),
    **_around("relay", "relay.settle", _verb("settle_deliveries")),
}
"""Every failpoint of what sends webhooks: around reading, recording, taking, sending and settling."""

_EVERY = {**PLACES, **API_PLACES, **CLOCK_PLACES, **RELAY_PLACES}


class Armed(NamedTuple):
    """What is to happen at a failpoint, and at which passing."""

    name: str
    action: str
    passing: int
    times: int

    @classmethod
    def read(cls, text: str) -> "Armed":
        """From `name=action@n*times`. Raises ValueError for what names no place or no action."""
        name, _, rest = text.strip().partition("=")
        rest, _, times = rest.partition("*")
        action, _, passing = rest.partition("@")
        if name not in _EVERY or action.partition(":")[0] not in _ACTIONS:
            raise ValueError(f"{text!r} is no failpoint")
        return cls(name, action, int(passing or 1), int(times or 1))


def arm(side: Side) -> None:
    """Arm what the environment names for this side."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(",")):
        armed = Armed.read(text)
        place = _EVERY[armed.name]
        if place.side == side:
            trigger = _Trigger(armed, Path(os.environ[FIRED]))
            for target in place.target.split():
                _wrap(target, place, trigger)


def fired(folder: Path) -> list[Fired]:
    """What has fired in a run, in the order of time."""
    found = []
    for path in folder.glob("*.fired"):
        name, pid, at = path.read_text().split()
        found.append(Fired(name, int(pid), float(at)))
    return sorted(found, key=lambda one: one.at)


def find(target: str) -> tuple[Any, str, Callable[..., Any]]:
    """Who holds a function, its name there, and the function itself."""
    module, _, path = target.partition(":")
    holder: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    function: Callable[..., Any] = getattr(holder, name)
    return holder, name, function


class _Trigger:
    """Counts passings, those of forked processes too, and fails at the one that is meant."""

    def __init__(self, armed: Armed, folder: Path) -> None:
        self._armed = armed
        self._marks = [folder / f"{armed.name}.{number}.fired" for number in range(armed.times)]
        self._passings = mmap.mmap(-1, 8)

    def is_due(self) -> bool:
        """Whether to fail now; then that is on record."""
        passings = int.from_bytes(self._passings[:8], "little") + 1
        self._passings[:8] = passings.to_bytes(8, "little")
        return passings % self._armed.passing == 0 and self._is_on_record()

    def _is_on_record(self) -> bool:
        """Take the next mark; there is none when it has fired as often as was meant."""
        left = [mark for mark in self._marks if not mark.exists()]
        if not left:
            return False
        written = left[0].with_name(f"{self._armed.name}.{os.getpid()}.written")
        written.write_text(f"{self._armed.name} {os.getpid()} {time.monotonic()}")
        try:
            return any(_is_linked(written, mark) for mark in left)
        finally:
            written.unlink()

    def pull(self) -> None:
        """Fail, in a plain function."""
        _ACTIONS[self._armed.action.partition(":")[0]](self._armed.action.partition(":")[2])

    async def pull_async(self) -> None:
        """Fail, in a coroutine: to hang is then no other's affair."""
        if self._armed.action == "hang":
            await asyncio.Event().wait()
        self.pull()


def _is_linked(written: Path, mark: Path) -> bool:
    try:
        os.link(written, mark)
    except FileExistsError:
        return False  # another process was faster
    return True


def _wrap(target: str, place: Place, trigger: _Trigger) -> None:
    holder, name, function = find(target)
    wrapper = _async_wrapper if inspect.iscoroutinefunction(function) else _plain_wrapper
    setattr(holder, name, functools.wraps(function)(wrapper(function, place, trigger)))


def _plain_wrapper(function: Callable[..., Any], place: Place, trigger: _Trigger) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        if place.when == "before" and place.counts(arguments) and trigger.is_due():
            trigger.pull()
        answer = function(*arguments, **named)
        if place.when == "after" and place.counts(arguments) and trigger.is_due():
            trigger.pull()
        return answer

    return wrapped


def _async_wrapper(function: Callable[..., Any], place: Place, trigger: _Trigger) -> Callable[..., Any]:
    async def wrapped(*arguments: Any, **named: Any) -> Any:
        if place.when == "before" and place.counts(arguments) and trigger.is_due():
            await trigger.pull_async()
        answer = await function(*arguments, **named)
        if place.when == "after" and place.counts(arguments) and trigger.is_due():
            await trigger.pull_async()
        return answer

    return wrapped


def _kill(_seconds: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _pause(seconds: str) -> None:
    time.sleep(float(seconds))


def _hang(_seconds: str) -> None:
    signal.pause()


def _raise(_seconds: str) -> None:
    raise RuntimeError("a failpoint has fired")


_ACTIONS: dict[str, Callable[[str], None]] = {"kill": _kill, "pause": _pause, "hang": _hang, "raise": _raise}
