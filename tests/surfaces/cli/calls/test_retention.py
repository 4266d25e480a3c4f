"""`tenure retention`: how long jobs are kept, set and tried, and one walk by hand."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.core.model.spec import Spec
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, line, settle, succeeded, trail
from tests.surfaces.cli.test_changes import audit_of
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.store_behind import MAIL, on, register

DAY = timedelta(days=1)


async def _ended(store: Store) -> None:
    """Two jobs that succeeded, with a log line each, and one that was cancelled."""
    for _ in range(2):
        await enqueue_one(store)
    owned = await claim(store, limit=2)
    await store.record("a", [trail(one, line(1)) for one in owned])
    await settle(store, [succeeded(one) for one in owned])
    await store.cancel([await enqueue_one(store)])


def _shown(tmp_path: Path, database: str, *arguments: str) -> list[list[str]]:
    ran = tenure(tmp_path, "retention", *arguments, "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [text.split() for text in ran.stdout.splitlines()]


def test_it_is_shown_set_and_set_back(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL, Spec(key="bill"))
    titles, everyone = _shown(tmp_path, migrated, "show")
    assert titles[:5] == ["definition", "succeeded", "others", "keyed", "logs"]
    assert everyone[:8] == ["all", "definitions", "7d", "30d", "7d", "as", "the", "job"]
    *_, mail = _shown(
        *(tmp_path, migrated, "set", "--definition", "mail"), *("--succeeded", "90s", "--logs", "0")
    )
    assert mail[:5] == ["mail", "90s", "(30d)", "(7d)", "0s"]
    _shown(tmp_path, migrated, "set", "--others", "36h", "--keyed", "1.5s")
    assert [one[:5] for one in _shown(tmp_path, migrated, "show")[1:]] == [
        ["all", "definitions", "7d", "36h", "1.5s"],
        ["mail", "90s", "(36h)", "(1.5s)", "0s"],
    ]
    _shown(tmp_path, migrated, "reset", "--definition", "mail", "logs")
    assert on(migrated, lambda store: store.retention()).of("mail").logs is None
    _shown(tmp_path, migrated, "reset", "--definition", "mail")
    _shown(tmp_path, migrated, "reset")
    policy = on(migrated, lambda store: store.retention())
    assert (policy.for_all, policy.rules) == (Retention(), ())
    assert [(action, target) for action, target, outcome in audit_of(migrated) if outcome == "done"] == [
        ("retention set", "mail succeeded=90s logs=0s"),
        ("retention set", "all definitions others=36h keyed=1.5s"),
        ("retention reset", "mail logs"),
        ("retention reset", "mail"),
        ("retention reset", "all definitions"),
    ]


def test_a_walk_by_hand_removes_what_a_dry_run_has_counted(tmp_path: Path, migrated: str) -> None:
    """S0.72: with counts by definition and state before anything is deleted."""
    register(migrated, MAIL)
    on(migrated, _ended)
    tried = tenure(
        *(tmp_path, "retention", "set", "--succeeded", "0", "--logs", "0", "--dry-run"),
        *("--json", "--database", migrated),
    )
    assert json.loads(tried.stdout) == {
        "jobs": 2,
        "logLines": 2,
        "dryRun": True,
        "complete": True,
        "counts": [{"definitionKey": "mail", "status": "succeeded", "jobs": 2}],
    }
    assert audit_of(migrated) == []
    assert _shown(tmp_path, migrated, "run") == [["0", "jobs", "and", "0", "log", "lines", "removed"]]
    _shown(tmp_path, migrated, "set", "--succeeded", "0", "--others", "0")
    dry = _shown(tmp_path, migrated, "run", "--dry-run")
    gone = _shown(tmp_path, migrated, "run", "--definition", "mail")
    assert dry[1:3] == gone[1:3] == [["mail", "cancelled", "1"], ["mail", "succeeded", "2"]]
    assert (dry[-1][-2:], gone[-1][-1]) == (["would", "go"], "removed")
    listed = tenure(tmp_path, "jobs", "list", "--json", "--database", migrated)
    assert json.loads(listed.stdout)["items"] == []
    assert audit_of(migrated)[-1] == ("retention run", "mail", "done")


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (("set",), ("--succeeded, --others, --keyed, --logs",)),
        (("set", "--succeeded", "-1d"), ("--succeeded", "90s, 15m, 2h or 7d")),
        (("set", "--others", "4000d"), ("--others", "3653d")),
        (("set", "--keyed", "week"), ("--keyed", "90s, 15m, 2h or 7d")),
        (("set", "--logs", "0.0001s"), ("logs", "whole milliseconds")),
        (("set", "--definition", "mial", "--logs", "1d"), ("mial", "did you mean mail?")),
        (("show", "--definition", "mial"), ("mial", "did you mean mail?")),
        (("run", "--definition", "mial", "--dry-run"), ("mial", "did you mean mail?")),
        (("run", "--definition", "mial"), ("mial", "did you mean mail?")),
        (("reset", "results"), ("results", "succeeded")),
    ],
)
def test_what_is_wrong_is_told_with_a_way_out(
    tmp_path: Path, migrated: str, arguments: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    register(migrated, MAIL)
    ran = tenure(tmp_path, "retention", *arguments, "--database", migrated)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert [text for text in texts if text not in ran.stderr] == []
    assert on(migrated, lambda store: store.retention()).for_all == Retention()


def test_a_table_that_lost_its_row_says_how_to_mend_it(tmp_path: Path, migrated: str) -> None:
    sql(migrated, "DELETE FROM tenure.retention")
    ran = tenure(tmp_path, "retention", "run", "--database", migrated)
    assert fails(ran, 3, "tenure retention set --succeeded 7d --others 30d --keyed 7d")
    mended = ("retention", "set", "--succeeded", "7d", "--others", "30d", "--keyed", "7d")
    assert tenure(tmp_path, *mended, "--database", migrated).returncode == 0
    assert tenure(tmp_path, "retention", "run", "--database", migrated).returncode == 0
