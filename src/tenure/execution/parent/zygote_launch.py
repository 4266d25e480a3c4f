"""How a zygote is started: its command, its environment, its user and its folder."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.scratch import Scratch, place_in
from tenure.execution.protocol.messages import ANEW, ANY, OWN
from tenure.execution.protocol.variables import EAGER, with_taken


class ZygoteLaunch(Struct, frozen=True):
    """What a zygote is started with.

    `environment` is what every child may see. With `anew` the zygote does not import the app: each of its
    children does. With a `user` all of them run as that user. With `keeps_signals` children can send signals
    only to their own processes.
    """

    target: str
    folder: Path
    spares: int
    environment: dict[str, str]
    guards: OrphanGuards
    anew: bool = False
    user: ChildUser | None = None
    keeps_signals: bool = False

    def start(self, control: socket.socket) -> tuple[subprocess.Popen[bytes], Scratch]:
        """Start the guard, which forks the zygote; raises `OSError`, and leaves nothing, if that fails."""
        scratch = Scratch.make(place_in(self.environment), self.user)
        try:
            return self.guards.start(lambda: self._run(control, scratch)), scratch
        except OSError:
            scratch.remove()
            raise

    def _run(self, control: socket.socket, scratch: Scratch) -> subprocess.Popen[bytes]:
        user = self.user
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tenure.execution.zygote",
                str(control.fileno()),
                self.target,
                str(self.spares),
                str(scratch.for_attempts),
                OWN if self.keeps_signals else ANY,
                *([ANEW] if self.anew else []),
            ],
            cwd=self.folder,
            env=with_taken(self.environment, {"PYTHONPATH": _own_path(), **EAGER}),
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints at import is for the operator, not for readers of our output
            pass_fds=[control.fileno()],
            start_new_session=True,
            # Before it is executed: it ties itself to its parent's death, and a later change would untie it.
            user=None if user is None else user.uid,
            group=None if user is None else user.gid,
            extra_groups=None if user is None else user.groups,
        )


def _own_path() -> str:
    """Where this process finds modules, beside the places that every interpreter of its kind knows."""
    return os.pathsep.join(place for place in sys.path if place)
