"""Commands run as an ordinary user, or as root with everything open that an ordinary user needs."""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.worker.running_worker import ROOT

NOBODY = 65534
"""Who is meant by an ordinary user where the tests run as root."""

IS_ROOT = os.geteuid() == 0


def passable(command: Sequence[str], *, ordinary: bool) -> list[str]:
    """A command to start; it keeps its process. Who is no root is ordinary in any case.

    Root's interpreter may lie in a folder that is closed to others. For this command alone, in a mount
    namespace of its own, another folder lies over each of those, which holds nothing but the way through.
    """
    if not IS_ROOT:
        return list(command)
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if ordinary else []
    last = shlex.join(["exec", *become, *command])
    if not (closed := dict(_closed())):
        return ["sh", "-c", last]
    lines = [_opened(folder, inner) for folder, inner in closed.items()]
    return ["unshare", "--mount", "sh", "-ec", "\n".join([*lines, last])]


def _closed() -> Iterator[tuple[Path, Path]]:
    """Folders that others may not enter, each with what in it is on the way."""
    needed = [
        Path(sys.executable).resolve(),
        Path(sys.base_prefix).resolve(),
        ROOT / "src",
        *map(Path, sys.path),
    ]
    for path in needed:
        for folder, inner in zip(path.parents, [path, *path.parents], strict=False):
            if folder.is_dir() and not folder.stat().st_mode & 0o001:
                yield folder, inner


def _opened(folder: Path, inner: Path) -> str:
    quoted, name = shlex.quote(str(folder)), shlex.quote(inner.name)
    return (
        f"over=$(mktemp -d -p /dev/shm); mount -t tmpfs -o mode=755 tmpfs $over; mkdir $over/{name}; "
        f"mount --rbind {quoted}/{name} $over/{name}; mount --rbind $over {quoted}; "
        "umount -R $over; rmdir $over"
    )
