"""`tenure jobs show`: everything on record of a job, for people and for programs."""

import json
import re
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tenure.core.model.lease import Progress, Pulse
from tenure.core.model.outcome import Recoverable, Succeeded
from tenure.core.model.trail import Usage
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, note, report, settle, trail
from tests.surfaces.command import PLAIN_ASCII, on_a_terminal, tenure
from tests.surfaces.store_behind import on

TRACE = 'Traceback (most recent call last):\n  File "mail.py", line 3\nValueError: no \x1b[31mlink'
HARM = "no\x1b[2Jlink\nError: forged"


async def a_life(store: Store) -> UUID:
    """A job that failed once, under a worker that told what it used, and then succeeded."""
    job = await enqueue_one(store, params=Document('{"to":"łódź"}'), tags=("vip",), key="order 17")
    [first] = await claim(store, worker="w-1")
    await store.record("w-1", [trail(first, note("sent", '{"n":1.50}'))])
    failed = Recoverable(Failure("ValueError", HARM, TRACE), after=timedelta(0))
    used = Usage(exit_code=1, cpu=timedelta(milliseconds=1250), peak_memory=3 << 20)
    await settle(store, [report(first, failed, used)], worker="w-1")
    await store.promote(10)
    [second] = await claim(store, worker="w-2")
    await settle(store, [report(second, Succeeded(Document("[1.50]")), Usage(signal=9))], worker="w-2")
    return job


def test_the_object_is_the_job_with_its_attempts_and_its_history(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, a_life)
    ran = tenure(tmp_path, "jobs", "show", str(job), "--json", "--database", migrated)
    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
    shown = json.loads(ran.stdout)
    assert (shown["jobId"], shown["status"], shown["attempts"]) == (str(job), "succeeded", 2)
    assert (shown["params"], shown["idempotencyKey"]) == ({"to": "łódź"}, "order 17")
    assert '"result":[1.50]' in ran.stdout, "documents are shown as they are stored"

    first, second = shown["attemptList"]
    assert (first["attempt"], first["workerId"], first["outcome"]) == (1, "w-1", "recoverable")
    assert (first["exitCode"], first["signal"], first["cpuSeconds"]) == (1, None, 1.25)
    assert first["peakMemoryBytes"] == 3 << 20
    assert first["error"] == {"kind": "ValueError", "message": HARM, "traceback": TRACE}
    assert (second["signal"], second["exitCode"], second["outcome"]) == (9, None, "succeeded")

    types = [event["type"] for event in shown["eventList"]]
    assert types == ["queued", "started", "custom:sent", "retrying", "queued", "started", "succeeded"]
    assert '"payload":{"n":1.50}' in ran.stdout


def test_people_see_the_same(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, a_life)
    ran = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(rf"^job +{job}$", ran.stdout, re.MULTILINE)
    assert re.search(r"^state +succeeded$", ran.stdout, re.MULTILINE)
    assert re.search(r"^attempts +2 of 3$", ran.stdout, re.MULTILINE)
    assert re.search(r'^params +\{"to":"łódź"\}$', ran.stdout, re.MULTILINE)
    assert re.search(r"^ *1 .* recoverable +1 +1\.250s +3\.0M +w-1 +ValueError: ", ran.stdout, re.MULTILINE)
    assert re.search(r"^ *2 .* succeeded +signal 9 .* w-2$", ran.stdout, re.MULTILINE)
    assert re.search(r'^3 .* custom:sent +running +running +1 +w-1 \{"n":1.50\}$', ran.stdout, re.MULTILINE)


def test_a_job_at_work_shows_who_has_it_and_how_far_it_is(tmp_path: Path, migrated: str) -> None:
    async def at_work(store: Store) -> UUID:
        job = await enqueue_one(store)
        [owned] = await claim(store, worker="w-1")
        halfway = {owned.lease: Progress(0.5, "half-way")}
        await store.heartbeat(Pulse(worker="w-1", leases=[owned.lease], progress=halfway))
        return job

    job = on(migrated, at_work)
    printed = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated).stdout
    assert re.search(r"^worker +w-1, its lease ends 2", printed, re.MULTILINE)
    assert re.search(r"^progress +50% half-way$", printed, re.MULTILINE)
    shown = json.loads(tenure(tmp_path, "jobs", "show", str(job), "--json", "--database", migrated).stdout)
    assert shown["progress"] == {"fraction": 0.5, "message": "half-way"}
    assert shown["workerId"] == "w-1"
    assert shown["leaseExpiresAt"] > shown["heartbeatAt"]


def test_what_a_job_says_cannot_forge_a_line_or_move_the_cursor(tmp_path: Path, migrated: str) -> None:
    async def failed(store: Store) -> UUID:
        job = await enqueue_one(store, params=Document('{"to":"a\x9b2Jb\u2028c"}'))
        [owned] = await claim(store, worker="w-1")
        error = Recoverable(Failure("ValueError", HARM, TRACE), after=timedelta(days=1))
        await settle(store, [report(owned, error)], worker="w-1")
        await store.cancel([job], actor="eve\x1b[2J", reason="so\nError: forged")
        return job

    job = on(migrated, failed)
    printed = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated).stdout
    assert "\\x1b[2Jlink\\nError: forged" in printed
    assert "ValueError: no \\x1b[31mlink" in printed
    assert "eve\\x1b[2J (so\\nError: forged)" in printed
    assert all(line.isprintable() for line in printed.split("\n"))
    as_json = tenure(tmp_path, "jobs", "show", str(job), "--json", "--database", migrated).stdout
    assert as_json.rstrip("\n").isprintable()
    assert json.loads(as_json)["params"] == {"to": "a\x9b2Jb\u2028c"}


def test_json_stays_json_where_nothing_but_ascii_can_be_written(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, a_life)
    ran = tenure(tmp_path, "jobs", "show", str(job), "--json", "--database", migrated, **PLAIN_ASCII)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()
    assert json.loads(ran.stdout)["params"] == {"to": "łódź"}
    people = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated, **PLAIN_ASCII)
    assert (people.returncode, people.stderr) == (0, "")


def test_on_a_terminal_json_is_indented(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    job = on(database, a_life)
    code, printed = on_a_terminal(tmp_path, "jobs", "show", str(job), "--json", "--database", database)
    assert code == 0
    assert printed.splitlines()[1] == f'  "jobId": "{job}",'
    assert json.loads(printed)["status"] == "succeeded"


def test_of_a_long_history_people_see_the_end(tmp_path: Path, migrated: str) -> None:
    async def talkative(store: Store) -> UUID:
        job = await enqueue_one(store)
        [owned] = await claim(store)
        await store.record("a", [trail(owned, *[note("tick")] * 200)])
        return job

    job = on(migrated, talkative)
    ran = tenure(tmp_path, "jobs", "show", str(job), "--database", migrated)
    assert ran.stdout.count("custom:tick") == 100
    assert ran.stderr == "the last 100 of 202 events; --json prints all\n"


async def _with_secrets(store: Store) -> UUID:
    job = await enqueue_one(store, params=Document('{"to":"ada","apiKey":"hunter2"}'))
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note("sent", '{"token":"hunter2"}'))])
    failed = Recoverable(
        Failure("ValueError", "password=hunter2", "secret: hunter2"), after=timedelta(days=1)
    )
    await settle(store, [report(owned, failed)])
    return job


def test_secrets_are_not_shown_unless_asked_for(tmp_path: Path, migrated: str) -> None:
    """S1.79: to people and to programs, as the setting says."""
    job = on(migrated, _with_secrets)
    for more in ([], ["--json"]):
        show = ("jobs", "show", str(job), "--database", migrated, *more)
        ran = tenure(tmp_path, *show)
        assert "[redacted]" in ran.stdout
        assert "hunter2" not in ran.stdout
        assert tenure(tmp_path, *show, TENURE_REDACT="").stdout.count("hunter2") >= 4
        assert "ada" not in tenure(tmp_path, *show, TENURE_REDACT="to").stdout
