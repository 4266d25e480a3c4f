"""`tenure jobs watch` and `tenure jobs logs`: what is seen of a job while it goes on."""

import json
import signal
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.lease import Claimed, Progress, Pulse
from tenure.core.model.outcome import Suspended
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.calls.jobs_watch import ProgressBar
from tests import canaries
from tests.storage.verbs import (
    SECRET,
    claim,
    enqueue_one,
    line,
    recoverable,
    report,
    seconds,
    settle,
    succeeded,
    trail,
    unrecoverable,
)
from tests.surfaces.command import fails, on_a_terminal, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import job_of, on


async def _claim_one(store: Store) -> Claimed:
    [owned] = await claim(store)
    return owned


async def _succeeded_job(store: Store) -> UUID:
    job = await enqueue_one(store)
    await settle(store, [succeeded(await _claim_one(store))])
    return job


def test_each_change_is_a_line_until_the_job_has_ended(migrated: str, start: Start) -> None:
    job = on(migrated, enqueue_one)
    running = start("jobs", "watch", str(job), "--database", migrated)
    assert running.stdout is not None
    assert running.stdout.readline().split(maxsplit=1)[1] == "queued\n"
    assert "Nobody runs mail@1" in running.stdout.readline()

    owned = on(migrated, _claim_one)
    assert running.stdout.readline().split(maxsplit=1)[1] == "running, attempt 1 of 3\n"

    halfway = Pulse(worker="a", leases=[owned.lease], progress={owned.lease: Progress(0.5, "half\x1b-way")})
    on(migrated, lambda store: store.heartbeat(halfway))
    assert running.stdout.readline().endswith("running, attempt 1 of 3  50% half\\x1b-way\n")

    on(migrated, lambda store: settle(store, [succeeded(owned)]))
    printed, said = running.communicate(timeout=60)
    assert printed.splitlines()[0].endswith("succeeded, attempt 1 of 3")
    assert printed.splitlines()[1:] == ['{"ok":true}']
    assert (said, running.returncode) == ("", 0)


def test_a_job_that_did_not_succeed_ends_with_1(tmp_path: Path, migrated: str) -> None:
    async def failed(store: Store) -> UUID:
        job = await enqueue_one(store)
        await settle(store, [unrecoverable(await _claim_one(store))])
        return job

    ran = tenure(tmp_path, "jobs", "watch", str(on(migrated, failed)), "--database", migrated)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.splitlines()[-1] == "ValueError: boom"


def test_with_json_the_job_at_each_change(migrated: str, start: Start) -> None:
    job = on(migrated, enqueue_one)
    running = start("jobs", "watch", str(job), "--json", "--database", migrated)
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["status"] == "queued"
    on(migrated, lambda store: store.cancel([job]))
    printed, said = running.communicate(timeout=60)
    assert json.loads(printed)["status"] == "cancelled"
    assert (said, running.returncode) == ("", 1)


def test_on_a_terminal_there_is_a_bar(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    job = on(database, _succeeded_job)
    code, printed = on_a_terminal(tmp_path, "jobs", "watch", str(job), "--database", database, NO_COLOR="1")
    assert code == 0
    assert f"[{'#' * 24}] succeeded, attempt 1 of 3\n" in printed


def test_a_reason_stands_above_the_bar_which_is_drawn_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    a_job = job_of(database, str(on(database, enqueue_one)))
    bar = ProgressBar()
    bar.explain("It is held.")
    assert capsys.readouterr().out == "\rIt is held.\n"
    bar.show(a_job)
    drawn = capsys.readouterr().out
    bar.explain("It is held.")
    assert capsys.readouterr().out == f"\rIt is held.\n{drawn}"


@pytest.mark.parametrize("command", [("watch",), ("logs", "-f")])
def test_an_interrupt_ends_it_without_a_word_and_the_job_goes_on(
    migrated: str, command: tuple[str, ...], start: Start
) -> None:
    job = on(migrated, enqueue_one)
    owned = on(migrated, _claim_one)
    on(migrated, lambda store: store.record("a", [trail(owned, line(1))]))
    running = start("jobs", *command, str(job), "--database", migrated)
    assert running.stdout is not None
    assert running.stdout.readline()
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130


async def _two_attempts(store: Store) -> UUID:
    """Three starts, the first two of them one attempt; each wrote something."""
    job = await enqueue_one(store)
    first = await _claim_one(store)
    said = line(2, "to \x1b[2Jada\nError: forged", "stderr")
    fields = line(1, "sending", "warning", Document('{"to":"łódź"}'))
    await store.record("a", [trail(first, fields, said)])
    await settle(store, [report(first, Suspended(seconds(0)))])
    await store.promote(10)
    again = await _claim_one(store)
    await store.record("a", [trail(again, line(1, "resumed"))])
    await settle(store, [recoverable(again, after=seconds(0))])
    await store.promote(10)
    second = await _claim_one(store)
    await store.record("a", [trail(second, line(1, "once more"))])
    await settle(store, [succeeded(second)])
    return job


def test_logs_come_in_order_each_with_its_attempt(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, _two_attempts)
    ran = tenure(tmp_path, "jobs", "logs", str(job), "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [written.split(maxsplit=2)[2] for written in ran.stdout.splitlines()] == [
        '#1 warning sending  {"to":"łódź"}',
        "#1 stderr  to \\x1b[2Jada\\nError: forged",
        "#1 info    resumed",
        "#2 info    once more",
    ]


def test_logs_of_one_attempt_include_all_its_starts(tmp_path: Path, migrated: str) -> None:
    job = str(on(migrated, _two_attempts))
    options = ("--json", "--database", migrated)
    ran = tenure(tmp_path, "jobs", "logs", job, "--attempt=1", *options)
    lines = [json.loads(text) for text in ran.stdout.splitlines()]
    assert [(item["attempt"], item["n"], item["text"]) for item in lines] == [
        (1, 1, "sending"),
        (1, 2, "to \x1b[2Jada\nError: forged"),
        (1, 1, "resumed"),
    ]
    assert (lines[0]["level"], lines[0]["fields"]) == ("warning", {"to": "łódź"})
    assert lines[0]["fence"] < lines[2]["fence"]
    followed = tenure(tmp_path, "jobs", "logs", "-f", job, "--attempt=2", *options)
    assert [json.loads(text)["text"] for text in followed.stdout.splitlines()] == ["once more"]
    assert fails(tenure(tmp_path, "jobs", "logs", job, "--attempt=3", *options), 2, "has had 2")


def test_following_brings_new_lines_until_the_job_has_ended(migrated: str, start: Start) -> None:
    job = on(migrated, enqueue_one)
    owned = on(migrated, _claim_one)
    on(migrated, lambda store: store.record("a", [trail(owned, line(1, "one"))]))
    running = start("jobs", "logs", "--follow", str(job), "--database", migrated)
    assert running.stdout is not None
    assert running.stdout.readline().endswith("#1 info    one\n")

    async def end(store: Store) -> None:
        await store.record("a", [trail(owned, line(2, "two"))])
        await settle(store, [succeeded(owned)])

    on(migrated, end)
    printed, said = running.communicate(timeout=60)
    assert printed.endswith("#1 info    two\n")
    assert (printed.count("\n"), said, running.returncode) == (1, "", 0)


def test_a_job_that_wrote_nothing_has_an_empty_log(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, enqueue_one)
    ran = tenure(tmp_path, "jobs", "logs", str(job), "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


async def _indiscreet(store: Store) -> UUID:
    """Failed for good; whatever it said holds a secret."""
    job = await enqueue_one(store, params=SECRET)
    owned = await _claim_one(store)
    text = f"sent with password={canaries.PARAM}"
    said = line(1, text, "info", SECRET)
    await store.heartbeat(
        Pulse(worker="a", leases=[owned.lease], progress={owned.lease: Progress(0.5, text)})
    )
    await store.record("a", [trail(owned, said)])
    await settle(store, [unrecoverable(owned, Failure("ValueError", text, text))])
    return job


@pytest.mark.parametrize("command", ["watch", "logs", "show"])
def test_secrets_are_left_out_as_the_server_leaves_them_out(
    tmp_path: Path, migrated: str, command: str
) -> None:
    """S1.79: as objects and as text; with no names to hide, everything is shown to whoever asks for that."""
    job = str(on(migrated, _indiscreet))
    for form in ((), ("--json",)):
        ran = tenure(tmp_path, "jobs", command, job, *form, "--database", migrated)
        assert "password=[redacted]" in ran.stdout
        assert canaries.STEM not in ran.stdout + ran.stderr
    ran = tenure(tmp_path, "jobs", command, job, "--database", migrated, TENURE_REDACT="")
    assert canaries.PARAM in ran.stdout
    assert canaries.take_seen()
