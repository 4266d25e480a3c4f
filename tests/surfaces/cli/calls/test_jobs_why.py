"""`tenure jobs why`, the same sentence in other commands, and jobs by the end of their id."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.lease import Line, Pulse
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import MAIL, NOBODY, job_of, on, register

UNSERVED = "Nobody runs mail@1. Start a worker whose app has it: `tenure worker APP`."


async def _enlist(store: Store) -> None:
    info = WorkerInfo(id="w", host="h", pid=1, version="1", slots=4, lines=(Line("default", "mail"),))
    await store.enlist(info)
    await store.heartbeat(Pulse(worker="w", leases=[], ready=True))


async def _finish(store: Store) -> None:
    [owned] = await claim(store, lines=[Line("default", "mail")])
    await settle(store, [succeeded(owned)])


async def _alike(store: Store) -> list[UUID]:
    jobs = [UUID(f"01a1e11e-0000-700{n}-8000-0000abcdef12") for n in range(2)]
    for job in jobs:
        await enqueue_one(store, id=job)
    return jobs


def test_the_first_obstacle_is_a_sentence_and_the_others_follow(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, enqueue_one)
    ran = tenure(tmp_path, "jobs", "why", str(job), "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = ran.stdout.splitlines()
    assert first == UNSERVED
    assert second.startswith("Also: It is the next of mail@1 in queue default")
    on(migrated, _enlist)
    on(migrated, lambda store: store.pause("default", by="ann"))
    ran = tenure(tmp_path, "jobs", "why", str(job), "--database", migrated, "--json")
    answer = json.loads(ran.stdout)
    assert (answer["code"], [one["code"] for one in answer["data"]["also"]]) == ("paused-queue", ["in-line"])
    assert answer["sentence"].startswith("Queue default is paused by ann until it is resumed.")


def test_jobs_show_has_the_sentence_while_the_job_has_not_ended(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, enqueue_one)
    shown = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated)
    assert f"why            {UNSERVED}\n" in shown.stdout
    told = json.loads(tenure(tmp_path, "jobs", "show", str(job), "--database", migrated, "--json").stdout)
    assert told["why"]["code"] == "unserved-definition"
    on(migrated, _finish)
    assert "\nwhy " not in tenure(tmp_path, "jobs", "show", str(job), "--database", migrated).stdout


def test_jobs_watch_says_why_while_the_job_does_not_run(migrated: str, start: Start) -> None:
    """Once for each reason, on a line of its own."""
    job = on(migrated, enqueue_one)
    watching = start("jobs", "watch", str(job), "--database", migrated)
    assert watching.stdout is not None
    assert watching.stdout.readline().split(maxsplit=1)[1] == "queued\n"
    assert watching.stdout.readline().split(maxsplit=1)[1] == f"{UNSERVED}\n"
    on(migrated, lambda store: store.pause("default"))
    assert "Queue default is paused by api" in watching.stdout.readline()
    on(migrated, lambda store: store.resume("default"))
    assert watching.stdout.readline().endswith(f"{UNSERVED}\n")
    on(migrated, _finish)
    printed, _ = watching.communicate(timeout=60)
    assert "succeeded" in printed
    assert watching.returncode == 0


def test_a_wait_that_is_over_says_why_and_leaves_the_job(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    ran = tenure(tmp_path, "enqueue", "mail", "--wait", "--timeout", "0.2s", "--database", migrated)
    job = UUID(ran.stdout.strip())
    assert ran.returncode == 4
    assert ran.stderr == (
        f"Error: job {job} had not ended after 0.2 s. {UNSERVED} "
        f"The job stays; follow it with `tenure jobs watch {job}`.\n"
    )
    assert on(migrated, lambda store: state_of(store, job)) is State.QUEUED


def test_a_wait_says_why_while_the_job_does_not_run(migrated: str, start: Start) -> None:
    """On standard error: standard output is the id and the result."""
    register(migrated, MAIL)
    waiting = start("enqueue", "mail", "--wait", "--timeout", "5m", "--database", migrated)
    assert waiting.stdout is not None
    assert waiting.stderr is not None
    job = UUID(waiting.stdout.readline().strip())
    assert waiting.stderr.readline() == f"{UNSERVED}\n"
    on(migrated, _finish)
    printed, _ = waiting.communicate(timeout=60)
    assert (printed, waiting.returncode) == ('{"ok":true}\n', 0)
    assert on(migrated, lambda store: state_of(store, job)) is State.SUCCEEDED


def test_a_time_to_wait_needs_a_wait(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    ran = tenure(tmp_path, "enqueue", "mail", "--timeout", "5s", "--database", migrated)
    assert fails(ran, 2, "--timeout", "add --wait")
    assert sql(migrated, "SELECT count(*) FROM tenure.job") == [(0,)]
    wrong = tenure(tmp_path, "enqueue", "mail", "--wait", "--timeout", "soon", "--database", migrated)
    assert (wrong.returncode, "90s" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("command", ["why", "show", "logs", "cancel"])
def test_a_job_is_found_by_the_last_characters_of_its_id(tmp_path: Path, migrated: str, command: str) -> None:
    """As logs, lists and the demo show them, in either case."""
    job = on(migrated, enqueue_one)
    for ending in (job.hex[-8:], job.hex[-8:].upper(), job.hex[-12:]):
        ran = tenure(tmp_path, "jobs", command, ending, "--database", migrated)
        assert (ran.returncode, ran.stderr) == (0, "")
    if command == "cancel":
        assert on(migrated, lambda store: state_of(store, job)) is State.CANCELLED
        [(target,)] = set(sql(migrated, "SELECT target FROM tenure.audit"))
        assert target == str(job)


def test_an_ending_that_no_job_has_is_told_with_how_far_was_looked(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, enqueue_one)
    text = "none of the newest 100,000 jobs has an id that ends in 00000000"
    for command in ("why", "show", "watch", "logs"):
        assert fails(tenure(tmp_path, "jobs", command, NOBODY[-8:], "--database", migrated), 1, text)
    ran = tenure(tmp_path, "jobs", "cancel", NOBODY[-8:], str(job), "--database", migrated)
    assert (ran.returncode, ran.stdout) == (1, f"{job} cancelled\n"), "one that is refused stops no other"
    assert text in ran.stderr


def test_an_ending_of_several_jobs_is_refused_with_their_ids(tmp_path: Path, migrated: str) -> None:
    jobs = on(migrated, _alike)
    ran = tenure(tmp_path, "jobs", "show", "abcdef12", "--database", migrated)
    assert fails(ran, 2, *map(str, jobs), "give one of them in full")
    ran = tenure(tmp_path, "jobs", "cancel", "abcdef12", "--database", migrated)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert {job_of(migrated, str(job)).state for job in jobs} == {State.QUEUED}


def test_a_list_goes_on_behind_an_ending(tmp_path: Path, migrated: str) -> None:
    first, second = on(migrated, enqueue_one), on(migrated, enqueue_one)
    ran = tenure(tmp_path, "jobs", "list", "--after", second.hex[-8:], "--database", migrated)
    assert str(first) in ran.stdout
    assert str(second) not in ran.stdout
