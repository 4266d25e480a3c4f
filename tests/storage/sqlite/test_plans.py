"""How SQLite means to run each statement: what grows with history is searched by its key, never scanned."""

import re
from pathlib import Path

import apsw
import pytest

from tenure.storage.schema import statements
from tenure.storage.sqlite.file.connection import open_writer
from tenure.storage.sqlite.store import SqliteStore

STATEMENTS = statements.load("tenure.storage.sqlite")
GROWS_WITH_HISTORY = {
    *("tenure_job", "tenure_job_state", "tenure_event", "tenure_attempt", "tenure_result"),
    *("tenure_ready", "tenure_timer", "tenure_aftermath", "tenure_finished", "tenure_tag", "tenure_log"),
    "tenure_delivery",
}

READS_ALL = {"inspect", "after_restore.clock_waits", "after_restore.clock_deliveries"}
"""What is done by hand, once in a while, to every job or delivery there is."""


@pytest.fixture
async def connection(tmp_path: Path) -> apsw.Connection:
    path = tmp_path / "tenure.db"
    store = SqliteStore(path)
    await store.open()
    await store.migrate()
    await store.close()
    return open_writer(path)


async def test_no_statement_scans_a_table_that_grows_with_history(connection: apsw.Connection) -> None:
    plans = {name: _plan(connection, STATEMENTS[name]) for name in STATEMENTS.keys() - READS_ALL}
    connection.close()
    assert len(plans) > 100
    assert {
        name: plan for name, plan in plans.items() if _scanned(STATEMENTS[name], plan) & GROWS_WITH_HISTORY
    } == {}


def _plan(connection: apsw.Connection, text: str) -> list[str]:
    values = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z_]+)", text)) or (None,) * text.count("?")
    return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


def _scanned(text: str, plan: list[str]) -> set[str]:
    """The tables that a plan goes through from end to end."""
    tables = {
        alias or table: table
        for table, alias in re.findall(r"\b(tenure_\w+)(?: (?:AS )?(?!AS\b)([a-z]+)\b)?", text)
    }
    scanned = {str(found[1]) for step in plan if (found := re.match(r"SCAN (\w+)(?! \()", step))}
    return {str(tables.get(alias, alias)) for alias in scanned}
