"""`tenure enqueue`: what is recorded, what is printed, and what is refused before anything is written."""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import structs

from tenure.core.model.states import State
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests import canaries
from tests.storage.verbs import SECRET, claim, settle, succeeded, unrecoverable
from tests.surfaces.command import COMMAND, environment, fails, on_a_terminal, sql, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import MAIL, job_of, on, register


@pytest.fixture
def mail(migrated: str) -> str:
    """A database of each kind on which a worker has registered how to send mail, in two versions."""
    register(migrated, MAIL, structs.replace(MAIL, version=2, priority=7))
    return migrated


def _enqueue(folder: Path, database: str, *options: str) -> subprocess.CompletedProcess[str]:
    return tenure(folder, "enqueue", "mail", "--database", database, *options)


def _count(database: str) -> int:
    [(jobs,)] = sql(database, "SELECT count(*) FROM tenure.job")
    return int(jobs)


def test_its_id_is_printed_and_it_is_as_its_newest_definition_says(tmp_path: Path, mail: str) -> None:
    ran = _enqueue(tmp_path, mail, "--params", '{"to": "ada"}')
    assert (ran.returncode, ran.stderr) == (0, "")
    job = job_of(mail, ran.stdout.strip())
    assert (job.definition, job.version, job.priority, job.queue) == ("mail", 2, 7, "default")
    assert (job.params, job.tags, job.state) == ('{"to":"ada"}', ("post",), State.QUEUED)


def test_every_option_is_heard(tmp_path: Path, mail: str) -> None:
    options = ["--version=1", "--queue=slow", "--priority=-3", "--run-at=2999-01-31T08:30:00+02:00"]
    options += ["--idempotency-key=order 17", "--max-attempts=9", "--tag=a", "--tag=b"]
    job = job_of(mail, _enqueue(tmp_path, mail, *options).stdout.strip())
    assert (job.version, job.queue, job.priority, job.key) == (1, "slow", -3, "order 17")
    assert (job.policy.max_attempts, job.tags) == (9, ("post", "a", "b"))
    assert (job.run_at, job.state) == (datetime(2999, 1, 31, 6, 30, tzinfo=UTC), State.SCHEDULED)


@pytest.mark.parametrize("given", [[json.dumps({"to": SECRET})], ["{to:", SECRET + "}"], ["@params.json"]])
def test_params_without_their_option_are_refused_with_its_name(
    tmp_path: Path, mail: str, given: list[str]
) -> None:
    """They may be private: none of them is repeated."""
    ran = _enqueue(tmp_path, mail, *given)
    assert fails(ran, 2, "KEY: is followed by something that is not an option", "as --params JSON")
    assert SECRET not in ran.stderr
    assert _count(mail) == 0


def test_keys_to_count_for_may_be_given_often(tmp_path: Path, mail: str) -> None:
    register(mail, structs.replace(MAIL, version=3, concurrency=2, concurrency_key="to"))
    ran = _enqueue(tmp_path, mail, "--concurrency-key=ada", "--concurrency-key=bob")
    assert job_of(mail, ran.stdout.strip()).concurrency_keys == ("ada", "bob")
    refused = _enqueue(tmp_path, mail, "--version=1", "--concurrency-key=ada")
    assert fails(refused, 2, "give mail a concurrency")


@pytest.mark.parametrize(("written", "seconds"), [("90", 90), ("1.5m", 90), ("2h", 7200), ("7d", 604_800)])
def test_a_delay_has_a_unit_or_is_in_seconds(tmp_path: Path, written: str, seconds: int) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    register(database, MAIL)
    job = job_of(database, _enqueue(tmp_path, database, "--delay", written).stdout.strip())
    assert job.due_at is not None
    assert job.due_at - job.created_at == timedelta(seconds=seconds)


def test_a_held_job_waits_to_be_accepted(tmp_path: Path, mail: str) -> None:
    ran = _enqueue(tmp_path, mail, "--hold", "--json")
    answer = json.loads(ran.stdout)
    assert answer == {"jobId": answer["jobId"], "status": "created"}
    accepted = tenure(tmp_path, "jobs", "accept", answer["jobId"], "--database", mail)
    assert accepted.stdout == f"{answer['jobId']} queued\n"


def test_params_come_from_a_file_or_from_standard_input(tmp_path: Path, mail: str) -> None:
    (tmp_path / "params.json").write_text('{"to": "łódź"}')
    from_file = _enqueue(tmp_path, mail, "--params", "@params.json")
    assert job_of(mail, from_file.stdout.strip()).params == '{"to":"łódź"}'
    piped = subprocess.run(
        [*COMMAND, "enqueue", "mail", "--database", mail, "--params", "-"],
        cwd=tmp_path,
        env=environment(),
        input=b'{"to": "bob"}',
        capture_output=True,
        check=True,
    )
    assert job_of(mail, piped.stdout.decode().strip()).params == '{"to":"bob"}'


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("{", "params: "),
        ("", "params: "),
        ('{"to": NaN}', "NaN"),
        ('{"to": "a", "to": "b"}', "params/to"),
        ("[" * 100_000, "deep"),
        ("[]", "params: "),
        ('{"to": 1}', "params/to"),
        ('{"cc": "a"}', "params/cc: is not known"),
        ("@missing.json", "'missing.json': No such file"),
        ("@.", "Is a directory"),
    ],
)
def test_params_that_cannot_be_taken_end_with_2(tmp_path: Path, params: str, said: str) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    register(database, MAIL)
    assert fails(_enqueue(tmp_path, database, "--params", params), 2, said)
    assert _count(database) == 0


def test_standard_input_that_is_a_terminal_ends_with_2(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    register(database, MAIL)
    code, printed = on_a_terminal(tmp_path, "enqueue", "mail", "--params=-", "--database", database)
    assert (code, printed, _count(database)) == (2, "", 0)


def test_a_definition_that_nobody_registered_ends_with_2_and_a_way_out(tmp_path: Path, mail: str) -> None:
    near = tenure(tmp_path, "enqueue", "mial", "--database", mail)
    assert fails(near, 2, "mial is not known; did you mean mail?")
    far = tenure(tmp_path, "enqueue", "resize", "--database", mail)
    assert fails(far, 2, "resize is not known; start a worker for it")
    assert fails(_enqueue(tmp_path, mail, "--version=3"), 2, "mail@3 is not known; known versions: 1, 2")
    assert fails(tenure(tmp_path, "enqueue", "system.prune", "--database", mail), 2, "reserved")
    assert fails(tenure(tmp_path, "enqueue", "../x", "--database", mail), 2, "is not a name")
    assert _count(mail) == 0


def test_the_same_key_again_is_the_same_job(tmp_path: Path, mail: str) -> None:
    first = _enqueue(tmp_path, mail, "--idempotency-key=17", '--params={"to":"ada"}')
    again = _enqueue(tmp_path, mail, "--idempotency-key=17", '--params={ "to" : "ada" }')
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert again.stderr == "the idempotency key was used before, for this job; it is queued\n"
    other = _enqueue(tmp_path, mail, "--idempotency-key=17", '--params={"to":"bob"}')
    assert fails(other, 2, "was used before", first.stdout.strip())
    assert _count(mail) == 1


@pytest.mark.parametrize(
    "option",
    [
        "--priority=32768",
        "--priority=5.5",
        "--max-attempts=0",
        "--version=0",
        "--queue=../x",
        "--tag=",
        "--idempotency-key=",
        "--delay=-1",
        "--delay=soon",
        "--delay=1e3",
        "--delay=9999999d",
        "--run-at=2030-01-31T08:30:00",
        "--run-at=2030-02-30T08:30:00Z",
        "--run-at=2030-01-31T08:30:60Z",
        "--run-at=2030-W05-4T08:30:00Z",
        "--run-at=1900000000",
        "--run-at=tomorrow",
        "--no-such-option",
    ],
)
def test_an_option_that_cannot_be_taken_ends_with_2(tmp_path: Path, option: str) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    register(database, MAIL)
    ran = _enqueue(tmp_path, database, option)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Error: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert _count(database) == 0


def test_two_times_are_one_too_many(tmp_path: Path, mail: str) -> None:
    assert fails(_enqueue(tmp_path, mail, "--delay=1", "--run-at=2030-01-31T08:30:00Z"), 2, "run_at")


def test_waiting_ends_with_the_result(mail: str, start: Start) -> None:
    running = start("enqueue", "mail", "--version=1", "--wait", "--database", mail)
    assert running.stdout is not None
    assert _is_id(running.stdout.readline())

    async def succeed(store: Store) -> None:
        [owned] = await claim(store)
        await settle(store, [succeeded(owned, '{"sent":true}')])

    on(mail, succeed)
    printed, said = running.communicate(timeout=60)
    assert (printed, running.returncode) == ('{"sent":true}\n', 0)
    assert said in {"", "Nobody runs mail@1. Start a worker whose app has it: `tenure worker APP`.\n"}


def test_waiting_for_a_job_that_fails_ends_with_1(mail: str, start: Start) -> None:
    running = start("enqueue", "mail", "--version=1", "--wait", "--json", "--database", mail)
    assert running.stdout is not None
    accepted = json.loads(running.stdout.readline())

    async def fail(store: Store) -> None:
        [owned] = await claim(store)
        await settle(store, [unrecoverable(owned)])

    on(mail, fail)
    printed, said = running.communicate(timeout=60)
    ended = json.loads(printed)
    assert (ended["jobId"], ended["status"]) == (accepted["jobId"], "failed")
    assert ended["errorSummary"] == "ValueError: boom"
    assert said.endswith(f"Error: job {accepted['jobId']} (mail) failed: ValueError: boom\n")
    assert running.returncode == 1


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_waiting_shows_no_secret(mail: str, start: Start, form: tuple[str, ...]) -> None:
    """S1.79: neither in a result nor in an error."""

    async def fail(store: Store) -> None:
        [owned] = await claim(store)
        await settle(store, [unrecoverable(owned, Failure("ValueError", f"token={canaries.PARAM}"))])

    async def succeed(store: Store) -> None:
        [owned] = await claim(store)
        await settle(store, [succeeded(owned, SECRET)])

    for end in (fail, succeed):
        running = start("enqueue", "mail", "--version=1", "--wait", *form, "--database", mail)
        assert running.stdout is not None
        running.stdout.readline()
        on(mail, end)
        assert "[redacted]" in "".join(running.communicate(timeout=60))


def _is_id(text: str) -> bool:
    return str(UUID(text.strip())) + "\n" == text
