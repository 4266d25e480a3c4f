"""`tenure schedules`: made, shown, changed, paused, run by hand and deleted, on record; what it refuses."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tenure.core.model.job import NewJob
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import DueTick, Firing, NewSchedule, ScheduledJob, TickOutcome
from tenure.storage.contract.store import Store
from tests.surfaces.cli.test_changes import audit_of
from tests.surfaces.command import fails, tenure
from tests.surfaces.store_behind import MAIL, job_of, on, register

HOUR = timedelta(hours=1)

NIGHTLY = ("nightly", "--definition", "mail", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin")

NOW = datetime.now(UTC)
DUE = NewSchedule(
    id="due", job=ScheduledJob(definition="mail"), recurrence=Recurrence(every=HOUR, starts_at=NOW)
)
NOTED = [
    DueTick(at=NOW, outcome=TickOutcome.MISSED, count=1000, until=NOW + HOUR),
    DueTick(at=NOW + 2 * HOUR, outcome=TickOutcome.MISSED, count=3, until=NOW + 2.5 * HOUR),
    DueTick(at=NOW + 3 * HOUR, outcome=TickOutcome.OVERLAPPED),
    DueTick(at=NOW + 4 * HOUR, outcome=TickOutcome.FULL, problem="no room"),
    DueTick(at=NOW + 5 * HOUR, outcome=TickOutcome.FAILED, problem="it is gone\x1b[31m"),
    DueTick(at=NOW + 6 * HOUR, outcome=TickOutcome.FIRED, job=NewJob(definition="mail")),
]

REFUSED: list[tuple[tuple[str, ...], int, tuple[str, ...]]] = [
    (("create", *NIGHTLY[:3], "--cron", "0 0 0 * * *"), 2, ("has 6 fields", "use an interval")),
    (("create", *NIGHTLY[:3]), 2, ("cron: is missing",)),
    (("create", *NIGHTLY, "--every", "5s"), 2, ("beside an interval",)),
    (("create", *NIGHTLY, "--params", '{"of": 1}'), 2, ("mail@1: params/of: is not known",)),
    (("create", *NIGHTLY, "--version", "9"), 2, ("mail@9 is not known",)),
    (("create", *NIGHTLY, "--ends-at", "2020-01-01T00:00:00Z"), 2, ("endsAt: is before the start",)),
    (("create", "there", *NIGHTLY[1:]), 1, ("there is a schedule there already",)),
    (("edit", "there", "--cron", "@reboot"), 2, ("'@reboot' is not known",)),
    (("edit", "there", "--unset", "queue", "--queue", "post"), 2, ("queue: is given and unset",)),
    (("edit", "there"), 2, ("options: change nothing",)),
    (("trigger", "there", "--params", '{"of": 1}'), 2, ("params/of: is not known",)),
    (("show", "acme/there"), 1, ("no schedule 'there' in the namespace acme",)),
    *(
        ((verb, "gone"), 1, ("no schedule 'gone' in the namespace default",))
        for verb in ("show", "next", "ticks", "pause", "resume", "trigger", "delete")
    ),
]


def told(folder: Path, database: str, *arguments: str) -> Any:
    """What a command prints as JSON."""
    ran = tenure(folder, "schedules", *arguments, "--json", "--database", database)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)


def lines(folder: Path, database: str, *arguments: str) -> list[str]:
    """What a command prints, with single spaces."""
    ran = tenure(folder, "schedules", *arguments, "--database", database)
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    return [" ".join(line.split()) for line in ran.stdout.splitlines()]


def test_a_schedule_is_created_shown_changed_and_deleted(tmp_path: Path, migrated: str) -> None:
    """S1.7, S1.45: each option is kept, an edit changes what it names and nothing else."""
    register(migrated, MAIL)
    [said] = lines(
        *(tmp_path, migrated, "create", *NIGHTLY, "--params", '{"to": "ada"}', "--queue", "post"),
        *("--priority", "7", "--max-attempts", "2", "--timeout", "90s", "--tag", "a", "--missed", "skip"),
        *("--overlap", "queue", "--jitter", "10m", "--remaining", "2147483648", "--version", "1"),
        *("--starts-at", "2030-01-01T00:00:00Z", "--ends-at", "2040-01-01T00:00:00Z"),
    )
    assert said == "schedule nightly fires next at 2030-01-01 01:30:00.000Z"
    made = told(tmp_path, migrated, "show", "nightly")
    assert (made["params"], made["queue"], made["priority"], made["tags"]) == (
        {"to": "ada"},
        "post",
        7,
        ["a"],
    )
    assert (made["maxAttempts"], made["timeoutSeconds"], made["definitionVersion"]) == (2, 90, 1)
    assert (made["missed"], made["overlap"], made["jitterSeconds"]) == ("skip", "queue", 600)
    assert (made["remaining"], made["endsAt"]) == (2_147_483_648, "2040-01-01T00:00:00Z")

    edited = told(tmp_path, migrated, "edit", "nightly", "--every", "30d", "--jitter", "0", "--priority", "0")
    same = made.keys() - {
        "cron",
        "everySeconds",
        "jitterSeconds",
        "priority",
        "nextAt",
        "revision",
        "updatedAt",
    }
    assert {name: edited[name] for name in same} == {name: made[name] for name in same}
    assert (edited["cron"], edited["everySeconds"], edited["revision"]) == (None, 30 * 86_400, 2)
    shown = lines(tmp_path, migrated, "show", "nightly")
    assert {"rule every 30 days", "jitter none", "runs left 2147483648", "overlap queue"} <= set(shown)
    [_, listed] = lines(tmp_path, migrated, "list")
    assert listed == "nightly every 30 days mail 2030-01-01 00:00:00.000Z - on"

    assert lines(tmp_path, migrated, "delete", "nightly") == ["schedule nightly is deleted"]
    assert told(tmp_path, migrated, "list") == {"items": []}
    assert audit_of(migrated) == [
        (f"schedules {verb}", "nightly", "done") for verb in ("create", "edit", "delete")
    ]


def test_an_edit_takes_away_what_may_be_absent(tmp_path: Path, migrated: str) -> None:
    """As null does over HTTP; what is not named stays."""
    register(migrated, MAIL)
    told(
        *(
            tmp_path,
            migrated,
            "create",
            *NIGHTLY,
            "--queue",
            "post",
            "--priority",
            "7",
            "--max-attempts",
            "2",
        ),
        *("--timeout", "90s", "--tag", "a", "--remaining", "3", "--ends-at", "2040-01-01T00:00:00Z"),
        *("--version", "1"),
    )
    made = told(tmp_path, migrated, "edit", "nightly", "--unset", "queue")
    assert (made["queue"], made["priority"], made["remaining"], made["tags"]) == (None, 7, 3, ["a"])
    others = ("priority", "max-attempts", "timeout", "tags", "remaining", "ends-at", "version")
    edited = told(tmp_path, migrated, "edit", "nightly", *(f"--unset={word}" for word in others))
    absent = ("priority", "maxAttempts", "timeoutSeconds", "remaining", "endsAt", "definitionVersion")
    assert [edited[name] for name in absent] == [None] * len(absent)
    assert edited["tags"] == []
    same = made.keys() - {*absent, "tags", "revision", "updatedAt"}
    assert {name: edited[name] for name in same} == {name: made[name] for name in same}


def test_the_next_runs_say_what_jitter_and_clocks_make_of_them(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    lines(tmp_path, migrated, "create", *NIGHTLY, "--starts-at", "2030-03-30T12:00:00Z")
    assert lines(tmp_path, migrated, "next", "nightly", "--count", "2") == [
        "2030-03-31 01:00:00.000Z moved: clocks skip its time",
        "2030-04-01 00:30:00.000Z",
    ]
    lines(tmp_path, migrated, "edit", "nightly", "--jitter", "1h")
    [one] = lines(tmp_path, migrated, "next", "nightly", "--count", "1")
    [item] = told(tmp_path, migrated, "next", "nightly", "--count", "1")["items"]
    assert item["startsAt"] > item["at"] == "2030-03-31T01:00:00Z"
    assert one.endswith("jitter of the tick at 2030-03-31 01:00:00.000Z moved: clocks skip its time")


def test_a_schedule_is_paused_resumed_and_run_by_hand(tmp_path: Path, migrated: str) -> None:
    """S1.45: schedules of other namespaces are named with theirs, on record too."""
    register(migrated, MAIL)
    acme = "acme/nightly"
    lines(tmp_path, migrated, "create", acme, *NIGHTLY[1:], "--paused")
    [said] = lines(tmp_path, migrated, "pause", acme, "--reason", "the house moves")
    assert said == "schedule acme/nightly is paused"
    shown = lines(tmp_path, migrated, "show", acme)
    assert shown[0] == "schedule acme/nightly"
    assert any(line.startswith("state paused by") and line.endswith(": the house moves") for line in shown)
    [job] = lines(tmp_path, migrated, "trigger", acme, "--params", '{"to": "grace"}')
    made = job_of(migrated, job)
    assert (made.namespace, made.creator, json.loads(made.params)) == (
        *("acme", "schedule:nightly"),
        {"to": "grace"},
    )
    [_, tick] = lines(tmp_path, migrated, "ticks", acme)
    assert tick.split()[2:] == ["by_hand", job, "queued", "-"]
    [said] = lines(tmp_path, migrated, "resume", acme)
    assert said.startswith("schedule acme/nightly fires next at ")
    assert audit_of(migrated) == [
        (f"schedules {verb}", acme, "done") for verb in ("create", "pause", "trigger", "resume")
    ]


def test_what_makes_no_sense_is_refused_and_nothing_is_stored(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    before = told(tmp_path, migrated, "create", "there", *NIGHTLY[1:])
    for arguments, code, texts in REFUSED:
        assert fails(tenure(tmp_path, "schedules", *arguments, "--database", migrated), code, *texts)
    assert told(tmp_path, migrated, "list") == {"items": [before]}


def test_each_tick_is_told_with_what_became_of_it(tmp_path: Path, migrated: str) -> None:
    """Also one that made no job."""
    register(migrated, MAIL)
    firing = Firing(
        namespace="default", schedule="due", revision=1, expected=NOW, next_at=NOW + 7 * HOUR, ticks=NOTED
    )

    async def fire(store: Store) -> None:
        await store.add_schedule(DUE, next_at=NOW)
        assert await store.fire([firing]) != [None]

    on(migrated, fire)
    for command in ("ticks", "show"):
        *_, fired, failed, full, overlapped, missed, many = lines(tmp_path, migrated, command, "due")
        assert fired.split()[2] == "fired"
        assert fired.endswith("queued -")
        assert failed.endswith("failed - - it is gone\\x1b[31m")
        assert full.endswith("full - - no room")
        assert overlapped.endswith("overlapped - - -")
        assert " missed x 3, until " in missed
        assert " missed x 1,000 or more, until " in many
