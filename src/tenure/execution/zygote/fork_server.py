"""The zygote: a process that has imported the user's app and forks a child for each attempt, or a runner.

    worker              event loop, store, credentials; never imports the user's module
    └─ guard            waits; kills every process below it when the worker or the zygote is gone
       └─ zygote        this module: one thread, the app imported and frozen
          ├─ spare      a child forked ahead of time, which waits for its descriptors
          ├─ child      one attempt, in a session of its own
          │  └─ …       whatever the handler starts
          └─ runner     a child that lives on and takes one attempt after another, or many at once

How it starts: the worker runs `python -m tenure.execution.zygote` with a clean environment. That process
forks before it imports anything of the user's: the parent becomes the guard, the child becomes the zygote.

How no process is left behind:
- Guard, zygote and every child adopt orphans. As long as a child lives, processes orphaned below it become
  its children; when it ends, they become the zygote's. So a child of the zygote that it did not fork belongs
  to an attempt that has ended, however it hid (a session of its own, a double fork), and is killed. `Exited`
  is sent once there are none of them.
- A child dies with the zygote and the zygote with the guard, by the kernel's signal at a parent's death. That
  signal does not reach grandchildren; the guard adopts these, and kills and reaps until none is left.
- The worker may be killed at any time: the guard sees the hang-up of the control socket.
- The guard may be killed at any time: the worker then adopts the grandchildren, if it can (see `orphans`).

An attempt may have a deadline, which the worker moves on as long as it keeps the attempt's lease. A frozen
worker moves nothing: the zygote then kills the child, before another worker may take the job. So the zygote
must never wait for the worker to read.

Forking needs a process of one thread: a lock that another thread holds would stay locked in the child for
ever. A module that starts threads at import is not kept: the zygote reports it, executes itself again without
the module, and every child imports it. For the lane `spawn` it does so from the beginning.
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

from tenure.execution.child import process
from tenure.execution.handler import context, durable_calls, tracing
from tenure.execution.handler.handler import App, import_failure, load
from tenure.execution.handler.log_capture import LogCapture
from tenure.execution.protocol import kernel, limits, variables
from tenure.execution.protocol.frames import LARGEST_MANIFEST, Frames, frame, read
from tenure.execution.protocol.messages import (
    ANEW,
    DESCRIPTORS,
    OWN,
    TO_ZYGOTE,
    Broken,
    Ping,
    Pong,
    Ready,
    SendSignal,
    Start,
    ToZygote,
    Until,
)
from tenure.execution.zygote import guard
from tenure.execution.zygote.children import ZygoteChildren
from tenure.execution.zygote.library_hooks import LibraryHooks
from tenure.execution.zygote.outbox import Outbox

_SHARED = (durable_calls,)
"""Loaded here once: each child whose handler keeps its progress would have to do it otherwise."""

_READABLE = select.POLLIN
_AT_ONCE = 4096
_ANCILLARY_SIZE = socket.CMSG_SPACE(64 * 4)
_RECEIVE_FLAGS = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
_LONGEST_POLL = 3_600_000
_RESUMED = "resumed"
_REHEARSALS = 20
"""How many dry runs at the start: Python specializes code only after it has run several times."""

_QUIET_MS = 10
"""Fork a spare after so long without events: sooner, it would delay the attempt that just started."""


class Zygote:
    """The loop: obeys the worker, reaps children, and forks spares when there is nothing else to do."""

    def __init__(self, control: socket.socket, outbox: Outbox, children: ZygoteChildren) -> None:
        self._control = control
        self._outbox = outbox
        self._children = children
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
            longest = _QUIET_MS if self._children.lacks_spares() else _milliseconds_to(deadline)
            ready = dict(events.poll(longest))
            if not ready and self._children.lacks_spares():
                self._children.fork_spare()
            if woken.fileno() in ready:
                woken.recv(_AT_ONCE)
                self._children.reap()
            control = ready.get(self._control.fileno(), 0)
            if control & select.POLLOUT:
                self._outbox.flush()
            if control & ~select.POLLOUT:
                self._receive()
            deadline = self._children.expire()

    def _receive(self) -> None:
        """Obey all that has arrived: after a freeze it says which leases were kept meanwhile."""
        while True:
            try:
                data, ancillary, _, _ = self._control.recvmsg(_AT_ONCE, _ANCILLARY_SIZE, _RECEIVE_FLAGS)
            except BlockingIOError:
                return
            if not data:
                os._exit(0)
            for _, _, descriptors in ancillary:
                self._descriptors += memoryview(descriptors).cast("i")
            for body in self._frames.feed(data):
                self._obey(read(TO_ZYGOTE, body))

    def _obey(self, message: ToZygote) -> None:
        match message:
            case Start(number, deadline, lane):
                given = self._descriptors[:DESCRIPTORS]
                del self._descriptors[:DESCRIPTORS]
                self._children.start(number, given, deadline, lane)
                for descriptor in given:
                    os.close(descriptor)
            case SendSignal(number, sent):
                self._children.signal(number, sent)
            case Until(number, deadline):
                self._children.prolong(number, deadline)
            case Ping():
                self._outbox.put(Pong())


def _milliseconds_to(deadline: float) -> int | None:
    if math.isinf(deadline):
        return None
    return min(max(0, math.ceil((deadline - time.monotonic()) * 1000)), _LONGEST_POLL)


def main() -> NoReturn:
    """Fork into guard and zygote.

    The arguments are the control socket, the target, how many spares, a folder for what children write, which
    processes these may send signals to, and perhaps how to import the app.
    """
    control, target, spares, scratch, signals, *importing = sys.argv[1:]
    terms = _ZygoteTerms(target, int(spares), scratch, signals == OWN)
    connection = socket.socket(fileno=int(control))
    os.set_inheritable(connection.fileno(), False)
    environment = dict(os.environ)
    variables.give_back_taken(os.environ)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    context.confine()
    faulthandler.enable()
    limits.forbid_core_dumps()
    hooks = LibraryHooks()
    hooks.install()
    if importing == [_RESUMED]:
        _serve(connection, terms, hooks, None)
    kernel.forgo_privileges()
    kernel.adopt_orphans()
    own = os.getpid()
    zygote = os.fork()
    if zygote:
        guard.keep(zygote, connection, scratch)
    kernel.belong_to(own)
    if importing == [ANEW]:
        connection.sendall(frame(Ready(b"", 0)))
        _serve(connection, terms, hooks, None)
    app, threads = _loaded(connection, target)
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
    _serve(connection, terms, hooks, app)


class _ZygoteTerms(NamedTuple):
    target: str
    spares: int
    scratch: str
    keeps_signals: bool


def _serve(connection: socket.socket, terms: _ZygoteTerms, hooks: LibraryHooks, app: App | None) -> NoReturn:
    outbox = Outbox(connection)
    scope = kernel.scope_of_signals() if terms.keeps_signals else None
    children = ZygoteChildren(outbox, terms.target, app, terms.spares, terms.scratch, hooks.fork, scope)
    tracing.want(os.environ)
    tracing.provide()
    LogCapture(process.current_attempt, replaces_output=True).install()
    for _ in range(_REHEARSALS):
        process.rehearse()
    gc.collect()
    gc.freeze()  # a collection in a child must not touch, and so copy, what it shares
    os.umask(0o077)
    Zygote(connection, outbox, children).run()


def _loaded(connection: socket.socket, target: str) -> tuple[App, int]:
    """Import the app, and report it to the worker with the number of threads that it started.

    Ends the process when the app cannot be imported.
    """
    try:
        app = load(target)
        hooks = getattr(app, "process_hooks", None)
        message = Ready(app.manifest(), kernel.threads() - 1, hooks is not None and bool(hooks.stop))
    except BaseException as error:  # whatever the module does at import, SystemExit too
        connection.sendall(frame(Broken(import_failure(error)), LARGEST_MANIFEST))
        os._exit(0)
    connection.sendall(frame(message, LARGEST_MANIFEST))
    return app, message.threads


def _wake_on_signals() -> socket.socket:
    """A socket that becomes readable when a child ends. Signals to stop are for the worker alone."""
    woken, wake = socket.socketpair()
    for end in (woken, wake):
        end.setblocking(False)
    signal.set_wakeup_fd(wake.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    # Blocked here; a child unblocks them, and then has their usual effects.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    signal.signal(signal.SIGTERM, process.on_sigterm)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the module may have changed them
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return woken
