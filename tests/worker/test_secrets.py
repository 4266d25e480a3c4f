"""What the code of jobs can learn of the worker's secrets from the processes above it: nothing."""

import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.assemble.start_notices import SHOWN
from tenure.core.model.lanes import LANES
from tenure.core.model.states import State
from tenure.core.values.urls import masked, masked_argument
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests import canaries
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.worker import process_reader
from tests.worker.child_user_access import IS_ROOT, NOBODY, passable
from tests.worker.commands_with_secrets import says, started
from tests.worker.running_worker import PATIENCE, enqueue, reach

APP = "tests.worker.prying_app:app"
SCRIPT = str(Path(sys.executable).with_name("tenure"))
MODULE = (sys.executable, "-m", "tenure")
WORKERS = ["ordinary", "root with a child user"] if IS_ROOT else ["ordinary"]
"""The user of the worker; only root can have both."""


@pytest.fixture
def address(postgres_server: PostgresServer) -> str:
    """Of a database whose address holds a password."""
    made = create_migrated(postgres_server, f"secrets_{secrets.token_hex(4)}")
    assert canaries.PASSWORD in made
    return made


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    """The store there."""
    opened = store_for(address)
    await opened.open()
    yield opened
    await opened.close()


@contextmanager
def an_open_one(place: Path) -> Iterator[int]:
    """A process of an ordinary user that hides nothing."""
    command = passable([sys.executable, "-c", "print('open', flush=True); input()"], ordinary=True)
    with started(command, place) as process:
        says(process, "open")
        yield process.pid


async def looked(store: Store, params: dict[str, int]) -> dict[str, dict[str, Any]]:
    """What a job of each lane has seen, by lane."""
    jobs = {lane: await enqueue(store, f"{lane}.pry", params) for lane in LANES}
    return {
        lane: json.loads((await reach(store, job, State.SUCCEEDED)).result or "")
        for lane, job in jobs.items()
    }


@pytest.mark.parametrize("way", ["worker", "serve"])
@pytest.mark.parametrize("whose", WORKERS)
async def test_no_lane_shows_a_job_the_secrets_of_who_runs_it(
    store: Store, address: str, place: Path, whose: str, way: str
) -> None:
    """S1.78: not in variables, arguments, memory or descriptors of any process above it."""
    command = [SCRIPT, "worker", APP, "--database", address]
    # What keeps signals in keeps out looks as well, on kernels that can.
    variables: dict[str, Any] = {"TENURE_CHILD_SIGNALS": "any"}
    if way == "serve":
        command = [*MODULE, "serve", APP, "--port=0"]
        variables |= {"TENURE_DATABASE": address, "TENURE_CHILD_ENV": ""}
    else:  # which gives jobs all that is not its own, such as a secret of the app's
        variables |= {"SHOP_DATABASE": address.replace("postgresql", "psql"), "SHOP_PASSWORD": "for the app"}
    if whose != "ordinary":
        variables["TENURE_CHILD_USER"] = "nobody"
    with (
        an_open_one(place) as other,
        started(passable(command, ordinary=whose == "ordinary"), place, **variables) as process,
    ):
        says(process, " serves ")
        seen = await looked(store, {"last": os.getpid(), "open_one": other})
        for lane, found in seen.items():
            assert found["user"] == (NOBODY if IS_ROOT else os.getuid()), lane
            assert found["ancestors"][-1] == process.pid, lane
            assert found["of_the_open_one"] == ["environ", "mem"], lane
            assert found["seen"] == {}, lane
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert os.listdir(place) == []  # noqa: PTH208


@pytest.mark.parametrize("way", ["worker", "serve", "demo"])
def test_the_kernel_shows_nobody_a_password_that_was_given_to_a_command(
    address: str, place: Path, way: str
) -> None:
    """It is the process that was started, under the name of its address without the password."""
    command, ready = [SCRIPT, way, APP], " serves "
    if way == "demo":
        command, ready = [*MODULE, way], "greet"
    with started([*command, f"--database={address}"], place, TENURE_PORT="0") as process:
        says(process, ready)
        found = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        assert found[-2] == f"--database={masked(address)}"
        if IS_ROOT:  # which can read all else
            environ = Path(f"/proc/{process.pid}/environ").read_text()
            assert "TENURE_WITHHELD=" in environ
            assert canaries.PASSWORD not in environ
            assert "SHOP_PASSWORD" not in environ
        else:
            assert process_reader.secrets_of(process.pid) == []


def test_a_password_with_a_space_in_it_is_hidden_as_well(address: str, place: Path) -> None:
    """S1.78: it need not be written so, but a URL that is works all the same."""
    odd = f"postgresql://shop:odd {canaries.PASSWORD}@db/jobs"
    with started([SCRIPT, "worker", APP, "--database", address], place, ODD=odd) as process:
        says(process, " serves ")
        assert not any(b"odd" in piece for piece in process_reader._content(f"/proc/{process.pid}/environ"))
    assert masked_argument(odd) == masked(odd)
    assert masked_argument(f"--database={odd}") == f"--database={masked(odd)}"


def test_somebody_elses_program_is_not_started_anew(address: str, place: Path) -> None:
    """What it did before the command would be done twice; a notice says that all users can read it."""
    program = "import sys; print('once'); sys.argv[0] = 'tenure'; from tenure.__main__ import main; main()"
    with started([sys.executable, "-c", program, "worker", APP, "--database", address], place) as process:
        output = says(process, " serves ")
    assert output.count("once") == 1
    assert SHOWN in output


def test_what_was_not_withheld_by_the_command_itself_is_refused(place: Path) -> None:
    with started([SCRIPT, "worker", APP], place, TENURE_WITHHELD="2") as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert output == "Error: TENURE_WITHHELD: is for Tenure's own use; do not set it\n"
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ("nobody-at-all", "is 'nobody-at-all', which is no user of this machine"),
        ("4294967296", "is '4294967296', which is no user of this machine"),
        ("root", "is root, which may read everything"),
    ],
)
def test_a_user_who_cannot_be_the_childrens_is_refused(place: Path, user: str, problem: str) -> None:
    with started([SCRIPT, "worker", APP], place, TENURE_CHILD_USER=user) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert f"Error: child_user: {problem}" in output
    assert process.returncode == 2


def test_only_root_has_children_of_another_user(place: Path) -> None:
    command = passable([SCRIPT, "worker", APP], ordinary=True)
    with started(command, place, TENURE_CHILD_USER="daemon") as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert "Error: child_user: is 'daemon', and only root can run attempts as another user" in output
    assert process.returncode == 2
