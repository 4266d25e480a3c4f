"""`tenure jobs put-back`, and how jobs that are aside are shown."""

import asyncio
import json
from pathlib import Path
from uuid import UUID

from tenure.core.model.aside import JobsAside
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.verbs import claim, enqueue_one
from tests.surfaces.command import tenure
from tests.surfaces.store_behind import NOBODY, on


async def _aside(store: Store, database: str) -> UUID:
    job = await enqueue_one(store)
    await damaged_rows.next_event(database, job)
    try:
        await claim(store)
    except JobsAside as met:
        return met.asides[0].job
    raise AssertionError("nothing was put aside")


def test_a_job_that_is_aside_is_named_and_goes_on_once_it_is_mended(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, lambda store: _aside(store, migrated))
    listed = tenure(tmp_path, "jobs", "list", "--database", migrated)
    assert f"{job} queued, aside" in " ".join(listed.stdout.split())
    shown = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated)
    assert "aside since" in shown.stdout
    assert "because the database refuses to claim it" in shown.stdout

    ran = tenure(tmp_path, "jobs", "cancel", str(job), "--database", migrated)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"Error: job {job} is aside: the database refuses to move it" in ran.stderr
    assert "; mend it, then put it back" in ran.stderr

    asyncio.run(damaged_rows.mend(migrated, job))
    back = tenure(tmp_path, "jobs", "put-back", str(job), NOBODY, "--database", migrated)
    assert (back.returncode, back.stdout) == (1, f"{job} queued\n")
    assert back.stderr == f"Error: there is no job {NOBODY}\n"
    again = tenure(tmp_path, "jobs", "put-back", str(job), "--database", migrated)
    assert again.stderr == f"Error: job {job} is not aside: it is queued\n"
    on(migrated, lambda store: _claimed(store, job))


async def _claimed(store: Store, job: UUID) -> None:
    assert [one.lease.job for one in await claim(store)] == [job]


def test_what_is_put_back_is_told_as_json(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, lambda store: _aside(store, migrated))
    ran = tenure(tmp_path, "jobs", "put-back", str(job), "--json", "--database", migrated)
    assert (ran.returncode, json.loads(ran.stdout)) == (0, {"jobId": str(job), "status": "queued"})
