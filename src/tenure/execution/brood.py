"""The children of a zygote: forking them, handing over, reaping them and whoever they leave behind."""

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

from tenure.execution import child, kernel
from tenure.execution.handler import App, AppFailed, import_failure, load
from tenure.execution.outbox import Outbox
from tenure.execution.protocol import Exited, Unborn

_WHO_HAS_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
_COUNT_HOLDS = 1.0
"""Seconds for which a count of the kernel's is taken as current."""


@dataclass
class _Child:
    """A process that was forked: a spare as long as there is something to hand over by."""

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
    """How many processes the kernel had killed for want of memory before this one was assigned."""

    def count(self, used: struct_rusage) -> None:
        """Add what a process of this attempt has used."""
        self.cpu += used.ru_utime + used.ru_stime
        self.peak = max(self.peak, used.ru_maxrss * 1024)


class Brood:
    """All children of a zygote; `app` is None where each of them imports the target anew."""

    def __init__(
        self,
        outbox: Outbox,
        target: str,
        app: App | None,
        spares: int,
        scratch: str,
        scope: int | None = None,
    ) -> None:
        """With a `scope` children can send signals to none but their own processes."""
        self._outbox = outbox
        self._target = target
        self._app = app
        self._find: Callable[[], App] = partial(_imported, target) if app is None else lambda: app
        self._wanted_spares = spares
        self._scratch = scratch
        self._scope = scope
        self._children: dict[int, _Child] = {}
        self._spares: list[_Child] = []
        self._ended: list[_Child] = []
        self._folders: list[str] = []
        self._made_folders = 0
        # What the module itself started at import belongs to no attempt.
        self._kin = kernel.children() if app is not None else set()
        self._killed_for_memory = 0
        self._counted_at = -_COUNT_HOLDS

    def lacks_spares(self) -> bool:
        """Whether a spare should be forked as soon as there is time."""
        return len(self._spares) < self._wanted_spares

    def start(self, number: int, descriptors: list[int], deadline: float, lane: str = "") -> None:
        """Let a child, a spare if there is one, run the attempt or be the runner behind these descriptors."""
        while self._spares:
            spare = self._spares.pop(0)
            if spare.handover is not None and _handed_over(spare.handover, descriptors, lane):
                spare.handover = None
                self._assign(spare, number, deadline)
                return
        try:
            self._assign(self._fork(descriptors, None, lane), number, deadline)
        except OSError as error:
            self._outbox.put(Unborn(number, f"{type(error).__name__}: {error}"))

    def fork_spare(self) -> None:
        """Fork a child that waits."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._spares.append(self._fork([theirs.fileno()], ours))
            except OSError:
                ours.close()
                self._wanted_spares = 0  # where processes are scarce, none is made ahead of time

    def signal(self, number: int, sent: int) -> None:
        """Send a signal to a child's group; one that has ended is past it."""
        for known in self._children.values():
            if known.number == number:
                known.is_killed |= sent == signal.SIGKILL
                kernel.kill_group(known.pid, sent)

    def prolong(self, number: int, deadline: float) -> None:
        """Let a child live until then."""
        for known in self._children.values():
            if known.number == number:
                known.deadline = deadline

    def expire(self) -> float:
        """Kill whose time is over; answers with the next one's time."""
        now, nearest = monotonic(), math.inf
        for known in self._children.values():
            if known.is_expired:
                continue
            if known.deadline <= now:
                known.is_expired = True
                self.signal(known.number, signal.SIGKILL)
            elif known.deadline < nearest:
                nearest = known.deadline
        return nearest

    def reap(self) -> None:
        """Reap who has ended; then kill who is left of ended attempts, or tell that they have ended."""
        try:
            while ended := os.waitid(os.P_ALL, 0, _WHO_HAS_ENDED):
                self._bury(ended.si_pid)
        except ChildProcessError:
            pass
        if not self._ended:
            return
        strays = kernel.children() - self._children.keys() - self._kin
        for pid in strays:
            kernel.kill_group(pid, signal.SIGKILL)
        if not strays:
            for known in self._ended:
                self._outbox.put(self._account(known))
            self._ended.clear()

    def _fork(self, kept: list[int], handover: socket.socket | None, lane: str = "") -> _Child:
        folder = self._folders.pop() if self._folders else self._new_folder()
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._live(zygote, folder, kept, lane, is_spare=handover is not None)
        made = self._children[pid] = _Child(pid, folder, handover)
        return made

    def _new_folder(self) -> str:
        self._made_folders += 1
        folder = f"{self._scratch}/{self._made_folders}"
        os.mkdir(folder, 0o700)  # noqa: PTH102
        return folder

    def _take_back(self, folder: str) -> bool:
        """Keep a folder for the next child if it is as it was; to make and remove one takes a disk's time."""
        try:
            is_clean = not os.listdir(folder) and stat.S_IMODE(os.lstat(folder).st_mode) == 0o700  # noqa: PTH208
        except OSError:  # removed, or something else in its place
            is_clean = False
        if is_clean:
            self._folders.append(folder)
        return is_clean

    def _live(self, zygote: int, folder: str, kept: list[int], lane: str, *, is_spare: bool) -> None:
        try:
            child.prepare(zygote, folder, self._scope)
            if is_spare:
                child.close_all_but(kept[0])
                self._import_ahead()
                child.rehearse()
                kept, lane = child.await_descriptors(kept[0])
            if lane:
                from tenure.execution import serving

                serving.serve(lane, kept, self._find)
            child.attend(kept, self._find)
        except BaseException:  # nothing may return from here
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)

    def _import_ahead(self) -> None:
        if self._app is None:
            with suppress(Exception):  # it will be tried again, and told, when there is an attempt
                _load(self._target)

    def _bury(self, pid: int) -> None:
        known = self._children.pop(pid, None)
        if known is not None:
            # Before it is reaped: until then nobody else can have its number, or its group's.
            kernel.kill_session(pid)
        _, status, used = os.wait4(pid, 0)
        if known is None:
            if self._ended:
                self._ended[0].count(used)
        elif known.handover is not None:
            known.handover.close()
            self._spares = [spare for spare in self._spares if spare is not known]
            self._take_back(known.folder)
        else:
            known.status = status
            known.count(used)
            self._ended.append(known)

    def _account(self, ended: _Child) -> Exited:
        code = os.waitstatus_to_exitcode(ended.status)
        by_a_stranger = code == -signal.SIGKILL and not ended.is_killed
        return Exited(
            number=ended.number,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            cpu=timedelta(seconds=ended.cpu),
            peak_memory=ended.peak,
            out_of_memory=by_a_stranger and kernel.killed_for_memory() > ended.killed_for_memory,
            expired=ended.is_expired,
            litter=None if self._take_back(ended.folder) else ended.folder,
        )

    def _assign(self, known: _Child, number: int, deadline: float) -> None:
        known.number = number
        known.deadline = deadline
        if monotonic() - self._counted_at >= _COUNT_HOLDS:
            self._counted_at = monotonic()
            self._killed_for_memory = kernel.killed_for_memory()
        known.killed_for_memory = self._killed_for_memory


def _imported(target: str) -> App:
    try:
        return _load(target)
    except Exception as error:
        raise AppFailed(target, import_failure(error)) from error


def _load(target: str) -> App:
    app = load(target)
    signal.signal(signal.SIGTERM, child.stop)  # the module may have changed it
    return app


def _handed_over(handover: socket.socket, descriptors: list[int], lane: str) -> bool:
    with handover:
        try:
            socket.send_fds(handover, [lane.encode() or child.ONE_ATTEMPT], descriptors)
        except OSError:  # it has ended and is not reaped yet
            return False
        return True
