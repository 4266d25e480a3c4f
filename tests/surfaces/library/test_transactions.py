"""The option `database` of a definition: what it may be, and where it is refused."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tenure import Tenure
from tenure.core.errors import InvalidInput
from tenure.execution.handler import transactions
from tenure.settings.settings import Settings


@pytest.mark.parametrize("named", ["TENURE_DATABASE", "postgresql://shop:secret@db/jobs", "", "A B", 7])
def test_what_names_no_variable_of_handlers_is_refused(named: Any) -> None:
    """Nor is an address repeated, which may hold a password."""
    app = Tenure("postgresql://localhost/jobs", settings=Settings())
    with pytest.raises(InvalidInput, match=r"^database: ") as caught:
        app.job("pay", database=named)
    assert "secret" not in str(caught.value)


def test_an_app_that_names_a_file_refuses_it_at_once(tmp_path: Path) -> None:
    """With the way out; where only the settings name the database, the worker refuses it at its start."""
    app = Tenure(f"sqlite:///{tmp_path / 'jobs.db'}", settings=Settings())
    with pytest.raises(InvalidInput, match=r"in an SQLite file; use ctx\.once there"):
        app.job("pay", database="CHARGES")
    app = Tenure(settings=Settings(database=f"sqlite:///{tmp_path / 'jobs.db'}"))
    app.job("pay", database="CHARGES")


def test_a_program_has_no_transactions() -> None:
    with pytest.raises(InvalidInput, match="which programs do not have"):
        Tenure(settings=Settings()).command("pay", ["true"], database="CHARGES")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("asyncpg", "ctx.transaction connects with, is not installed .*; run pip install 'asyncpg>=0.30'"),
        ("psycopg", "ctx.transaction_sync .*; run pip install 'psycopg\\[binary\\]>=3.2'"),
    ],
)
def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidInput, match=said):
        transactions._driver(name)
