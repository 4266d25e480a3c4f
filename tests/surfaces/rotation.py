"""Servers and workers of two versions on one database, replaced one by one under load.

The rotation stands for a load balancer: a server is asked only from when it is ready until it is taken out,
and is stopped once nobody waits for an answer of it. Whatever is not answered well is `refused`.
"""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from uuid import UUID

import httpx

from chaos.history import History
from tests.surfaces.command import COMMAND, environment
from tests.surfaces.upgraded_app import LEDGER
from tests.until import PATIENCE, until_sync
from tests.whole import IS_WHOLE

ROOT = Path(__file__).parents[2]
PAUSE = 0 if IS_WHOLE else 0.15
"""Seconds between two calls of a caller: without them, jobs pile up while processes start."""

DEFINITIONS = ("plain", "fails_once", "plain", "sleeps_once")


class Process:
    """A command that runs on, with its log in a file."""

    def __init__(self, command: "subprocess.Popen[bytes]", log: Path) -> None:
        self.command = command
        self._log = log

    def said(self, pattern: str) -> str:
        """Wait for words in its log."""

        def look() -> "re.Match[str] | None":
            text = self._log.read_text()
            assert self.command.poll() is None, text
            return re.search(pattern, text, re.MULTILINE)

        found = until_sync(look)
        assert found is not None
        return found[0]

    def stop(self) -> None:
        """Stop it in good order."""
        self.command.send_signal(signal.SIGTERM)
        assert self.command.wait(PATIENCE) == 0, self._log.read_text()


class Door:
    """A server in rotation, and how many wait for its answers."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.client = httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False)
        self.waiting = 0


class Fleet:
    """Starts servers and workers of a version, which is what stands first in PYTHONPATH; "" is this one."""

    def __init__(self, database: str, folder: Path, ends: ExitStack) -> None:
        self.database = database
        self.ledger = folder / "ledger"
        self._folder = folder
        self._ends = ends
        self._numbers = count(1)

    def worker(self, version: str) -> Process:
        """Returns when it can claim."""
        process = self._start(version, "worker", "tests.surfaces.upgraded_app:app", "--slots", "4")
        process.said(r"worker.*ready")
        return process

    def door(self, version: str) -> Door:
        """Returns when it is ready."""
        process = self._start(version, "api", "--port", "0")
        door = Door(process, process.said(r"^http://127\.0\.0\.1:\d+(?= on )"))
        self._ends.callback(door.client.close)
        until_sync(lambda: door.client.get("/readyz").status_code == 200)
        return door

    def run(self, version: str, *arguments: str) -> str:
        """Run a command to its end; returns what it said."""
        ran = subprocess.run(
            [*COMMAND, *arguments, "--database", self.database],
            cwd=self._folder,
            env=self._environment(version),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def _start(self, version: str, *arguments: str) -> Process:
        log = self._folder / f"{arguments[0]}-{next(self._numbers)}.log"
        with log.open("wb") as written:
            command = subprocess.Popen(
                [*COMMAND, *arguments, "--database", self.database],
                cwd=self._folder,
                env=self._environment(version),
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
            )
        self._ends.enter_context(command)
        self._ends.callback(command.kill)
        return Process(command, log)

    def _environment(self, version: str) -> dict[str, str]:
        path = ":".join(filter(None, (version, str(ROOT))))
        given = {LEDGER: str(self.ledger), "TENURE_CHILD_ENV": LEDGER}
        return environment(PYTHONPATH=path, NO_COLOR="1", **given)


class Rotation:
    """The servers that callers are sent to, in turn; and the load."""

    def __init__(self, folder: Path) -> None:
        self.refused: list[str] = []
        self.enqueued = 0
        self._folder = folder
        self._doors: list[Door] = []
        self._turn = count()
        self._room = threading.Lock()
        self._over = threading.Event()

    def put_in(self, door: Door) -> None:
        with self._room:
            self._doors.append(door)

    def take_out(self, door: Door) -> None:
        """Send nobody to it any more, let those who wait have their answers, and stop it."""
        with self._room:
            self._doors.remove(door)
        until_sync(lambda: door.waiting == 0)
        door.process.stop()

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response | None:
        """The answer of the server whose turn it is; None if it was refused."""
        with self._room:
            door = self._doors[next(self._turn) % len(self._doors)]
            door.waiting += 1
        try:
            reply = door.client.request(method, path, json=body)
            if reply.is_success:
                return reply
            self.refused.append(f"{method} {path}: {reply.text}")
        except httpx.HTTPError as error:
            self.refused.append(f"{method} {path}: {error!r}")
        finally:
            with self._room:
                door.waiting -= 1
        return None

    @contextmanager
    def loaded(self, callers: int) -> Iterator[None]:
        """Callers who enqueue and look, one call after the other, and one who asks whether all are ready."""
        threads = [threading.Thread(target=self._call, args=(number,)) for number in range(callers)]
        threads.append(threading.Thread(target=self._probe))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _call(self, caller: int) -> None:
        with History(self._folder / f"history-{caller}") as history:
            for number in count():
                if self._over.wait(PAUSE):
                    return
                key = f"{caller}-{number}"
                call = history.sent("enqueue", keys=[key])
                wanted = {"definitionKey": DEFINITIONS[number % 4], "idempotencyKey": key}
                reply = self.ask("POST", "/v1/jobs", wanted)
                if reply is None:
                    history.answered(call, "refused", error="it was refused")
                    continue
                job = UUID(reply.json()["jobId"])
                history.answered(call, "acknowledged", jobs=[job], moved=[job])
                with self._room:
                    self.enqueued += 1
                self.ask("GET", f"/v1/jobs/{job}")

    def _probe(self) -> None:
        while not self._over.wait(0.05):
            self.ask("GET", "/readyz")
