"""The page about Flask, run as it stands; and a server that forks after it has used the database."""

from pathlib import Path

from tests.surfaces.frameworks.pages import PYTEST, python, write

AS_A_SERVER_THAT_FORKS = """
import os
import jobs
from shop import create_app

web = create_app()

def request():
    made = web.test_client().post("/reports", json={"customer": "ada"})
    where = made.headers["location"]
    return made.status_code, web.test_client().get(where).json["state"]

assert request() == (202, "queued")  # the process that forks has used the database
children = []
for _ in range(2):
    if (child := os.fork()) == 0:
        os._exit(0 if request() == (202, "queued") else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], request())
"""


def test_the_program_of_the_page_passes_its_own_tests(tmp_path: Path) -> None:
    write("flask.md", tmp_path)
    assert "2 passed" in python(tmp_path, *PYTEST, "test_shop.py")
    assert not (tmp_path / "tenure.db").exists()


def test_every_process_of_a_server_that_forks_reaches_the_database(tmp_path: Path, migrated: str) -> None:
    write("flask.md", tmp_path)
    printed = python(tmp_path, "-c", AS_A_SERVER_THAT_FORKS, TENURE_DATABASE=migrated)
    assert printed == "[0, 0] (202, 'queued')\n"
