"""A worker of root's whose attempts are another user's; run by root alone."""

import os
import pwd
import sys
from pathlib import Path

import pytest

from tenure.assemble.start_notices import READABLE
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.worker.child_user_access import passable
from tests.worker.commands_with_secrets import says, started
from tests.worker.running_worker import PATIENCE, ROOT, enqueue, reach

APP = "tests.worker.prying_app:app"
SCRIPT = str(Path(sys.executable).with_name("tenure"))
PRINTING = """
import os
from tenure import Tenure
app = Tenure()
def print_anew(params: dict) -> None:
    with open("/dev/stdout", "w") as output:
        print("as", os.environ.get("USER", "itself"), "at", os.environ["HOME"], file=output)
app.job("process")(print_anew)
app.job("warm", lane="warm")(print_anew)
app.command("command", ["sh", "-c", 'echo "as ${USER-itself} at $HOME" > /dev/stdout'])
"""


@pytest.mark.parametrize("closed", ["TMPDIR", "app"])
def test_a_folder_that_is_closed_to_the_children_is_named(place: Path, closed: str) -> None:
    folder = place / "closed"
    folder.mkdir(mode=0o700)
    command = passable([SCRIPT, "worker", APP], ordinary=False)
    variables = {"TMPDIR": str(folder)} if closed == "TMPDIR" else {}
    where = ROOT if closed == "TMPDIR" else folder
    with started(command, place, folder=where, TENURE_CHILD_USER="nobody", **variables) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert f"Error: child_user: is nobody, which may not read and enter {folder}" in output
    assert process.returncode == 2


@pytest.mark.parametrize("user", ["", "nobody"])
async def test_roots_jobs_are_said_to_read_it_unless_they_have_a_user(
    store: Store, address: str, place: Path, user: str
) -> None:
    """A settings file of root's alone is no obstacle to another user, nor are the pipes for the output."""
    (place / "jobs.py").write_text(PRINTING)
    settings = place / "tenure.toml"
    settings.write_text(f'database = "{address}"')
    settings.chmod(0o600)
    variables = {"TENURE_CHILD_USER": user} if user else {}
    command = passable([SCRIPT, "worker", "jobs:app"], ordinary=False)
    with started(command, place, folder=place, **variables) as process:
        output = says(process, " serves ")
        assert (READABLE in output) == (not user)
        assert ("isolation: attempts run as nobody" in output) == bool(user)
        for key in ("warm", "process", "command"):
            job = await enqueue(store, key)
            done = await reach(store, job, State.SUCCEEDED, State.FAILED)
            assert done.state is State.SUCCEEDED, await store.attempts(job)
            home = pwd.getpwnam(user).pw_dir if user else os.environ["HOME"]
            assert [logged.line.text for logged in await store.logs(job)] == [
                f"as {user or 'itself'} at {home}"
            ]
