"""The zygote: a process that has imported the user's app and forks a child for each attempt, or a runner.

    worker              event loop, store, credentials; never imports the user's module
    └─ guard            waits; ends everybody below it when the worker or the zygote is gone
       └─ zygote        this module: one thread, the app imported and frozen
          ├─ spare      a child forked ahead of time, which waits for its descriptors
          ├─ child      one attempt, in a session of its own
          │  └─ …       whatever the handler starts
          └─ runner     a child that lives on and takes one attempt after another, or many at once

How it comes about: the worker runs `python -m tenure.execution.zygote` with a clean environment. That process
forks before it imports anything of the user's: the parent stays behind as the guard, the child is the zygote.

How nobody is left behind:
- Guard, zygote and every child adopt orphans. As long as a child lives, whoever is orphaned below it comes
  to that child; when it ends, they come to the zygote. So a child of the zygote that it did not fork belongs
  to an attempt that has ended, however it hid (a session of its own, a double fork), and is killed. `Exited`
  is sent once there are none of them.
- A child dies with the zygote and the zygote with the guard, by the kernel's signal at a parent's death. That
  signal does not reach grandchildren; these come to the guard, which kills and reaps until nobody is left.
- The worker may be killed at any time: the guard sees the hang-up of the control socket.
- The guard may be killed at any time: grandchildren come to the worker then, if it adopts (see `guards`).

An attempt may have a deadline, which the worker moves on as long as it keeps the attempt's lease. A worker
that is frozen moves nothing: the zygote kills the child then, before somebody else may take the job. For that
it must never wait for the worker to listen.

Forking needs a process of one thread: a lock that another thread holds would stay locked in the child for
ever. A module that starts threads at import is not kept: the zygote says so, executes itself anew without
the module, and lets every child import it. For the lane `spawn` it does so from the beginning.
"""

import faulthandler
import gc
import math
import os
import select
import signal
import socket
import sys
import time
from io import TextIOWrapper
from typing import NamedTuple, NoReturn

from tenure.execution import child, context, guard, kernel, limits, tracing
from tenure.execution.brood import Brood
from tenure.execution.handler import App, import_failure, load
from tenure.execution.outbox import Outbox
from tenure.execution.protocol import (
    ANEW,
    DESCRIPTORS,
    LARGEST_MANIFEST,
    OWN,
    TO_ZYGOTE,
    Broken,
    Frames,
    Ping,
    Pong,
    Ready,
    Signal,
    Start,
    ToZygote,
    Until,
    frame,
    read,
)

_READABLE = select.POLLIN
_AT_ONCE = 4096
_ROOM_BESIDE = socket.CMSG_SPACE(64 * 4)
_AS_IT_COMES = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
_LONGEST_POLL = 3_600_000
_RESUMED = "resumed"
_REHEARSALS = 20
"""How often a child's work is done in vain, once: Python makes code its own that has run several times."""

_QUIET_MS = 10
"""How long nothing has happened before a spare is forked: sooner, it would delay the attempt just started."""


class Zygote:
    """The loop: obeys the worker, lets the brood reap, and forks spares when there is nothing else to do."""

    def __init__(self, control: socket.socket, outbox: Outbox, brood: Brood) -> None:
        self._control = control
        self._outbox = outbox
        self._brood = brood
        self._frames = Frames()
        self._descriptors: list[int] = []

    def run(self) -> NoReturn:
        """Serve until the worker is gone."""
        woken = _wake_on_signals()
        events = select.poll()
        events.register(self._control, _READABLE)
        events.register(woken, _READABLE)
        is_behind = False
        deadline = math.inf
        while True:
            if is_behind is self._outbox.is_empty:
                is_behind = not is_behind
                events.modify(self._control, _READABLE | select.POLLOUT if is_behind else _READABLE)
            ready = dict(events.poll(_QUIET_MS if self._brood.lacks_spares() else _milliseconds_to(deadline)))
            if not ready and self._brood.lacks_spares():
                self._brood.fork_spare()
            if woken.fileno() in ready:
                woken.recv(_AT_ONCE)
                self._brood.reap()
            heard = ready.get(self._control.fileno(), 0)
            if heard & select.POLLOUT:
                self._outbox.flush()
            if heard & ~select.POLLOUT:
                self._listen()
            deadline = self._brood.expire()

    def _listen(self) -> None:
        """Obey all that was said: who was stopped himself learns there which leases were kept meanwhile."""
        while True:
            try:
                data, beside, _, _ = self._control.recvmsg(_AT_ONCE, _ROOM_BESIDE, _AS_IT_COMES)
            except BlockingIOError:
                return
            if not data:
                os._exit(0)
            for _, _, descriptors in beside:
                self._descriptors += memoryview(descriptors).cast("i")
            for body in self._frames.feed(data):
                self._obey(read(TO_ZYGOTE, body))

    def _obey(self, message: ToZygote) -> None:
        match message:
            case Start(number, deadline, lane):
                given = self._descriptors[:DESCRIPTORS]
                del self._descriptors[:DESCRIPTORS]
                self._brood.start(number, given, deadline, lane)
                for descriptor in given:
                    os.close(descriptor)
            case Signal(number, sent):
                self._brood.signal(number, sent)
            case Until(number, deadline):
                self._brood.prolong(number, deadline)
            case Ping():
                self._outbox.put(Pong())


def _milliseconds_to(deadline: float) -> int | None:
    if math.isinf(deadline):
        return None
    return min(max(0, math.ceil((deadline - time.monotonic()) * 1000)), _LONGEST_POLL)


def main() -> NoReturn:
    """Fork into guard and zygote.

    The arguments are the control socket, the target, how many spares, a folder for what children write, whom
    these may send signals, and perhaps how the app is to be imported.
    """
    control, target, spares, scratch, signals, *manner = sys.argv[1:]
    terms = _Terms(target, int(spares), scratch, signals == OWN)
    connection = socket.socket(fileno=int(control))
    os.set_inheritable(connection.fileno(), False)
    environment = dict(os.environ)
    for name in limits.TAKEN:
        os.environ.pop(name, None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    context.confine()
    faulthandler.enable()
    limits.forbid_core_dumps()
    if manner == [_RESUMED]:
        _serve(connection, terms, None)
    kernel.forgo_privileges()
    kernel.adopt_orphans()
    own = os.getpid()
    zygote = os.fork()
    if zygote:
        guard.keep(zygote, connection, scratch)
    kernel.belong_to(own)
    if manner == [ANEW]:
        connection.sendall(frame(Ready(b"", 0)))
        _serve(connection, terms, None)
    app, threads = _introduced(connection, target)
    if threads:
        os.set_inheritable(connection.fileno(), True)
        program = [
            sys.executable,
            "-m",
            "tenure.execution.zygote",
            control,
            target,
            spares,
            scratch,
            signals,
            _RESUMED,
        ]
        os.execve(sys.executable, program, environment)  # noqa: S606
    _serve(connection, terms, app)


class _Terms(NamedTuple):
    target: str
    spares: int
    scratch: str
    keeps_signals: bool


def _serve(connection: socket.socket, terms: _Terms, app: App | None) -> NoReturn:
    outbox = Outbox(connection)
    scope = kernel.scope_of_signals() if terms.keeps_signals else None
    brood = Brood(outbox, terms.target, app, terms.spares, terms.scratch, scope)
    tracing.want(os.environ)
    tracing.provide()
    for _ in range(_REHEARSALS):
        child.rehearse()
    gc.collect()
    gc.freeze()  # a collection in a child must not touch, and so copy, what it shares
    os.umask(0o077)
    Zygote(connection, outbox, brood).run()


def _introduced(connection: socket.socket, target: str) -> tuple[App, int]:
    """Import the app, and tell the worker of it and of the threads it has started.

    Ends the process when the app cannot be imported.
    """
    try:
        app = load(target)
        message = Ready(app.manifest(), kernel.threads() - 1)
    except BaseException as error:  # whatever the module does at import, SystemExit too
        connection.sendall(frame(Broken(import_failure(error)), LARGEST_MANIFEST))
        os._exit(0)
    connection.sendall(frame(message, LARGEST_MANIFEST))
    return app, message.threads


def _wake_on_signals() -> socket.socket:
    """A socket that becomes readable when a child has ended. Signals to stop are for the worker alone."""
    woken, wake = socket.socketpair()
    for end in (woken, wake):
        end.setblocking(False)
    signal.set_wakeup_fd(wake.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    # Blocked, so that a child has the usual ways with them as soon as it lets them through.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    signal.signal(signal.SIGTERM, child.stop)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the module may have changed them
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return woken


if __name__ == "__main__":
    main()
