"""A PostgreSQL that one folder of tests may stop, crash and fill up; nobody else uses it."""

import signal
from pathlib import Path

from tests.postgres_server import PostgresServer, PostgresUnavailable
from tests.postgres_versions import USUAL, binaries_of


class OwnServer(PostgresServer):
    """A server that can be stopped and started again where it was: the same files, the same port."""

    def __init__(
        self,
        *,
        place: Path | None = None,
        initdb: tuple[str, ...] = (),
        settings: dict[str, object] | None = None,
    ) -> None:
        """`place`: where its files are to lie; `initdb` and `settings`: what it is made and run with."""
        super().__init__(binaries_of(USUAL))
        self._place = place
        self._initdb_options = initdb
        self._settings = settings or {}

    @property
    def pid(self) -> int | None:
        """The process that all others of the server are started by; None while it is stopped."""
        return self._process.pid if self._process else None

    def stop_at_once(self) -> None:
        """Stop as `pg_ctl stop -m immediate` does: no transaction is finished, nobody is told goodbye."""
        if self._process:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def start_again(self) -> None:
        """Start, with a recovery from what is on disk."""
        if not self._folder or not self._run(self._folder):
            raise PostgresUnavailable("PostgreSQL did not start again")
