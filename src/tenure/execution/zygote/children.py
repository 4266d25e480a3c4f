"""The children of a zygote: forks them, hands descriptors over, reaps them and what they leave behind."""

import math
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from resource import struct_rusage
from time import monotonic
from typing import TYPE_CHECKING

from tenure.execution.child import process
from tenure.execution.handler.handler import App, AppFailed, import_failure, load
from tenure.execution.protocol import kernel
from tenure.execution.protocol.messages import Exited, ForkFailed
from tenure.execution.zygote.outbox import Outbox

if TYPE_CHECKING:
    from tenure.execution.child.attempt_life import AttemptLife

_ENDED_CHILD = os.WEXITED | os.WNOHANG | os.WNOWAIT
_COUNT_HOLDS = 1.0
"""Seconds for which the kernel's count of kills for memory is cached."""


@dataclass
class _ZygoteChild:
    """A forked process: a spare as long as it has a `handover`."""

    pid: int
    folder: str
    handover: socket.socket | None
    number: int = 0
    deadline: float = math.inf
    is_expired: bool = False
    is_killed: bool = False
    status: int = 0
    cpu: float = 0.0
    peak: int = 0
    killed_for_memory: int = 0
    """How many processes the kernel had killed for memory before this one was assigned."""

    def count(self, used: struct_rusage) -> None:
        """Add what a process of this attempt used."""
        self.cpu += used.ru_utime + used.ru_stime
        self.peak = max(self.peak, used.ru_maxrss * 1024)


class ZygoteChildren:
    """All children of a zygote; `app` is None where each of them imports the target anew."""

    def __init__(
        self,
        outbox: Outbox,
        target: str,
        app: App | None,
        spares: int,
        scratch: str,
        fork: Callable[[], int],
        scope: int | None = None,
    ) -> None:
        """With a `scope` children can send signals to none but their own processes."""
        self._outbox = outbox
        self._target = target
        self._app = app
        self._find_app: Callable[[], App] = partial(_imported, target) if app is None else lambda: app
        has_hooks = app is None or bool(getattr(app, "process_hooks", None))
        self._life = _life_maker(self._find_app) if has_hooks else None
        self._wanted_spares = spares
        self._scratch = scratch
        self._fork_process = fork
        self._scope = scope
        self._children: dict[int, _ZygoteChild] = {}
        self._spares: list[_ZygoteChild] = []
        self._ended: list[_ZygoteChild] = []
        self._folders: list[str] = []
        self._made_folders = 0
        # Processes that the module started at import belong to no attempt.
        self._module_children = kernel.children() if app is not None else set()
        self._killed_for_memory = 0
        self._counted_at = -_COUNT_HOLDS

    def lacks_spares(self) -> bool:
        """Whether a spare should be forked as soon as there is time."""
        return len(self._spares) < self._wanted_spares

    def start(self, number: int, descriptors: list[int], deadline: float, lane: str = "") -> None:
        """Have a child, a spare if there is one, run an attempt or be a runner with these descriptors."""
        while self._spares:
            spare = self._spares.pop(0)
            if spare.handover is not None and _handed_over(spare.handover, descriptors, lane):
                spare.handover = None
                self._assign(spare, number, deadline)
                return
        try:
            self._assign(self._fork(descriptors, None, lane), number, deadline)
        except OSError as error:
            self._outbox.put(ForkFailed(number, f"{type(error).__name__}: {error}"))

    def fork_spare(self) -> None:
        """Fork a child that waits."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._spares.append(self._fork([theirs.fileno()], ours))
            except OSError:
                ours.close()
                self._wanted_spares = 0  # where processes are scarce, fork no more spares

    def signal(self, number: int, sent: int) -> None:
        """Send a signal to a child's group, unless it has ended."""
        for child in self._children.values():
            if child.number == number:
                child.is_killed |= sent == signal.SIGKILL
                kernel.kill_group(child.pid, sent)

    def prolong(self, number: int, deadline: float) -> None:
        """Let a child live until this deadline."""
        for child in self._children.values():
            if child.number == number:
                child.deadline = deadline

    def expire(self) -> float:
        """Kill children whose deadline has passed; returns the next deadline."""
        now, nearest = monotonic(), math.inf
        for child in self._children.values():
            if child.is_expired:
                continue
            if child.deadline <= now:
                child.is_expired = True
                self.signal(child.number, signal.SIGKILL)
            elif child.deadline < nearest:
                nearest = child.deadline
        return nearest

    def reap(self) -> None:
        """Reap what has ended; then kill what is left of ended attempts, or report that they have ended."""
        try:
            while ended := os.waitid(os.P_ALL, 0, _ENDED_CHILD):
                self._bury(ended.si_pid)
        except ChildProcessError:
            pass
        if not self._ended:
            return
        strays = kernel.children() - self._children.keys() - self._module_children
        for pid in strays:
            kernel.kill_group(pid, signal.SIGKILL)
        if not strays:
            for child in self._ended:
                self._outbox.put(self._account(child))
            self._ended.clear()

    def _fork(self, kept: list[int], handover: socket.socket | None, lane: str = "") -> _ZygoteChild:
        folder = self._folders.pop() if self._folders else self._new_folder()
        zygote = os.getpid()
        pid = self._fork_process()
        if pid == 0:
            self._live(zygote, folder, kept, lane, is_spare=handover is not None)
        made = self._children[pid] = _ZygoteChild(pid, folder, handover)
        return made

    def _new_folder(self) -> str:
        self._made_folders += 1
        folder = f"{self._scratch}/{self._made_folders}"
        os.mkdir(folder, 0o700)  # noqa: PTH102
        return folder

    def _take_back(self, folder: str) -> bool:
        """Keep a folder for the next child if it is unchanged; to make and remove one costs disk time."""
        try:
            is_clean = not os.listdir(folder) and stat.S_IMODE(os.lstat(folder).st_mode) == 0o700  # noqa: PTH208
        except OSError:  # removed, or something else in its place
            is_clean = False
        if is_clean:
            self._folders.append(folder)
        return is_clean

    def _live(self, zygote: int, folder: str, kept: list[int], lane: str, *, is_spare: bool) -> None:
        try:
            process.prepare(zygote, folder, self._scope)
            if is_spare:
                process.close_all_but(kept[0])
                self._import_ahead()
                process.rehearse()
                kept, lane = process.await_descriptors(kept[0])
            if lane:
                from tenure.execution.child.runners import entry

                entry.serve(lane, kept, self._find_app)
            process.run_attempt(kept, self._find_app, None if self._life is None else self._life())
        except BaseException:  # nothing may return from here
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)

    def _import_ahead(self) -> None:
        if self._app is None:
            with suppress(Exception):  # the attempt tries again, and reports it
                _load(self._target)

    def _bury(self, pid: int) -> None:
        child = self._children.pop(pid, None)
        if child is not None:
            # Before it is reaped: until then no other process can have its pid, or its group's.
            kernel.kill_session(pid)
        _, status, used = os.wait4(pid, 0)
        if child is None:
            if self._ended:
                self._ended[0].count(used)
        elif child.handover is not None:
            child.handover.close()
            self._spares = [spare for spare in self._spares if spare is not child]
            self._take_back(child.folder)
        else:
            child.status = status
            child.count(used)
            self._ended.append(child)

    def _account(self, ended: _ZygoteChild) -> Exited:
        code = os.waitstatus_to_exitcode(ended.status)
        by_another = code == -signal.SIGKILL and not ended.is_killed
        return Exited(
            number=ended.number,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            cpu=timedelta(seconds=ended.cpu),
            peak_memory=ended.peak,
            out_of_memory=by_another and kernel.killed_for_memory() > ended.killed_for_memory,
            expired=ended.is_expired,
            litter=None if self._take_back(ended.folder) else ended.folder,
        )

    def _assign(self, child: _ZygoteChild, number: int, deadline: float) -> None:
        child.number = number
        child.deadline = deadline
        if monotonic() - self._counted_at >= _COUNT_HOLDS:
            self._counted_at = monotonic()
            self._killed_for_memory = kernel.killed_for_memory()
        child.killed_for_memory = self._killed_for_memory


def _life_maker(find_app: Callable[[], App]) -> "Callable[[], AttemptLife]":
    # Not at the top: most apps have no hooks for processes, and a zygote loads little.
    from tenure.execution.child.attempt_life import AttemptLife

    return partial(AttemptLife, find_app)


def _imported(target: str) -> App:
    try:
        return _load(target)
    except Exception as error:
        raise AppFailed(target, import_failure(error)) from error


def _load(target: str) -> App:
    app = load(target)
    signal.signal(signal.SIGTERM, process.on_sigterm)  # the module may have changed it
    return app


def _handed_over(handover: socket.socket, descriptors: list[int], lane: str) -> bool:
    with handover:
        try:
            socket.send_fds(handover, [lane.encode() or process.ONE_ATTEMPT], descriptors)
        except OSError:  # the spare has ended and is not reaped yet
            return False
        return True
