"""RQ on Redis: a pool of workers, each of which forks for every job. Settings are RQ's own defaults."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from bench import processes
from bench.peers import PeerUnavailable
from bench.peers.redis_server import RedisServer

PACKAGES = ("rq==2.12.0", "redis==8.1.0", "hiredis==3.5.0")
INSTALL_SECONDS = 120
FILL_SECONDS = 60
ROOT = Path(__file__).parents[2]

_QUEUE = "default"
_logs = count(1)


class RqQueue:
    """One queue and a pool of workers."""

    def __init__(self, folder: Path, *, workers: int) -> None:
        """Install RQ into the folder and start its Redis; raises PeerUnavailable."""
        folder.mkdir()
        self._folder = folder
        self._workers = workers
        self._redis = RedisServer(folder)
        try:
            self._programs = _environment(folder / "environment")
        except BaseException:
            self._redis.close()
            raise

    def close(self) -> None:
        """End Redis; what was installed goes with the bench's folder."""
        self._redis.close()

    def fill(self, jobs: int, stamps: Path) -> None:
        """In bulk."""
        command = (self._programs / "python", "-m", "bench.peers.rq_fill")
        subprocess.run(
            [*command, self._redis.url, _QUEUE, str(jobs), str(stamps)],
            cwd=ROOT,
            env=_variables(),
            check=True,
            timeout=FILL_SECONDS,
        )

    @contextmanager
    def at_work(self) -> "Iterator[subprocess.Popen[bytes]]":
        """The pool."""
        options = ("--num-workers", str(self._workers), "--url", self._redis.url, "--quiet")
        with processes.started(
            [self._programs / "rq", "worker-pool", _QUEUE, *options],
            log=self._folder / f"pool-{next(_logs)}.log",
            folder=ROOT,
            environment=_variables(),
        ) as pool:
            yield pool

    def is_drained(self) -> bool:
        """Whether nothing stands in line and nothing is in work."""
        return not self._redis.count(f"LLEN rq:queue:{_QUEUE}") and not self._redis.count(
            f"ZCARD rq:wip:{_QUEUE}"
        )

    def server_cpu(self) -> float | None:
        """Of Redis."""
        return self._redis.cpu()


def _variables() -> dict[str, str]:
    """The job's module is found where the bench is; nothing else of ours is."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _environment(folder: Path) -> Path:
    """A virtual environment with RQ in it; answers with the folder of its programs."""
    install = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *PACKAGES]
    for command in ([sys.executable, "-m", "venv", str(folder)], install):
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise PeerUnavailable(f"{PACKAGES[0]} could not be installed: {' '.join(said)}") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise PeerUnavailable(f"{PACKAGES[0]} could not be installed: {error}") from None
    return folder / "bin"
