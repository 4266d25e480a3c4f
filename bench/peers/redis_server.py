"""A Redis of the bench's own: found or fetched, started on the loopback interface, and asked."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path

from bench import processes
from bench.peers import PeerUnavailable

PROGRAM = "redis-server"
PACKAGES = (PROGRAM, "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")
"""Debian's packages that hold the program and those of its libraries that few systems have."""

FETCH_SECONDS = 60
START_SECONDS = 20
DEFAULTS = ("--save", "3600 1 300 100 60 10000", "--appendonly", "no")
"""What the server persists when nobody says otherwise."""


class RedisServer:
    """One server, configured as it comes."""

    def __init__(self, folder: Path, packages: Path) -> None:
        """Start the system's, or the one out of packages that were fetched; raises PeerUnavailable."""
        program, libraries = _installed() or _fetched(packages)
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        data = folder / "redis"
        data.mkdir()
        with ExitStack() as stack:
            self._process = stack.enter_context(
                processes.started(
                    [program, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", data, *DEFAULTS],
                    log=folder / "redis.log",
                    folder=data,
                    environment={**os.environ, **libraries},
                )
            )
            self._await(folder / "redis.log")
            self._stack = stack.pop_all()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it."""
        self._stack.close()

    def cpu(self) -> float | None:
        """CPU seconds so far, of saving to disk, too."""
        return processes.cpu(self._process.pid)

    def count(self, command: str) -> int:
        """The answer to a command that counts."""
        return int(self._ask(command).removeprefix(b":"))

    def clear(self) -> None:
        """Forget everything."""
        self._ask("FLUSHALL")

    def _ask(self, command: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_SECONDS) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.makefile("rb").readline().strip()

    def _await(self, log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                if self._ask("PING") == b"+PONG":
                    return
            except OSError:
                time.sleep(0.02)
        raise PeerUnavailable(f"{PROGRAM} did not start: {log.read_text(errors='replace')[-500:]}")


def _installed() -> tuple[Path, dict[str, str]] | None:
    found = shutil.which(PROGRAM)
    return (Path(found), {}) if found else None


def fetch(packages: Path) -> None:
    """Get Debian's packages, unless the system has the program or they are here; raises PeerUnavailable.

    They are unpacked in that folder and installed nowhere.
    """
    if _installed() or (packages / "usr/bin" / PROGRAM).exists():
        return
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise PeerUnavailable(f"there is no {PROGRAM}, and no apt-get to fetch Debian's")
    packages.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", *PACKAGES], packages)
    for package in packages.glob("*.deb"):
        _run(["dpkg-deb", "-x", package.name, "."], packages)


def _fetched(packages: Path) -> tuple[Path, dict[str, str]]:
    program = packages / "usr/bin" / PROGRAM
    if not program.exists():
        raise PeerUnavailable(f"there is no {PROGRAM}: run `python -m bench.rivals --setup`")
    libraries = [str(path) for path in packages.glob("usr/lib/*") if path.is_dir()]
    return program, {"LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=FETCH_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise PeerUnavailable(f"there is no {PROGRAM}, and Debian's could not be fetched: {error}") from None
