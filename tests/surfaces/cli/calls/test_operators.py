"""`tenure queues`, `limits` and `definitions pause|resume`: what operators set without a deploy."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.limit import Limit
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.operations import PauseScope
from tenure.engine.client.registration import save_definitions
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, job_in, one_in_each_state, state_of
from tests.surfaces.cli.test_changes import audit_of
from tests.surfaces.command import fails, tenure
from tests.surfaces.store_behind import MAIL, on, register

LONG = "x" * 10_000


async def _fill(store: Store) -> None:
    await enqueue_one(store)
    await enqueue_one(store, queue="slow", limits=(Limit("api", size=2),))
    await enqueue_one(store, queue="slow", limits=(Limit("tenant", "ann", 3),))


async def _claimed(store: Store) -> int:
    return len(await claim(store))


def test_a_queue_is_paused_listed_and_resumed(tmp_path: Path, migrated: str) -> None:
    on(migrated, _fill)
    paused = tenure(
        tmp_path, "queues", "pause", "default", "--until", "+1h", "--reason", "a fire", "--database", migrated
    )
    assert (paused.returncode, paused.stdout, paused.stderr) == (0, "queue default is paused\n", "")
    unborn_paused = tenure(tmp_path, "queues", "pause", "unborn", "--database", migrated)
    assert unborn_paused.stdout == "queue unborn is paused\n"
    assert unborn_paused.stderr == "no job or worker knows this queue yet: unborn\n"
    listed = tenure(tmp_path, "queues", "list", "--database", migrated)
    titles, default, slow, unborn = listed.stdout.splitlines()
    assert titles.split() == ["queue", "queued", "oldest", "running", "in/min", "ended/min", "paused"]
    assert "by command until " in default
    assert default.endswith(": a fire")
    assert slow.split()[:2] == ["slow", "2"]
    assert unborn.split()[:3] == ["unborn", "0", "-"]
    items = json.loads(tenure(tmp_path, "queues", "list", "--json", "--database", migrated).stdout)["items"]
    assert [(item["name"], item["pause"] is not None) for item in items] == [
        ("default", True),
        ("slow", False),
        ("unborn", True),
    ]
    assert on(migrated, _claimed) == 0
    ran = tenure(tmp_path, "queues", "resume", "default", "--json", "--database", migrated)
    assert (json.loads(ran.stdout), ran.stderr) == ({"name": "default", "paused": False}, "")
    assert on(migrated, _claimed) == 1
    again = tenure(tmp_path, "queues", "resume", "default", "--database", migrated)
    assert (again.returncode, again.stderr) == (0, "queue default was not paused\n")
    assert [(action, target, outcome) for action, target, outcome in audit_of(migrated)] == [
        ("queues pause", "default", "done"),
        ("queues pause", "unborn", "done"),
        ("queues resume", "default", "done"),
        ("queues resume", "default", "done"),
    ]


def test_a_definition_is_paused_whole_or_in_part(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    on(migrated, _fill)
    ran = tenure(tmp_path, "definitions", "pause", "mail", "--reason", "spam", "--database", migrated)
    assert (ran.returncode, ran.stdout) == (0, "mail is paused\n")
    part = ("mail", "--version", "1", "--queue", "slow", "--json", "--database", migrated)
    assert json.loads(tenure(tmp_path, "definitions", "pause", *part).stdout) == {
        "definitionKey": "mail",
        "definitionVersion": 1,
        "queue": "slow",
        "paused": True,
    }
    assert on(migrated, _claimed) == 0
    shown = tenure(tmp_path, "definitions", "show", "mail", "--database", migrated).stdout
    assert next(line for line in shown.splitlines() if line.startswith("paused")).endswith(": spam")
    assert "mail@1 in queue slow" in shown
    assert "mail by " in tenure(tmp_path, "queues", "list", "--database", migrated).stdout
    assert (
        tenure(tmp_path, "definitions", "resume", "mail", "--database", migrated).stdout
        == "mail is resumed\n"
    )
    assert on(migrated, _claimed) == 1
    assert [pause.scope for pause in on(migrated, lambda store: store.pauses())] == [
        PauseScope("slow", "mail", 1)
    ]
    assert audit_of(migrated)[1][1] == "mail@1 in queue slow"


def test_limits_are_listed_and_set(tmp_path: Path, migrated: str) -> None:
    on(migrated, _fill)
    listed = tenure(tmp_path, "limits", "list", "--database", migrated)
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["limit", "key", "namespace", "held", "size"],
        ["api", "-", "-", "0", "2"],
        ["tenant", "ann", "-", "0", "3"],
    ]
    ran = tenure(tmp_path, "limits", "set", "api", "5", "--database", migrated)
    assert (ran.returncode, ran.stdout) == (0, "limit api is 5\n")
    one = tenure(tmp_path, "limits", "list", "api", "--json", "--database", migrated)
    assert json.loads(one.stdout)["items"] == [
        {"name": "api", "key": "", "namespace": None, "size": 5, "held": 0, "opensAt": None}
    ]
    assert fails(tenure(tmp_path, "limits", "set", "nope", "5", "--database", migrated), 1, "no limit nope")
    assert audit_of(migrated) == [
        ("limits set", "api 5", "done"),
        ("limits set", "nope 5", "refused unknown-limit"),
    ]


def test_a_size_that_an_operator_set_outlives_a_deploy(tmp_path: Path, migrated: str) -> None:
    """Until the code itself says another number: then that one counts."""
    first = Spec(key="scan", limits=(Limit("gpu", size=2),))

    def deploy(size: int, priority: int) -> None:
        spec = Spec(key="scan", limits=(Limit("gpu", size=size),), priority=priority)
        on(migrated, lambda store: save_definitions(store, [spec], "a worker"))

    def size() -> int:
        [use] = on(migrated, lambda store: store.limits())
        return use.size

    register(migrated, first)
    on(migrated, lambda store: enqueue_one(store, "scan", limits=(Limit("gpu", size=2),)))
    tenure(tmp_path, "limits", "set", "gpu", "7", "--database", migrated)
    for priority in (0, 1, 2):
        deploy(2, priority)
        assert size() == 7
    deploy(3, 2)
    assert size() == 3


async def _retrying(store: Store) -> UUID:
    return await job_in(store, State.RETRYING)


def test_a_job_that_waits_for_a_retry_is_given_up(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, _retrying)
    ran = tenure(tmp_path, "jobs", "give-up", str(job), "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{job} retrying\n", "")

    async def promoted(store: Store) -> State:
        await store.promote(10)
        return await state_of(store, job)

    assert on(migrated, promoted) is State.FAILED


def test_jobs_in_other_states_are_not_given_up(tmp_path: Path, migrated: str) -> None:
    there = {state: str(job) for state, job in on(migrated, one_in_each_state).items()}
    queued, waits = there[State.QUEUED], there[State.RETRYING]
    ran = tenure(tmp_path, "jobs", "give-up", queued, waits, "--json", "--database", migrated)
    assert (ran.returncode, json.loads(ran.stdout)) == (1, {"jobId": waits, "status": "retrying"})
    assert ran.stderr == f"Error: job {queued} does not wait for another attempt: it is queued\n"


def test_jobs_that_wait_are_moved_or_run_now(tmp_path: Path, migrated: str) -> None:
    """By a short id too; a job that waits for no time is named with a way out, and the others are moved."""
    there = on(migrated, one_in_each_state)
    waits, backs_off, queued = (there[state] for state in (State.SCHEDULED, State.RETRYING, State.QUEUED))
    at = ("--at", "2035-01-31T08:30:00+02:00")
    ran = tenure(tmp_path, "jobs", "reschedule", waits.hex[-8:], str(queued), *at, "--database", migrated)
    assert (ran.returncode, ran.stdout) == (1, f"{waits} scheduled, due 2035-01-31 06:30:00 UTC\n")
    assert ran.stderr == (
        f"Error: job {queued} is queued and cannot be rescheduled: its time has come; it starts as soon as a "
        "worker has room for it\n"
    )
    ran = tenure(tmp_path, "jobs", "run-now", str(waits), str(backs_off), "--json", "--database", migrated)
    assert (ran.returncode, [json.loads(line)["status"] for line in ran.stdout.splitlines()]) == (
        0,
        ["scheduled", "retrying"],
    )

    async def promoted(store: Store) -> tuple[set[UUID], list[str]]:
        moved = {step.job for step in await store.promote(10)}
        return moved, [event.actor for event in await store.events(waits) if event.type == "rescheduled"]

    assert on(migrated, promoted) == ({waits, backs_off}, ["cli", "cli"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("jobs", "reschedule", "0" * 8), 2, "--at: is missing; give one of --at TIME and --in"),
        (
            ("jobs", "reschedule", "0" * 8, "--in", "1h", "--at", "2030-01-31T08:30:00Z"),
            2,
            "--at: cannot be combined with --in",
        ),
        (("jobs", "run-now", "0" * 8), 1, "has an id that ends in 00000000"),
        (("queues", "pause", "q", "--until", "1999-01-01T00:00:00Z"), 2, "until: has passed already"),
        (("queues", "pause", "a b"), 2, "queue: is not a name"),
        (("queues", "resume", LONG), 2, "queue: is not a name"),
        (("queues", "pause", "q", "--reason", LONG), 2, "reason"),
        (("definitions", "pause", "nail"), 2, "did you mean mail?"),
        (("definitions", "pause", "mail", "--version", "9"), 2, "known versions: 1"),
        (("definitions", "resume", "nail"), 2, "did you mean mail?"),
        (("definitions", "pause", LONG), 2, "definition: is not a name"),
        (("definitions", "pause", ""), 2, "definition: is empty"),
        (("definitions", "pause", "mail", "--queue", ""), 2, "queue: is empty"),
        (("limits", "set", LONG, "1"), 2, "limit: is not a name"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    tmp_path: Path, migrated: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    register(migrated, MAIL)
    assert fails(tenure(tmp_path, *arguments, "--database", migrated), code, said)
    assert on(migrated, lambda store: store.pauses()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("queues", "pause", "q", "--until", "soon"), "write one such as 2030"),
        (("queues", "pause", "q", "--until", "+soon"), "write seconds, or one such as"),
        (("limits", "set", "api", "0"), "0 is not in the range"),
        (("limits", "set", "api", "many"), "not a valid integer"),
        (("definitions", "pause", "mail", "--version", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage_is_told_with_the_option(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = tenure(tmp_path, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
