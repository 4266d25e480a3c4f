"""The page about FastAPI, run as it stands."""

import json
from pathlib import Path

from tests.surfaces.command import sql
from tests.surfaces.frameworks.pages import PYTEST, python, write

IN_ONE_TRANSACTION = """
import asyncio, json
import httpx
import orders

async def main():
    async with orders.engine.begin() as connection:
        await connection.run_sync(orders.Base.metadata.create_all)
    calls = httpx.AsyncClient(transport=httpx.ASGITransport(orders.web), base_url="http://test")
    async with orders.app, calls:
        bought = await calls.post("/orders", params={"item": "a lamp"})
        refused = await calls.post("/orders", params={"item": "nothing"})
    await orders.engine.dispose()
    print(json.dumps([bought.status_code, bought.json(), refused.status_code]))

asyncio.run(main())
"""


def test_the_program_of_the_page_passes_its_own_test(tmp_path: Path) -> None:
    write("fastapi.md", tmp_path)
    assert "1 passed" in python(tmp_path, *PYTEST, "-o", "asyncio_mode=auto", "test_main.py")
    assert not (tmp_path / "tenure.db").exists()


def test_an_order_and_its_job_are_stored_together_or_not_at_all(
    tmp_path: Path, migrated_postgres: str
) -> None:
    write("fastapi.md", tmp_path)
    printed = python(tmp_path, "-c", IN_ONE_TRANSACTION, DATABASE_URL=migrated_postgres)
    status, bought, refused = json.loads(printed)
    assert (status, refused) == (202, 422)
    assert sql(migrated_postgres, "SELECT id, item FROM orders") == [(bought["order"], "a lamp")]
    assert [str(job) for (job,) in sql(migrated_postgres, "SELECT id FROM tenure.job")] == [bought["job"]]
