"""`tenure webhooks`: made, shown, changed, rotated, paused, tried and deleted; secrets are printed once."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.signature import derived_secret
from tests.storage.webhook_verbs import try_due
from tests.surfaces.cli.test_changes import audit_of
from tests.surfaces.command import fails, on_a_terminal, sql, tenure
from tests.surfaces.store_behind import NOBODY, on

URL = "https://hooks.example/in"
KEY = "a key of at least thirty-two characters"


def told(folder: Path, database: str, *arguments: str, **changed: str) -> Any:
    """What a command prints as JSON."""
    ran = tenure(folder, "webhooks", *arguments, "--json", "--database", database, **changed)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)


def test_a_webhook_is_created_shown_changed_and_deleted(tmp_path: Path, migrated: str) -> None:
    """S1.73: the id and the secret alone stand on standard output, and the secret is told once."""
    ran = tenure(
        tmp_path, "webhooks", "create", URL, "--event", "onEnd", "--tries", "3", "--database", migrated
    )
    assert ran.returncode == 0, ran
    webhook, secret = ran.stdout.split()
    assert secret.startswith("whsec_")
    assert ran.stderr.startswith("note: the secret is stored in clear")
    shown = told(tmp_path, migrated, "show", webhook)
    assert (shown["url"], shown["events"], shown["tries"], shown["state"]) == (
        URL,
        ["onEnd"],
        3,
        "delivering",
    )
    edited = told(
        *(tmp_path, migrated, "edit", webhook, "--event", "failed", "--event", "custom:paid"),
        *("--definition", "mail", "--with-params", "--timeout", "2.5s"),
    )
    assert (edited["events"], edited["definitions"]) == (["failed", "custom:paid"], ["mail"])
    assert (edited["withParams"], edited["tries"], edited["timeoutSeconds"]) == (True, 3, 2.5)
    wide = told(tmp_path, migrated, "edit", webhook, "--of-all", "--without-params")
    assert (wide["definitions"], wide["withParams"]) == ([], False)
    text = tenure(tmp_path, "webhooks", "show", webhook, "--database", migrated)
    assert "failed, custom:paid" in text.stdout
    facts = [" ".join(line.split()) for line in text.stdout.splitlines()]
    assert {"delivered 0 in the last 24 h", "given up 0 that are still on record"} <= set(facts)
    listed = tenure(tmp_path, "webhooks", "list", "--database", migrated)
    assert listed.stdout.splitlines()[1].split()[:2] == [webhook, URL]
    gone = tenure(tmp_path, "webhooks", "delete", webhook, "--database", migrated)
    assert (gone.returncode, gone.stdout) == (0, f"webhook {webhook} is deleted\n")
    assert told(tmp_path, migrated, "list") == {"items": []}
    assert audit_of(migrated) == [
        ("webhooks create", "hooks.example", "done"),
        ("webhooks edit", webhook, "done"),
        ("webhooks edit", webhook, "done"),
        ("webhooks delete", webhook, "done"),
    ]
    for printed in (shown, edited, wide, text.stdout, listed.stdout):
        assert secret not in str(printed)


def test_a_secret_is_made_anew_and_with_a_key_it_is_derived(tmp_path: Path, migrated: str) -> None:
    """S1.79: with the setting nothing is stored, and nothing is said about it."""
    first = told(tmp_path, migrated, "create", URL, "--event", "failed")
    webhook = first["id"]
    assert "TENURE_WEBHOOK_KEY" in first["note"]
    ran = tenure(tmp_path, "webhooks", "rotate", webhook, "--database", migrated, TENURE_WEBHOOK_KEY=KEY)
    assert (ran.returncode, ran.stderr) == (0, "")
    newest, old = on(migrated, lambda store: store.webhook_secrets(UUID(webhook)))
    assert ran.stdout == f"{webhook} {derived_secret(KEY, UUID(webhook), newest.rotation)}\n"
    assert (newest.text, old.text) == (None, first["secret"])
    code, text = on_a_terminal(
        tmp_path, "webhooks", "create", URL, "--event", "failed", "--database", migrated
    )
    assert (code, "whsec_" in text) == (0, True)


def test_deliveries_are_listed_and_sent_again(tmp_path: Path, migrated: str) -> None:
    """S1.73: with what the last try brought."""
    webhook = told(tmp_path, migrated, "create", URL, "--event", "failed")["id"]
    message = tenure(tmp_path, "webhooks", "test", webhook, "--database", migrated).stdout.strip()

    on(migrated, lambda store: try_due(store, DeliveryState.DEAD, status=410))
    listed = tenure(tmp_path, "webhooks", "deliveries", webhook, "--state", "dead", "--database", migrated)
    titles, row = listed.stdout.splitlines()
    assert titles.split()[:5] == ["message", "event", "state", "tries", "answer"]
    assert row.split()[:5] == [message, "test", "dead", "1", "410"]
    assert message in tenure(tmp_path, "webhooks", "show", webhook, "--database", migrated).stdout
    again = told(tmp_path, migrated, "redeliver", webhook, message)
    assert (again["message"], again["state"], again["tries"]) == (message, "waiting", 0)
    assert told(tmp_path, migrated, "deliveries", webhook, "--state", "dead") == {"items": []}
    assert told(tmp_path, migrated, "redeliver", webhook, "--since", "2020-01-01T00:00:00Z")["id"] == webhook
    paused = tenure(tmp_path, "webhooks", "pause", webhook, "--reason", "moving", "--database", migrated)
    assert paused.stdout == f"webhook {webhook} is paused\n"
    assert "paused by " in tenure(tmp_path, "webhooks", "show", webhook, "--database", migrated).stdout
    tested = tenure(tmp_path, "webhooks", "test", webhook, "--database", migrated)
    assert (tested.returncode, "note: the webhook is paused" in tested.stderr) == (0, True)
    waits = tenure(tmp_path, "webhooks", "deliveries", webhook, "--database", migrated)
    assert [row.split()[-2:] for row in waits.stdout.splitlines()[1:]] == [["-", "-"]] * 2
    assert told(tmp_path, migrated, "resume", webhook, "--catch-up")["state"] == "delivering"
    assert [action for action, _, _ in audit_of(migrated)] == [
        f"webhooks {verb}" for verb in ("create", "test", "redeliver", "redeliver", "pause", "test", "resume")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "ftp://hooks.example", "--event", "failed"), "https"),
        (("create", "https://10.0.0.1/", "--event", "failed"), "TENURE_WEBHOOK_ALLOW"),
        (("create", URL, "--event", "onend"), "did you mean onEnd?"),
        (("create", URL, "--event", "failed", "--tag", "x" * 10_000), "tags"),
        (("create", URL, "--event", "failed", "--since", "2999-01-01T00:00:00Z"), "future"),
        (("create", URL, "--event", "failed", "--timeout", "31s"), "timeout"),
    ],
)
def test_what_is_no_good_is_refused_and_nothing_is_kept(
    tmp_path: Path, migrated: str, arguments: tuple[str, ...], words: str
) -> None:
    assert fails(tenure(tmp_path, "webhooks", *arguments, "--database", migrated), 2, words)
    assert told(tmp_path, migrated, "list") == {"items": []}


def test_what_is_not_there_is_said_on_one_line(tmp_path: Path, migrated: str) -> None:
    for verb in ("show", "rotate", "pause", "resume", "test", "deliveries", "delete"):
        assert fails(tenure(tmp_path, "webhooks", verb, NOBODY, "--database", migrated), 1, NOBODY), verb
    for arguments in ((NOBODY, "msg_1"), (NOBODY, "--since", "2020-01-01T00:00:00Z")):
        assert fails(tenure(tmp_path, "webhooks", "redeliver", *arguments, "--database", migrated), 1)
    usage = tenure(tmp_path, "webhooks", "redeliver", NOBODY, "--database", migrated)
    assert (usage.returncode, "give a message, or --since" in usage.stderr) == (2, True)
    assert tenure(tmp_path, "webhooks", "show", "x" * 10_000, "--database", migrated).returncode == 2


def test_one_is_created_paused_and_one_that_cannot_be_read_is_listed_and_deleted(
    tmp_path: Path, migrated: str
) -> None:
    """S1.73"""
    waits = told(tmp_path, migrated, "create", URL, "--event", "onEnd", "--paused")
    assert (waits["state"], bool(waits["pausedBy"])) == ("paused", True)
    newer = told(tmp_path, migrated, "create", URL, "--event", "onEnd")["id"]
    sql(migrated, f"UPDATE tenure.webhook SET spec = '{{' WHERE id = '{newer}'")
    listed = tenure(tmp_path, "webhooks", "list", "--database", migrated)
    assert f"{newer}  -" in listed.stdout
    shown = tenure(tmp_path, "webhooks", "show", newer, "--database", migrated)
    assert shown.stdout.splitlines()[1] == "state    unreadable"
    for change in (("edit", newer, "--tries", "3"), ("rotate", newer), ("resume", newer), ("test", newer)):
        refused = tenure(tmp_path, "webhooks", *change, "--database", migrated)
        assert (refused.returncode, "newer version" in refused.stderr) == (1, True), refused
    assert told(tmp_path, migrated, "pause", newer)["state"] == "paused"
    assert told(tmp_path, migrated, "delete", newer) == {"id": newer}
