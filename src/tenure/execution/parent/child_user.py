"""The user that runs attempts, if not the worker's own, and whether it may read what attempts need."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tenure.core.errors import InvalidInput

FIELD = "child_user"
"""The setting that names the user."""

_PATIENCE = 60.0
_LOOK = """
import os, sys
for path in sys.argv[1:]:
    wanted = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)
    print(int(os.access(path, wanted)), end="")
"""


class ChildUser(NamedTuple):
    """A user of the system; a worker that is root gives it descriptors and folders."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @classmethod
    def named(cls, name: str) -> Self:
        """The user of this name or number; raises InvalidInput where it cannot run attempts."""
        import pwd

        try:
            found = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
        except (KeyError, OverflowError):
            problem = f"is {name!r:.64}, which is no user of this machine"
            raise InvalidInput(FIELD, problem, "name a user of this machine") from None
        if found.pw_uid == 0:
            raise InvalidInput(FIELD, "is root, which may read everything", "name an ordinary user")
        if os.geteuid() != 0:
            problem = f"is {name!r:.64}, and only root can run attempts as another user"
            raise InvalidInput(FIELD, problem, "start the worker as root, or leave it out")
        groups = os.getgrouplist(found.pw_name, found.pw_gid)
        return cls(found.pw_name, found.pw_uid, found.pw_gid, tuple(groups), found.pw_dir)

    def check(self, folders: Sequence[Path]) -> None:
        """Raise InvalidInput where the user may not use the interpreter or one of the folders."""
        if closed := self.closed([Path(__file__).parents[2], *folders]):
            raise self._shut_out(str(closed[0]), "read and enter")

    def closed(self, paths: Sequence[Path]) -> list[Path]:
        """The paths that the user may not read, or enter if they are folders."""
        try:
            checked = subprocess.run(
                [sys.executable, "-I", "-c", _LOOK, *map(str, paths)],
                cwd="/",
                env={},
                user=self.uid,
                group=self.gid,
                extra_groups=self.groups,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            raise self._shut_out(sys.executable, "run") from None
        return [path for path, is_open in zip(paths, checked.stdout.decode(), strict=True) if is_open == "0"]

    def own(self, path: str | int) -> None:
        """Give the user a file, by its path or a descriptor."""
        os.chown(path, self.uid, self.gid)

    def _shut_out(self, path: str, what: str) -> InvalidInput:
        remedy = f"let {self.name} {what} it, or name another user"
        return InvalidInput(FIELD, f"is {self.name}, which may not {what} {path}", remedy)
