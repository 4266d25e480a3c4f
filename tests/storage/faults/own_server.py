"""A PostgreSQL server that only this folder of tests uses, to stop, crash and fill it up."""

import signal
from pathlib import Path

from tests.postgres_server import PostgresServer, PostgresUnavailable
from tests.postgres_versions import USUAL, binaries_of


class OwnServer(PostgresServer):
    """A server that can be stopped and started again, with the same files and port."""

    def __init__(
        self,
        *,
        place: Path | None = None,
        initdb: tuple[str, ...] = (),
        settings: dict[str, object] | None = None,
    ) -> None:
        """`place` is the folder of its files; it is created with `initdb` and run with `settings`."""
        super().__init__(binaries_of(USUAL))
        self._place = place
        self._initdb_options = initdb
        self._settings = settings or {}

    @property
    def pid(self) -> int | None:
        """The process that starts all others of the server; None while it is stopped."""
        return self._process.pid if self._process else None

    @property
    def is_deserted(self) -> bool:
        """Whether it serves nobody: a process of it outlives its client a little, and keeps its place."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return not any("127.0.0.1(" in _title(child) for child in children.split())

    def stop_at_once(self) -> None:
        """Stop as `pg_ctl stop -m immediate` does: no transaction is finished, no client is notified."""
        if self._process:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def start_again(self) -> None:
        """Start, which recovers from disk."""
        if not self._folder or not self._run(self._folder):
            raise PostgresUnavailable("PostgreSQL did not start again")


def _title(process: str) -> str:
    """What a process of the server calls itself; one that serves a client names its address."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
