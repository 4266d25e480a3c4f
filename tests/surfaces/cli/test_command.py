"""Which store an address names, and what is said of an address that names none."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tenure import __version__
from tenure.__main__ import main
from tenure.core.errors import InvalidInput
from tenure.core.values.urls import masked
from tenure.storage.address import store_for
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.store import SqliteStore
from tests.surfaces.command import environment, fails, tenure

pytestmark = pytest.mark.both_stores

ROOT = Path(__file__).parents[3]


def test_a_command_imports_no_other() -> None:
    """To import all of them takes longer than most of them do."""
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from tenure.__main__ import main; "
    )
    command = [sys.executable, "-c", f"{program}main()", "queues", "--help"]
    loaded = subprocess.check_output(command, text=True, env=environment()).splitlines()[-1].split()
    calls = {name for name in loaded if name.startswith("tenure.surfaces.cli.calls.")}
    assert calls == {"tenure.surfaces.cli.calls.queues"}
    assert not {"tenure.engine.worker.worker", "asyncpg", "apsw"} & set(loaded)


async def test_three_slashes_lead_to_a_file_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await _open_and_close("sqlite:///jobs.db")
    assert (tmp_path / "jobs.db").is_file()


async def test_four_slashes_lead_to_a_file_anywhere(tmp_path: Path) -> None:
    await _open_and_close(f"sqlite:///{tmp_path}/jobs.db")
    assert (tmp_path / "jobs.db").is_file()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_postgresql_has_two_names(scheme: str) -> None:
    assert isinstance(store_for(f"{scheme}://tenure@localhost:5432/jobs"), PostgresStore)


@pytest.mark.parametrize(
    ("database", "problem"),
    [
        ("", "is not an address"),
        ("jobs.db", "is not an address"),
        ("sqlite:jobs.db", "is not an address"),
        ("sqlite://jobs.db", "names a host"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:///jobs.db?mode=ro", "question mark"),
        ("sqlite:////tmp", "is a directory"),
        ("sqlite:///not/there/", "is a directory"),
        ("sqlite:///jobs\n.db", "cannot be printed"),
        ("sqlite:///jobs\udcff.db", "cannot be printed"),
        ("mysql://localhost/jobs", "of an unknown kind"),
        ("postgresql+asyncpg://localhost/jobs", "of an unknown kind"),
        ("postgresql://localhost:many/jobs", "cannot be read"),
        ("postgresql://localhost:99999/jobs", "cannot be read"),
        ("postgresql://[::1/jobs", "cannot be read"),
        ("postgresql://localhost/jobs?pooled=maybe", "says 'pooled=maybe'"),
    ],
)
def test_an_address_that_names_no_store_is_refused(database: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        store_for(database)
    assert caught.value.field == "database"
    assert caught.value.remedy


@pytest.mark.parametrize(
    "database",
    [
        "mysql://ada:s3cret@localhost/jobs",
        "sqlite://ada:s3cret@localhost/jobs",
        "ada:s3cret@localhost/jobs",
        "host=localhost password=s3cret",
        "mysql://localhost/jobs?user=ada&password=s3cret",
        "postgresql://ada:s3cret@localhost:many/jobs",
        "postgresql://ada:s3cret#@localhost/jobs",
        "postgresql://ada:1/s3cret@localhost/jobs",
    ],
)
def test_a_refusal_never_shows_a_password(database: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        store_for(database)
    assert "s3cret" not in str(caught.value)


def test_what_is_not_a_password_can_still_be_read() -> None:
    assert masked("postgresql://ada:s3cret@db:5432/jobs") == "postgresql://ada:***@db:5432/jobs"
    assert masked("postgresql://ada@db:5432/jobs") == "postgresql://ada@db:5432/jobs"
    assert masked("sqlite:////var/lib/jobs.db") == "sqlite:////var/lib/jobs.db"
    assert masked("postgresql://db/jobs?password=s3cret&ssl=on") == "postgresql://db/jobs?password=***&ssl=on"


def test_without_its_driver_postgresql_names_what_to_install(tmp_path: Path) -> None:
    refused = _without_asyncpg(tmp_path, "migrate", "--database", "postgresql://localhost/jobs")
    assert fails(refused, 2, "asyncpg, which is not installed; run pip install 'asyncpg>=0.30'")


def test_without_that_driver_everything_else_works(tmp_path: Path) -> None:
    assert _without_asyncpg(tmp_path, "migrate").returncode == 0
    assert (tmp_path / "tenure.db").is_file()


def test_the_installed_command_is_the_one_tested_here() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert pkgutil.resolve_name(scripts["tenure"]) is main


def test_the_command_knows_its_version(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"tenure {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--no-such-option"], ["no-such-command"], ["migrate", "surplus"]])
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: list[str]) -> None:
    ran = tenure(tmp_path, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Usage: tenure" in ran.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["migrate", "--help"]])
def test_help_needs_no_more_than_ascii(tmp_path: Path, arguments: list[str]) -> None:
    ran = tenure(tmp_path, *arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


async def _open_and_close(database: str) -> None:
    store = store_for(database)
    assert isinstance(store, SqliteStore)
    await store.open()
    await store.close()


def _without_asyncpg(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; sys.modules['asyncpg'] = None; from tenure.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
