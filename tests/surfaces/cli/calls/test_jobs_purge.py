"""`tenure jobs purge`: dead letters go after a count and a question."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, one_in_each_state, settle, unrecoverable
from tests.surfaces.cli.test_changes import audit_of
from tests.surfaces.command import answering, fails, tenure
from tests.surfaces.store_behind import on

LATER = "2090-01-31T08:30:00Z"


async def _dead(store: Store) -> list[UUID]:
    """Two dead letters, one of which has a key."""
    jobs = [await enqueue_one(store), await enqueue_one(store, key="mine")]
    await settle(store, [unrecoverable(owned) for owned in await claim(store, limit=2)])
    return jobs


def _left(database: str, jobs: list[UUID]) -> list[bool]:
    async def look(store: Store) -> list[bool]:
        return [await store.get(job) is not None for job in jobs]

    return on(database, look)


def test_they_are_counted_then_deleted_on_record(tmp_path: Path, migrated: str) -> None:
    jobs = on(migrated, _dead)
    command = ("jobs", "purge", "--dead", "--before", LATER, "--database", migrated)
    dry = tenure(tmp_path, *command, "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "1 dead letter would be deleted\n")
    assert "idempotency keys: 1 dead letter" in dry.stderr
    assert "--keyed" in dry.stderr
    assert (_left(migrated, jobs), audit_of(migrated)) == ([True, True], [])
    ran = tenure(tmp_path, *command, "--yes")
    assert (ran.returncode, ran.stdout) == (0, "1 dead letter deleted\n")
    assert _left(migrated, jobs) == [False, True]
    keyed = tenure(tmp_path, *command, "--yes", "--keyed", "--json")
    assert json.loads(keyed.stdout)["changed"] == 1
    assert _left(migrated, jobs) == [False, False]
    assert tenure(tmp_path, *command, "--yes").stdout == "0 dead letters deleted\n"
    assert audit_of(migrated) == [
        ("jobs purge", "before=2090-01-31T08:30:00+00:00", "done"),
        ("jobs purge", "before=2090-01-31T08:30:00+00:00 keyed=True", "done"),
    ]


def test_only_dead_letters_go_and_only_old_ones(tmp_path: Path, migrated: str) -> None:
    there = on(migrated, one_in_each_state)
    command = ("jobs", "purge", "--dead", "--yes", "--database", migrated)
    for narrowed in (
        ("--before", "2000-01-01T00:00:00Z"),
        ("--before", LATER, "--definition", "nobody"),
        ("--before", LATER, "--queue", "nowhere"),
        ("--before", LATER, "--tag", "none"),
    ):
        assert tenure(tmp_path, *command, *narrowed).stdout == "0 dead letters deleted\n"
    tenure(tmp_path, *command, "--before", LATER)
    kept = dict(zip(there, _left(migrated, list(there.values())), strict=True))
    assert {state for state, is_left in kept.items() if not is_left} == {State.FAILED, State.BURIED}


def test_without_a_terminal_nobody_is_asked_and_nothing_goes(tmp_path: Path, migrated: str) -> None:
    jobs = on(migrated, _dead)
    ran = tenure(tmp_path, "jobs", "purge", "--dead", "--keyed", "--before", LATER, "--database", migrated)
    assert fails(ran, 2, "2 dead letters", "--yes")
    assert _left(migrated, jobs) == [True, True]


@pytest.mark.parametrize(("answer", "is_left"), [("n", True), ("", True), ("y", False)])
def test_on_a_terminal_it_asks(tmp_path: Path, migrated: str, answer: str, is_left: bool) -> None:
    jobs = on(migrated, _dead)
    command = ("jobs", "purge", "--dead", "--keyed", "--before", LATER, "--database", migrated)
    code, said = answering(tmp_path, f"{answer}\n", *command)
    assert "Delete 2 dead letters that ended before 2090-01-31 08:30:00.000Z, for good? [y/N]" in said
    assert (code, _left(migrated, jobs)) == (1 if is_left else 0, [is_left] * 2)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--before", LATER, "--yes"), "--dead"),
        (("--dead", "--yes"), "--before"),
        (("--dead", "--yes", "--before", "soon"), "2030-01-31T08:30:00Z"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, migrated: str, arguments: tuple[str, ...], text: str
) -> None:
    jobs = on(migrated, _dead)
    ran = tenure(tmp_path, "jobs", "purge", *arguments, "--database", migrated)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert text in ran.stderr
    assert _left(migrated, jobs) == [True, True]
