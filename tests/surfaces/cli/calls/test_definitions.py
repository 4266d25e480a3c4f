"""`tenure definitions`: what is registered, and what an operator sets without a deploy."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.core.model.limit import Limit
from tenure.core.model.override import Override
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.core.values.documents import Document
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.storage.contract.store import Store
from tests.surfaces.command import fails, tenure
from tests.surfaces.store_behind import MAIL, job_of, on, register

MAIL_2 = Spec(key="mail", version=2, queue="post", lane="warm", policy=Policy(max_attempts=5))
ONCE = Spec(key="once", policy=Policy(on_lost=OnLost.BURY))


@pytest.fixture
def known(migrated: str) -> str:
    """A database where definitions are registered."""
    register(migrated, MAIL, MAIL_2, ONCE)
    return migrated


def table(folder: Path, database: str) -> list[list[str]]:
    """The list as it is printed."""
    ran = tenure(folder, "definitions", "list", "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [line.split(maxsplit=6) for line in ran.stdout.splitlines()]


def on_record(database: str, key: str, version: int) -> Definition:
    """What the store knows of a definition."""
    [found] = [
        one
        for one in on(database, lambda store: store.definitions())
        if (one.key, one.version) == (key, version)
    ]
    return found


def put(database: str, spec: Spec, override: str) -> None:
    """Put an override on record as nobody's command would."""
    written = Definition(
        key=spec.key, version=spec.version, spec=spec.document(), override=Document(override)
    )
    on(database, lambda store: store.put_definitions([written]))


def test_every_version_is_listed_with_what_its_jobs_get(tmp_path: Path, known: str) -> None:
    titles, *rows = table(tmp_path, known)
    assert titles == ["definition", "lane", "queue", "priority", "attempts", "timeout", "set"]
    assert rows == [
        ["mail@1", "process", "default", "0", "3", "3600s", "-"],
        ["mail@2", "warm", "post", "0", "5", "3600s", "-"],
        ["once@1", "process", "default", "0", "1", "3600s", "-"],
    ]


def test_where_nothing_is_registered_nothing_is_printed(tmp_path: Path, migrated: str) -> None:
    register(migrated)
    ran = tenure(tmp_path, "definitions", "list", "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    ran = tenure(tmp_path, "definitions", "list", "--json", "--database", migrated)
    assert json.loads(ran.stdout) == {"items": []}


def test_what_is_set_holds_for_jobs_that_come_and_not_for_those_that_were_there(
    tmp_path: Path, known: str
) -> None:
    """Of the version that was named; part by part, and what the caller asks for goes before it."""
    before = tenure(tmp_path, "enqueue", "mail", "--version", "1", "--database", known).stdout.strip()
    set_mail = ("definitions", "set", "mail", "--version", "1", "--database", known)
    ran = tenure(tmp_path, *set_mail, "--priority", "7", "--timeout", "2m")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "mail@1 priority 7, timeout 120s\n", "")
    more = ("--max-attempts", "9", "--grace", "2.5", "--retry-base", "3", "--retry-cap", "30")
    assert tenure(tmp_path, *set_mail, *more).returncode == 0

    enqueue = ("enqueue", "mail", "--version", "1", "--database", known)
    after = job_of(known, tenure(tmp_path, *enqueue).stdout.strip())
    asked = job_of(known, tenure(tmp_path, *enqueue, "--priority", "1").stdout.strip())
    other = job_of(known, tenure(tmp_path, "enqueue", "mail", "--database", known).stdout.strip())
    assert (after.priority, after.policy.max_attempts) == (7, 9)
    assert (after.policy.timeout, after.policy.grace) == (timedelta(minutes=2), timedelta(seconds=2.5))
    assert (after.policy.retry.base, after.policy.retry.cap) == (timedelta(seconds=3), timedelta(seconds=30))
    assert job_of(known, before).policy == MAIL.policy
    assert (asked.priority, asked.policy.max_attempts) == (1, 9)
    assert (other.version, other.priority, other.policy) == (2, 0, MAIL_2.policy)
    assert table(tmp_path, known)[1] == [
        *("mail@1", "process", "default", "7", "9", "120s"),
        "priority, max-attempts, timeout, grace, retry-base, retry-cap",
    ]


def test_what_was_set_is_taken_back_in_part_or_as_a_whole(tmp_path: Path, known: str) -> None:
    tenure(tmp_path, "definitions", "set", "once", "--priority", "7", "--grace", "5", "--database", known)
    ran = tenure(tmp_path, "definitions", "reset", "once", "grace", "--database", known)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "once@1 priority 7\n", "")
    for _ in range(2):
        ran = tenure(tmp_path, "definitions", "reset", "once", "--database", known)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "once@1 as in the code\n", "")
    job = job_of(known, tenure(tmp_path, "enqueue", "once", "--database", known).stdout.strip())
    assert (job.priority, job.policy) == (0, ONCE.policy)


def test_the_newest_version_is_meant_unless_another_is_named(tmp_path: Path, known: str) -> None:
    ran = tenure(tmp_path, "definitions", "set", "mail", "--priority", "7", "--database", known)
    assert ran.stdout == "mail@2 priority 7\n"
    assert on_record(known, "mail", 1).override is None


def test_show_tells_what_the_code_says_and_what_is_set_instead(tmp_path: Path, migrated: str) -> None:
    spec = Spec(
        key="mail",
        concurrency=2,
        concurrency_key="to",
        limits=(Limit("smtp", size=5),),
        memory=1 << 20,
        hooks=("on_end",),
        lane="warm",
    )
    register(migrated, spec)
    tenure(tmp_path, "definitions", "set", "mail", "--timeout", "90", "--database", migrated)
    ran = tenure(tmp_path, "definitions", "show", "mail", "--database", migrated)
    facts = dict(line.split(maxsplit=1) for line in ran.stdout.splitlines() if "on lost" not in line)
    assert facts["definition"] == "mail@1"
    assert facts["lane"] == "warm"
    assert facts["timeout"] == "90s, not 3600s as in the code"
    assert facts["grace"] == "10s"
    assert facts["concurrency"] == "2, for each to"
    assert (facts["limits"], facts["memory"], facts["hooks"]) == ("smtp 5", "1048576 bytes", "on_end")


def test_as_json_the_codes_word_and_the_operators_stand_apart(tmp_path: Path, known: str) -> None:
    arguments = ("mail", "--version", "1", "--json", "--database", known)
    set_mail = ("definitions", "set", "mail", "--version", "1", "--priority", "7", "--retry-cap", "30")
    shown = json.loads(tenure(tmp_path, *set_mail, "--json", "--database", known).stdout)
    assert shown == json.loads(tenure(tmp_path, "definitions", "show", *arguments).stdout)
    assert (shown["definitionKey"], shown["version"], shown["lane"]) == ("mail", 1, "process")
    assert (shown["priority"], shown["retry"]["capSeconds"]) == (0, 300)
    assert shown["override"] == {"priority": 7, "retry": {"capSeconds": 30}}
    assert shown["paramsSchema"] == json.loads(MAIL.params_schema)
    tenure(tmp_path, "definitions", "reset", "mail", "retry-cap", "--version", "1", "--database", known)
    listed = json.loads(tenure(tmp_path, "definitions", "list", "--json", "--database", known).stdout)
    assert [item["version"] for item in listed["items"]] == [1, 2, 1]
    assert [item["override"] for item in listed["items"]] == [{"priority": 7}, {}, {}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "maik"), "did you mean mail?"),
        (("set", "mail", "--version", "3", "--priority", "1"), "known versions: 1, 2"),
        (("reset", "nothing"), "start a worker for it"),
        (("set", "mail", "--priority", "32768"), "from -32767 to 32767"),
        (("set", "mail", "--max-attempts", "0"), "from 1 to 100"),
        (("set", "mail", "--timeout", "0"), "timeout: is 0 s"),
        (("set", "mail", "--grace", "2d"), "grace: is 2 days"),
        (("set", "mail", "--retry-base", "10m"), "retry.cap"),
        (("set", "mail", "--timeout", "1.2345"), "whole milliseconds"),
        (("set", "once", "--max-attempts", "2"), "a job is tried once"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    tmp_path: Path, known: str, arguments: tuple[str, ...], words: str
) -> None:
    assert fails(tenure(tmp_path, "definitions", *arguments, "--database", known), 2, words)
    assert [one.override for one in on(known, lambda store: store.definitions())] == [None] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "mail"), "give at least one of --priority"),
        (("set", "mail", "--timeout", "soon"), "90s"),
        (("reset", "mail", "queue"), "is not one of"),
    ],
)
def test_wrong_usage_says_what_is_right(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = tenure(tmp_path, "definitions", *arguments, "--database", f"sqlite:///{tmp_path / 'no.db'}")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert words in ran.stderr


def test_what_only_a_later_version_knows_is_kept_until_all_is_taken_back(tmp_path: Path, known: str) -> None:
    put(known, ONCE, '{"priority": 7, "colour": "red"}')
    tenure(tmp_path, "definitions", "set", "once", "--grace", "5", "--database", known)
    stored = json.loads(on_record(known, "once", 1).override or "")
    assert stored == {"priority": 7, "grace_seconds": 5, "colour": "red"}
    tenure(tmp_path, "definitions", "reset", "once", "--database", known)
    assert on_record(known, "once", 1).override == "{}"


@pytest.mark.parametrize("override", ['{"priority": "high"}', '{"priority": 40000}'])
def test_what_cannot_be_read_hides_nobody_else_and_can_be_taken_back(
    tmp_path: Path, known: str, override: str
) -> None:
    put(known, MAIL_2, override)
    ran = tenure(tmp_path, "definitions", "list", "--database", known)
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["definition", "mail@1", "once@1"]
    assert ran.stderr.startswith("mail@2 is left out: ")
    assert fails(tenure(tmp_path, "definitions", "show", "mail", "--database", known), 2, "priority")
    assert tenure(tmp_path, "definitions", "reset", "mail", "--database", known).returncode == 0
    assert table(tmp_path, known)[2][0] == "mail@2"


def test_a_definition_that_is_registered_meanwhile_is_not_undone(known: str) -> None:
    """Nor what is set for it."""
    newer = Spec(key="once", queue="other")

    async def race(store: Store) -> Any:
        client = JobClient(store, Registry())
        [seen] = [one for one in await client.definitions() if one.key == "once"]
        await store.put_definitions([Definition(key="once", version=1, spec=newer.document())])
        await client.override(seen, Override(priority=7))

    on(known, race)
    found = on_record(known, "once", 1)
    assert (Spec.read(found.spec), found.override) == (newer, '{"priority":7}')
