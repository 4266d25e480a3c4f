"""Where a database file may lie: in a regular file on a disk of this machine."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from tenure.core.errors import InvalidInput, StoreUnavailable

MOUNTS = Path("/proc/self/mountinfo")

_NETWORK = re.compile(
    r"afs|beegfs|ceph|cifs|coda|glusterfs|gpfs|lustre|ncpfs|nfs4?|orangefs|smb[23]|smbfs|webdav"
    # Most file systems in user space are local; these are not.
    r"|fuse\.(ceph|ceph-fuse|curlftpfs|davfs|gcsfuse|glusterfs|goofys|gvfsd-fuse|juicefs|mfs|mount-s3|nfs|rclone)"
    r"|fuse\.(s3fs|smbnetfs|sshfs)"
)
_NETWORK_TRANSPORTS = frozenset(("trans=tcp", "trans=rdma"))


def require_name(path: Path) -> None:
    """Raise InvalidInput for a name that SQLite would not open as a file."""
    if str(path).startswith(":memory:"):
        raise InvalidInput("path", "is in memory, where jobs would be lost", "name a file")


def require_local_file(path: Path) -> None:
    """Raise StoreUnavailable for what is not a file, and for a file that several machines could open."""
    try:
        found = (path if path.exists() else path.parent).stat()
    except OSError:
        # SQLite's own attempt to open it says why.
        return
    if stat.S_ISDIR(found.st_mode) and path.is_dir():
        raise StoreUnavailable(f"{path} cannot be opened: it is a directory, name a file in it")
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise StoreUnavailable(f"{path} cannot be opened: it is not a regular file")
    if kind := network_kind(_mounts(), found.st_dev):
        raise StoreUnavailable(
            f"{path} is on a network file system ({kind}), on which SQLite's locks and shared memory do not"
            " hold and jobs would be lost: put it on a local disk, or use PostgreSQL"
        )


def make_private(path: Path) -> None:
    """Create the file for this user alone, if it does not exist; SQLite gives its log the same permissions.

    It holds params, results and hashes of keys, and a file that SQLite creates is readable by all. It is not
    opened here: closing it would drop the locks that this process may have on it by then. If this fails,
    SQLite's own attempt says why.
    """
    with suppress(OSError):
        os.mknod(path.resolve(), stat.S_IFREG | 0o600)


def network_kind(mounts: str, device: int) -> str | None:
    """The kind of the file system with this device number, if it is a network file system.

    `mounts` is the text of /proc/self/mountinfo. By device and not by path, so that links, mounts on top of
    mounts and changed roots do not matter.
    """
    kind, options = _mounted(mounts, device)
    return kind if _is_of_network(kind, options) else None


def kind_of(path: Path) -> str:
    """The kind of the file system that a file lies on; empty if that is not known."""
    try:
        return _mounted(_mounts(), path.stat().st_dev)[0]
    except OSError:
        return ""


def _mounted(mounts: str, device: int) -> tuple[str, str]:
    """The kind and the options of the file system with this device number; empty if there is none."""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        mount, _, file_system = line.partition(" - ")
        if number in mount.split()[2:3]:
            kind, _, options = (*file_system.split(), "", "", "")[:3]
            return kind, options
    return "", ""


def _is_of_network(kind: str, options: str) -> bool:
    if kind == "9p":
        # Without a network below, it is how a sandbox or a virtual machine sees its host's disk.
        return not _NETWORK_TRANSPORTS.isdisjoint(options.split(","))
    return _NETWORK.fullmatch(kind) is not None


def _mounts() -> str:
    try:
        return MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        # Not Linux: nothing is known, so nothing is refused.
        return ""
