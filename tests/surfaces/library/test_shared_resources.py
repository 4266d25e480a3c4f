"""The examples of the page on shared resources, run in their lanes, and what hooks of processes refuse."""

import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tenure import InvalidInput, Tenure
from tenure.core.model.retry import Returned
from tenure.execution.lanes import Lanes
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import run
from tests.postgres_server import PostgresServer

PAGE = (Path(__file__).parents[3] / "docs/how-to/shared-resources.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


async def results(
    folder: Path, module: str, lane: str, key: str, *params: Any, **variables: str
) -> list[Any]:
    """What attempts of an example return, one after another."""
    (folder / f"{module}.py").write_text(FILES[module])
    environment = ChildEnvironment(os.environ, set_here=variables)
    lanes = Lanes(f"{module}:app", folder=folder, environment=environment)
    found = []
    try:
        await lanes.start()
        for one in params:
            end = (await run(lanes.named(lane), key, one)).end
            assert isinstance(end, Returned), end
            found.append(json.loads(end.result))
    finally:
        await lanes.close()
    return found


async def test_a_model_is_loaded_at_import(tmp_path: Path) -> None:
    assert await results(tmp_path, "scores", "process", "score", {"text": "never lost"}) == [9]


async def test_a_connection_is_opened_when_it_is_first_used(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER)")
        shop.execute("INSERT INTO orders VALUES (1), (2)")
    assert await results(tmp_path, "orders", "warm", "orders.count", {}, {}) == [2, 2]


async def test_a_pool_is_opened_and_closed_with_its_process(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    dsn = postgres_server.create_database(f"shop_{os.getpid()}")
    found = await results(tmp_path, "shop", "async", "orders.total", {}, {}, SHOP_DATABASE=dsn)
    assert found == [42, 42]


def test_a_hook_of_a_process_that_cannot_be_called_is_refused_where_it_is_written() -> None:
    app = Tenure("sqlite:///unused.db")
    with pytest.raises(InvalidInput, match=r"takes parameters, and on_process_start has none; write \(\)"):
        app.on_process_start(lambda _ctx: None)  # type: ignore[type-var]
    with pytest.raises(InvalidInput, match=r"yields; close in @app.on_process_stop what it opens"):

        @app.on_process_start
        def opens() -> Any:
            yield

    with pytest.raises(InvalidInput, match="decorate a def"):
        app.on_process_stop("close")  # type: ignore[type-var]
