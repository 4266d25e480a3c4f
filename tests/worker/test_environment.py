"""The variables of a real worker, as its jobs see them in every lane."""

import json
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tenure.core.model.lanes import COMMAND, LANES
from tenure.core.model.states import State
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests import canaries
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.worker.commands_with_secrets import says, started
from tests.worker.running_worker import PATIENCE, enqueue, reach
from tests.worker.worker_process import descendants

SCRIPT = str(Path(sys.executable).with_name("tenure"))
APP = "tests.worker.environment_app:app"
GIVEN: dict[str, Any] = {
    "SHOP_REGION": "eu",
    "SHOP_API_KEY": "app-s own",
    "OTHER_URL": "postgresql://shop:word@elsewhere/shop",
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "LD_LIBRARY_PATH": "/nowhere",
}
"""What is the app's own."""


@pytest.fixture
def address(postgres_server: PostgresServer) -> str:
    """Of a database whose address holds a password."""
    made = create_migrated(postgres_server, f"environment_{secrets.token_hex(4)}")
    assert canaries.PASSWORD in made
    return made


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    """The store there."""
    opened = store_for(address)
    await opened.open()
    yield opened
    await opened.close()


def withheld(address: str) -> dict[str, Any]:
    """What is the worker's own."""
    return {
        "TENURE_DATABASE": address,
        "DATABASE_URL": address.replace("postgresql://", "postgresql+asyncpg://"),
        "SHOP_DB_PASS": canaries.PASSWORD,
        "PGAPPNAME": "jobs",
        "NOTIFY_SOCKET": "/nowhere/notify",
        "WATCHDOG_USEC": "600000000",
        "LISTEN_FDS": "1",
    }


async def told(store: Store, key: str, **params: Any) -> Any:
    done = await reach(store, await enqueue(store, key, params), State.SUCCEEDED, State.FAILED)
    assert done.state is State.SUCCEEDED, await store.attempts(done.id)
    return json.loads(done.result or "")


async def missed(store: Store, lane: str, name: str) -> str:
    job = await enqueue(store, f"{lane}.miss", {"name": name}, policy={"max_attempts": 1})
    await reach(store, job, State.FAILED)
    [attempt] = await store.attempts(job)
    assert attempt.error is not None
    assert attempt.error.kind == "KeyError"
    return attempt.error.message


async def test_handlers_see_the_workers_variables_and_none_that_is_its_own(
    store: Store, address: str, place: Path
) -> None:
    """S1.78: in every lane, at the import of the app, and in what the kernel shows of their processes."""
    own = withheld(address)
    with started([SCRIPT, "worker", APP], place, **GIVEN, **own) as process:
        output = says(process, " serves ")
        assert "environment: handlers see this worker's variables, except TENURE_*, PG*, " in output
        assert "the database's address or password (DATABASE_URL, SHOP_DB_PASS)" in output
        for lane in LANES:
            seen = await told(store, f"{lane}.tell")
            assert seen["region"] == "eu"
            assert set(seen["has"]) >= {*GIVEN, "SHOP_PASSWORD", "PATH", "HOME", "TMPDIR"}, lane
            for where in ("has", "block", "at_import"):
                assert own.keys().isdisjoint(seen[where]), lane
                assert canaries.VARIABLE not in seen[where], lane
                assert where == "has" or lane == COMMAND or set(seen[where]) >= GIVEN.keys()
        for lane in LANES.keys() - {COMMAND}:
            assert await missed(store, lane, "SHOP_DB_PASS") == (
                "'SHOP_DB_PASS'; the worker has the variable SHOP_DB_PASS, but withholds it from its "
                "handlers, because its value holds the database's address or password; "
                "TENURE_CHILD_ENV=*,SHOP_DB_PASS gives it to them"
            )
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


@pytest.mark.parametrize("names", ["SHOP_*", "SHOP_REGION"])
async def test_an_allow_list_gives_what_it_names_and_a_failure_names_the_list(
    store: Store, address: str, place: Path, names: str
) -> None:
    variables = GIVEN | withheld(address) | {"TENURE_CHILD_ENV": names}
    with started([SCRIPT, "worker", APP], place, **variables) as process:
        output = says(process, " serves ")
        assert (
            f"handlers see the variables PATH, HOME, LANG, TZ, TMPDIR and, by TENURE_CHILD_ENV, {names}"
            in output
        )
        for lane in LANES:
            seen = set((await told(store, f"{lane}.tell"))["has"])
            shop = {name for name in seen if name.startswith("SHOP_")}
            more = {"SHOP_API_KEY", "SHOP_PASSWORD"} if names == "SHOP_*" else set()
            assert shop == {"SHOP_REGION"} | more, lane
            assert seen.isdisjoint({"OTHER_URL", "PYTHONPATH", "DATABASE_URL"}), lane
        assert (await missed(store, "process", "OTHER_URL")).endswith(
            "the worker has the variable OTHER_URL, but TENURE_CHILD_ENV does not name it, so its handlers "
            "have not"
        )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("", "but TENURE_CHILD_ENV does not name it, so its handlers have not"),
        ("SHOP_API_KEY", "but TENURE_CHILD_ENV does not name it, so its handlers have not"),
        ("SHOP-REGION", "Error: TENURE_CHILD_ENV: holds 'SHOP-REGION'; give names of variables, or patterns"),
        (
            "PG*",
            "Error: TENURE_CHILD_ENV: holds 'PG*', but patterns give no variables of Tenure or PostgreSQL",
        ),
    ],
)
def test_an_app_that_cannot_be_imported_for_want_of_a_variable_is_told_so(
    place: Path, names: str, said: str
) -> None:
    """S1.78: an empty list names nothing beyond what every handler has."""
    with started([SCRIPT, "worker", APP], place, TENURE_CHILD_ENV=names, **GIVEN) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert said in output
    assert ("KeyError: 'SHOP_REGION'; the worker has the variable SHOP_REGION, " in output) is (
        "Error: T" not in output
    )


async def test_an_app_may_take_its_address_from_a_variable_and_is_told_who_sees_it(
    store: Store, address: str, place: Path
) -> None:
    """The worker cannot keep from the app what it has learnt from the app."""
    (place / "jobs.py").write_text(
        "import os\nfrom tenure import Tenure\napp = Tenure(os.environ['DATABASE_URL'])\n"
        "@app.job('mail')\ndef mail(params: dict) -> int:\n    return 7\n"
    )
    with started([SCRIPT, "worker", "jobs:app"], place, folder=place, DATABASE_URL=address) as process:
        output = says(process, " serves ")
        assert (
            "environment: handlers see the database's address in DATABASE_URL, as the app itself does"
            in output
        )
        assert await told(store, "mail") == 7


def test_the_handlers_of_the_demo_see_no_more(address: str, place: Path) -> None:
    """S1.78: its patterns and its exceptions are those of a worker."""
    variables = GIVEN | withheld(address) | {"TENURE_CHILD_ENV": "*,OTHER_URL,LISTEN_FDS"}
    with started([SCRIPT, "demo"], place, **variables) as process:
        says(process, "greet")
        blocks = []
        for pid in descendants(process.pid):
            try:
                blocks.append(Path(f"/proc/{pid}/environ").read_text())
            except OSError:  # a job that has just ended
                continue
        names = [{entry.partition("=")[0] for entry in block.split("\0")} for block in blocks if block]
        assert names
        for seen in names:
            assert seen >= GIVEN.keys() | {"LISTEN_FDS"}
            assert seen.isdisjoint(withheld(address).keys() - {"LISTEN_FDS"})
        process.send_signal(signal.SIGTERM)


def test_the_demo_refuses_a_wrong_list(place: Path) -> None:
    with started([SCRIPT, "demo"], place, TENURE_CHILD_ENV="a b") as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert "Error: TENURE_CHILD_ENV: holds 'a b'; give names of variables" in output
    assert process.returncode == 2
