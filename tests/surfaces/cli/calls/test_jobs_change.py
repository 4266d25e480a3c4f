"""`tenure jobs cancel`, `accept` and `replay`: what becomes of jobs, and of those that cannot be changed."""

import json
from pathlib import Path
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one, job_in, one_in_each_state
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.store_behind import MAIL, NOBODY, job_of, on, register


async def _ended(store: Store) -> UUID:
    return await job_in(store, State.FAILED, params=Document('{"to":"ada"}'))


def test_jobs_are_cancelled_at_once_or_asked_to_stop(tmp_path: Path, migrated: str) -> None:
    there = on(migrated, one_in_each_state)
    queued, running = str(there[State.QUEUED]), str(there[State.RUNNING])
    ran = tenure(tmp_path, "jobs", "cancel", queued, running, "--reason=too late", "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{queued} cancelled\n{running} cancelling\n"
    last = on(migrated, lambda store: store.events(UUID(queued)))[-1]
    assert (last.type, last.actor, last.reason) == ("cancelled", "cli", "too late")
    again = tenure(tmp_path, "jobs", "cancel", queued, running, "--json", "--database", migrated)
    assert [json.loads(text) for text in again.stdout.splitlines()] == [
        {"jobId": queued, "status": "cancelled"},
        {"jobId": running, "status": "cancelling"},
    ]
    assert again.returncode == 0


def test_one_that_cannot_be_cancelled_keeps_no_other_from_it(tmp_path: Path, migrated: str) -> None:
    there = on(migrated, one_in_each_state)
    queued, succeeded = str(there[State.QUEUED]), str(there[State.SUCCEEDED])
    ran = tenure(tmp_path, "jobs", "cancel", NOBODY, succeeded, queued, "--database", migrated)
    assert (ran.returncode, ran.stdout) == (1, f"{queued} cancelled\n")
    assert ran.stderr.splitlines() == [
        f"Error: there is no job {NOBODY}",
        f"Error: job {succeeded} has ended already: it is succeeded",
    ]


def test_a_replay_is_a_new_job_and_one_at_a_time(tmp_path: Path, migrated: str) -> None:
    first = str(on(migrated, _ended))
    ran = tenure(tmp_path, "jobs", "replay", first, "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    replayed = job_of(migrated, ran.stdout.strip())
    assert (str(replayed.replay_of), replayed.params, replayed.state) == (first, '{"to":"ada"}', "queued")
    again = tenure(tmp_path, "jobs", "replay", first, "--json", "--database", migrated)
    assert json.loads(again.stdout) == {"jobId": str(replayed.id), "status": "queued"}
    assert again.stderr == f"job {first} is being replayed already; --force replays it once more\n"
    forced = tenure(tmp_path, "jobs", "replay", "--force", first, "--database", migrated)
    assert forced.stdout.strip() not in {first, str(replayed.id), ""}
    assert sql(migrated, "SELECT count(*) FROM tenure.job") == [(3,)]


def test_a_replay_may_have_other_params_which_are_judged(tmp_path: Path, migrated: str) -> None:
    async def ended(store: Store) -> UUID:
        job = await enqueue_one(store, params=Document('{"to":"ada"}'))
        await store.cancel([job])
        return job

    register(migrated, MAIL)
    first = str(on(migrated, ended))
    options = (first, "--database", migrated, "--params")
    assert fails(tenure(tmp_path, "jobs", "replay", *options, '{"to":1}'), 2, "params/to")
    assert fails(tenure(tmp_path, "jobs", "replay", *options, "@missing"), 2, "No such file")
    ran = tenure(tmp_path, "jobs", "replay", *options, '{"to":"bob"}')
    assert job_of(migrated, ran.stdout.strip()).params == '{"to":"bob"}'
    assert sql(migrated, "SELECT count(*) FROM tenure.job") == [(2,)]


def test_a_job_that_has_not_ended_is_not_replayed(tmp_path: Path, migrated: str) -> None:
    queued, ended = str(on(migrated, enqueue_one)), str(on(migrated, _ended))
    ran = tenure(tmp_path, "jobs", "replay", queued, ended, "--database", migrated)
    assert (ran.returncode, ran.stderr) == (1, f"Error: job {queued} (mail) is still queued\n")
    assert str(job_of(migrated, ran.stdout.strip()).replay_of) == ended


def test_a_job_that_was_not_held_stays_as_it_is(tmp_path: Path, migrated: str) -> None:
    ended = str(on(migrated, _ended))
    ran = tenure(tmp_path, "jobs", "accept", ended, "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{ended} failed\n", "")
