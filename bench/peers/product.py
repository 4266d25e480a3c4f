"""A product at work: its jobs are put in line, its worker is started and watched, its callers are timed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bench import processes
from bench.figures import Round
from bench.peers import PeerUnavailable, installing
from bench.peers.catalogue import NODE, POSTGRES, REDIS, SQLITE, Peer
from bench.peers.homes import FileHome, Home, PostgresHome, RedisHome
from bench.place import Place
from bench.stamps import Stamps

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
CALL_SECONDS = 300
ENDING_SECONDS = 4.0
SETTINGS = "TENURE_"

_files = count(1)


class Product:
    """One product in one arrangement, with a home of its own."""

    def __init__(self, peer: Peer, at: Place) -> None:
        """Make its home; raises PeerUnavailable where it, or what it needs, was not set up."""
        self.peer = peer
        self._folder = at.folder
        self._bin = Path(sys.executable).parent if peer.is_ours else installing.programs(peer.script)
        self._node = installing.node() if peer.script == NODE else None
        self.home = self._settle(at)

    def close(self) -> None:
        """Let go of its home."""
        self.home.close()

    def fill(self, jobs: int, stamps: Path) -> None:
        """Put jobs in line in an empty home."""
        self.home.renew()
        self._call("fill", str(jobs), str(stamps))
        self.home.tidy()

    @contextmanager
    def at_work(self) -> "Iterator[subprocess.Popen[bytes]]":
        """Its worker; where that does not do its work, what it has said is told."""
        log = self._folder / f"{self.peer.key}-{next(_files)}.log"
        with processes.started(
            self._words(self.peer.work, self.home.address),
            log=log,
            folder=ROOT,
            environment=self._variables(self.home.address),
            patience=ENDING_SECONDS,
        ) as worker:
            try:
                yield worker
            except (TimeoutError, processes.EndedEarly) as error:
                said = log.read_text(errors="replace")[-800:]
                raise self.failure(f"{error}; the worker has said: {said}") from None

    def failure(self, reason: str) -> RuntimeError:
        """What to raise: a rival that does not work is not measured, and a row of ours has failed."""
        return RuntimeError(reason) if self.peer.is_ours else PeerUnavailable(reason)

    def is_drained(self) -> bool:
        """By the product's own record."""
        return not any(self.home.count(question) for question in self.peer.pending)

    def server_cpu(self) -> float | None:
        """Of the server that its jobs are on."""
        return self.home.cpu()

    def enqueued(self, command: str, jobs: int) -> Round:
        """Time `singly` or `bulk` in a process of its own, with nobody at work and an empty line."""
        self.home.renew()
        stamps = Stamps(self._folder / f"stamps-{next(_files)}")
        before = self.home.cpu()
        answer = self._call(command, str(jobs), str(stamps.path))
        after = self.home.cpu()
        spent = None if before is None or after is None else after - before
        return Round(jobs, answer["seconds"], answer["cpu"], spent)

    def starts(self, jobs: int) -> list[float]:
        """Milliseconds to the first line of each of some jobs; its worker must be at work."""
        stamps = Stamps(self._folder / f"stamps-{next(_files)}")
        return [float(each) for each in self._call("starts", str(jobs), str(stamps.path))]

    def paced(self, jobs: int, *, seconds: float, callers: int) -> dict[str, list[float]]:
        """Milliseconds to the first line (`starts`) and the answer (`calls`) of jobs that come at a pace."""
        folder = self._folder / f"paced-{next(_files)}"
        folder.mkdir()
        answer: dict[str, list[float]] = self._call(
            "paced", str(jobs), str(folder), str(seconds), str(callers)
        )
        return answer

    def _settle(self, at: Place) -> Home:
        if self.peer.store == POSTGRES:
            return PostgresHome(at.postgres, self._prepare)
        if self.peer.store == REDIS:
            return RedisHome(at.redis)
        return FileHome(at.folder, self._prepare)

    def _prepare(self, address: str) -> None:
        self._run("prepare", address=address)

    def _call(self, *arguments: str) -> Any:
        """The script's answer: its last line."""
        return json.loads(self._run(*arguments, address=self.home.address).splitlines()[-1])

    def _run(self, *arguments: str, address: str) -> bytes:
        try:
            ran = subprocess.run(
                [*self._words(self.peer.call, address), *arguments],
                cwd=ROOT,
                env=self._variables(address),
                capture_output=True,
                check=False,
                timeout=CALL_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise self.failure(f"{arguments[0]} was not done after {CALL_SECONDS} s") from None
        if ran.returncode:
            said = ran.stderr.decode(errors="replace")[-800:]
            raise self.failure(f"{arguments[0]} failed: {said}")
        return ran.stdout

    def _words(self, command: tuple[str, ...], address: str) -> list[str]:
        given = {"bin": self._bin, "node": self._node, "scripts": SCRIPTS}
        return [word.format(address=self._named(address), **given) for word in command]

    def _variables(self, address: str) -> dict[str, str]:
        """The scripts and the job are found where the bench is; nobody's own settings are in force."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)},
            **self.peer.environment,
            "PYTHONPATH": str(ROOT),
            "BENCH_ADDRESS": self._named(address),
            "BENCH_NODE_FOLDER": str(installing.folder() / NODE),
        }

    def _named(self, address: str) -> str:
        """Our own addresses of files have a scheme."""
        return f"sqlite:///{address}" if self.peer.is_ours and self.peer.store == SQLITE else address
