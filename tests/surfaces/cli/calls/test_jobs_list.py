"""`tenure jobs list`: the filters, the pages, and how a list looks."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values import fingerprint
from tenure.storage.contract.store import Store
from tests.storage.verbs import BOOM, job_in, one_in_each_state
from tests.surfaces.command import fails, on_a_terminal, tenure
from tests.surfaces.store_behind import on


def _listed(folder: Path, database: str, *options: str) -> dict[str, Any]:
    ran = tenure(folder, "jobs", "list", "--json", "--database", database, *options)
    assert (ran.returncode, ran.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(ran.stdout)
    assert set(answer) == {"items", "nextCursor"}
    return answer


def _ids(answer: dict[str, Any]) -> list[str]:
    return [item["jobId"] for item in answer["items"]]


def _enqueue(database: str, *jobs: NewJob) -> list[str]:
    async def work(store: Store) -> list[str]:
        return [str(enqueued.id) for enqueued in await store.enqueue(jobs)]

    return on(database, work)


def test_states_narrow_the_list_and_any_of_them_will_do(tmp_path: Path, migrated: str) -> None:
    there: dict[State, UUID] = on(migrated, one_in_each_state)
    everything = _listed(tmp_path, migrated)
    assert {item["status"]: item["jobId"] for item in everything["items"]} == {
        state.value: str(job) for state, job in there.items()
    }
    two = _listed(tmp_path, migrated, "--state=failed", "--state=buried")
    assert set(_ids(two)) == {str(there[State.FAILED]), str(there[State.BURIED])}
    alike = _listed(tmp_path, migrated, f"--fingerprint={fingerprint.of('failed', BOOM)}")
    assert _ids(alike) == [str(there[State.FAILED])]


def test_every_filter_narrows(tmp_path: Path, migrated: str) -> None:
    plain = NewJob(definition="mail")
    others = {
        "--definition=resize": NewJob(definition="resize"),
        "--version=2": NewJob(definition="mail", version=2),
        "--queue=slow": NewJob(definition="mail", queue="slow"),
        "--tag=vip": NewJob(definition="mail", tags=("vip", "b")),
        "--namespace=acme": NewJob(definition="mail", namespace="acme"),
    }
    [_, *ids] = _enqueue(migrated, plain, *others.values())
    for option, job in zip(others, ids, strict=True):
        assert _ids(_listed(tmp_path, migrated, option)) == [job]
    assert len(_ids(_listed(tmp_path, migrated, "--created-after=2020-01-01T00:00:00Z"))) == 6
    assert _ids(_listed(tmp_path, migrated, "--created-before=2020-01-01T00:00:00Z")) == []


def test_pages_follow_each_other_in_both_directions(tmp_path: Path, migrated: str) -> None:
    ids = sorted(_enqueue(migrated, *[NewJob(definition="mail")] * 5))
    for options, order in ([], ids[::-1]), (["--oldest-first"], ids):
        seen: list[str] = []
        cursor: list[str] = []
        while True:
            page = _listed(tmp_path, migrated, "--limit=2", *options, *cursor)
            seen += _ids(page)
            if page["nextCursor"] is None:
                break
            cursor = ["--after", page["nextCursor"]]
        assert seen == order


def test_a_page_is_full_however_far_apart_its_jobs_stand(tmp_path: Path, migrated: str) -> None:
    """A store looks at a bounded number of rows for each page of its own."""

    async def two_old_ones(store: Store) -> list[str]:
        jobs = [await job_in(store, State.SUCCEEDED) for _ in range(2)]
        await store.enqueue([NewJob(definition="succeeded")] * 2500)
        return [str(job) for job in jobs]

    first, second = on(migrated, two_old_ones)
    options = ("--state=succeeded", "--definition=succeeded", "--limit=1")
    page = _listed(tmp_path, migrated, *options)
    assert _ids(page) == [second]
    assert _ids(_listed(tmp_path, migrated, *options, "--after", page["nextCursor"])) == [first]


def test_the_table_has_a_row_for_each_job_and_says_where_it_goes_on(tmp_path: Path, migrated: str) -> None:
    first, second, third = sorted(_enqueue(migrated, *[NewJob(definition="mail", version=3)] * 3))
    ran = tenure(tmp_path, "jobs", "list", "--limit=2", "--database", migrated)
    titles, *rows = ran.stdout.splitlines()
    assert titles.split() == ["id", "state", "attempt", "created", "definition", "queue"]
    assert [row.split()[0] for row in rows] == [third, second]
    assert all(row.split()[1:3] == ["queued", "0/3"] and row.endswith("mail@3      default") for row in rows)
    assert ran.stderr == f"there may be more: --after {second}\n"
    rest = tenure(tmp_path, "jobs", "list", "--after", second, "--database", migrated)
    assert first in rest.stdout
    assert rest.stderr == ""


def test_a_list_without_jobs_is_empty(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    ran = tenure(tmp_path, "jobs", "list", "--database", database)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert _listed(tmp_path, database) == {"items": [], "nextCursor": None}


def test_on_a_terminal_rows_have_colour_and_fit(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    on(database, one_in_each_state)
    options = ("jobs", "list", "--database", database)
    code, coloured = on_a_terminal(tmp_path, *options, columns=70)
    assert code == 0
    assert "\x1b[31mfailed\x1b[0m" in coloured
    code, plain = on_a_terminal(tmp_path, *options, columns=70, NO_COLOR="1")
    assert code == 0
    assert plain.split()[:4] == ["id", "state", "attempt", "age"]
    assert len(plain.splitlines()) == 1 + len(State)
    assert max(len(row) for row in plain.splitlines()) <= 70


@pytest.mark.parametrize(
    "option",
    [
        "--limit=0",
        "--limit=-1",
        "--limit=201",
        "--limit=abc",
        "--state=nope",
        "--after=1",
        "--created-after=tomorrow",
        "--sort=id",
    ],
)
def test_what_is_no_filter_is_wrong_usage(tmp_path: Path, option: str) -> None:
    ran = tenure(tmp_path, "jobs", "list", option)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Usage: tenure jobs list" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--queue=%", "--definition=", "--tag=a b", "--version=0"])
def test_what_no_job_can_have_ends_with_2(tmp_path: Path, option: str) -> None:
    assert fails(tenure(tmp_path, "jobs", "list", option), 2)
