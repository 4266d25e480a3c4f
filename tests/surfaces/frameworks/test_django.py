"""The page about Django, run as it stands: its tests, its views on PostgreSQL, its worker."""

import json
from pathlib import Path

import pytest

from tests.surfaces.command import sql
from tests.surfaces.conftest import Start
from tests.surfaces.frameworks.pages import python, write

VIEWS = """
import json
import mysite.worker  # sets Django up
from django.db import connection, transaction
from django.test import Client
from shop.jobs import Confirm, app, confirm
from shop.models import Order
from tenure import InvalidInput, JobNotFound

made = Client(headers={"host": "localhost"}).post("/orders", {"email": "ada@example.com"})

def kept(job):
    try:
        return str(job.status_sync())
    except JobNotFound:
        return None

taken_back = []
for outer in (False, True):
    with transaction.atomic():
        try:
            with transaction.atomic():
                taken_back.append(confirm.enqueue_sync(Confirm(order=1), connection=connection))
                raise KeyError
        except KeyError:
            pass
        transaction.set_rollback(outer)
try:
    confirm.enqueue_sync(Confirm(order=1), connection=connection)
except InvalidInput as error:
    refusal = str(error)
job = app.handle(made.json()["job"])
print(json.dumps([made.status_code, kept(job), [kept(one) for one in taken_back], refusal]))
"""

WAIT = """
import sys
import mysite.worker
from shop.jobs import app
from shop.models import Order
print(app.handle(sys.argv[1]).wait_sync(timeout=60), Order.objects.get().is_confirmed)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write("django.md", tmp_path)
    return tmp_path


def test_the_project_of_the_page_passes_its_own_test(project: Path, migrated_postgres: str) -> None:
    printed = python(project, "manage.py", "test", DATABASE_URL=migrated_postgres, SECRET_KEY="s")
    assert "Ran 1 test" in printed
    assert not (project / "tenure.db").exists()


def test_a_job_of_a_view_commits_with_its_order_and_a_worker_runs_it(
    project: Path, migrated_postgres: str, start: Start
) -> None:
    around = {"DATABASE_URL": migrated_postgres, "TENURE_DATABASE": migrated_postgres, "SECRET_KEY": "s"}
    for command in (["makemigrations", "shop"], ["migrate"]):
        python(project, "manage.py", *command, **around)
    status, state, taken_back, refusal = json.loads(python(project, "-c", VIEWS, **around))
    assert (status, state, taken_back) == (202, "queued", [None, None])
    assert refusal == "connection: has no open transaction; use it inside `with transaction.atomic():`"
    [(job,)] = sql(migrated_postgres, "SELECT id FROM tenure.job")
    start("worker", "mysite.worker:app", TENURE_CHILD_ENV="*,DATABASE_URL", **around)
    assert python(project, "-c", WAIT, str(job), **around) == "ada@example.com True\n"
