"""`tenure keys` and `tenure audit`: a key is shown once, listed without its secret, and revoked at once."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import httpx
import pytest

from tenure.core.values import key_text
from tests.surfaces.command import COMMAND, environment, fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.http.server.test_command import BOUND, WISH
from tests.surfaces.store_behind import MAIL, on, register


def made(folder: Path, database: str, *arguments: str) -> str:
    """A new key."""
    ran = tenure(folder, "keys", "create", "shop", *arguments, "--database", database)
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    return ran.stdout.strip()


def test_a_key_is_shown_once_and_kept_as_a_hash(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    key = made(tmp_path, migrated, "--scope", "submit", "--definition", "mail", "--expires", "90d")
    shown = key_text.read(key)
    assert shown is not None
    listed = tenure(tmp_path, "keys", "list", "--json", "--database", migrated)
    [item] = json.loads(listed.stdout)["items"]
    assert (item["keyId"], item["name"], item["scopes"]) == (shown.id, "shop", ["submit"])
    assert (item["definitions"], item["namespace"]) == (["mail"], None)
    assert item["expiresAt"] > item["createdAt"]
    said = [listed.stdout]
    said.append(tenure(tmp_path, "keys", "list", "--database", migrated).stdout)
    said.append(tenure(tmp_path, "audit", "--database", migrated).stdout)
    assert all(shown.id in text for text in said)
    assert not any(key.split("_")[2] in text for text in said)
    if migrated.startswith("sqlite"):
        for file in tmp_path.glob("*.db*"):
            assert key.encode() not in file.read_bytes()


def test_as_json_a_key_comes_with_its_id(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    told = json.loads(made(tmp_path, migrated, "--scope", "read", "--scope", "work", "--json"))
    assert told["key"].startswith(f"tnr_{told['keyId']}_")


@pytest.mark.parametrize(("where", "code"), [(">/dev/full", 1), (">&-", 2)])
@pytest.mark.parametrize("form", ["", "--json"])
def test_a_key_that_nobody_could_see_is_not_made(
    tmp_path: Path, migrated: str, where: str, code: int, form: str
) -> None:
    """The store stays as open as it was: it has had none."""
    register(migrated, MAIL)
    command = shlex.join([*COMMAND, "keys", "create", "shop", "--scope", "admin", "--database", migrated])
    ran = subprocess.run(
        ["sh", "-c", f"{command} {form} {where}"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran
    assert ("was not created" if code == 1 else "is closed, so the key cannot be shown") in ran.stderr
    assert not on(migrated, lambda store: store.find_keys([])).is_locked
    assert (
        json.loads(tenure(tmp_path, "keys", "list", "--json", "--database", migrated).stdout)["items"] == []
    )


def test_what_cannot_be_a_key_is_refused_by_its_option(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    for arguments, *said in (
        ((), "scope", "admin"),
        (("--scope", "root"), "scope", "admin"),
        (("--scope", "read", "--definition", "mail"), "definition", "submit"),
        (("--scope", "submit", "--queue", "q"), "queue", "work"),
        (("--scope", "read", "--namespace", "a b"), "namespace"),
    ):
        ran = tenure(tmp_path, "keys", "create", "x", *arguments, "--database", migrated)
        assert fails(ran, 2, *said), arguments
    ran = tenure(tmp_path, "keys", "create", "x", "--scope", "read", "--expires", "soon")
    assert (ran.returncode, "--expires" in ran.stderr) == (2, True)
    assert tenure(tmp_path, "keys", "list", "--database", migrated).stdout == ""


def test_keys_open_a_server_to_others_and_close_it_to_those_without(
    tmp_path: Path, start: Start, migrated: str
) -> None:
    """Row 69: asked to be reached by others, it starts with keys only."""
    register(migrated, MAIL)
    everywhere = ("api", "--host", "0.0.0.0", "--port", "0", "--database", migrated)  # noqa: S104
    assert fails(tenure(tmp_path, *everywhere), 2, "host", "tenure keys create")
    key = made(tmp_path, migrated, "--scope", "submit")
    process = start(*everywhere)
    assert process.stderr is not None
    first = process.stderr.readline()
    found = re.match(r"http://0\.0\.0\.0:(\d+) on .*, open to callers with a key$", first)
    assert found, first
    with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", timeout=BOUND, trust_env=False) as client:
        assert client.post("/jobs", json=WISH).status_code == 401
        for probe in ("/healthz", "/readyz", "/docs", "/openapi.json"):
            assert client.get(probe).status_code == 200
        client.headers["authorization"] = f"Bearer {key}"
        assert client.post("/jobs", json=WISH).status_code == 202
        ran = tenure(tmp_path, "keys", "revoke", key.split("_")[1], "--database", migrated)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert client.post("/jobs", json=WISH).status_code == 401


def test_a_server_goes_by_the_names_that_it_was_given(tmp_path: Path, start: Start) -> None:
    """Row 49."""
    process = start("api", "--port", "0", TENURE_ALLOWED_HOSTS="Jobs.example.com,proxy")
    assert process.stderr is not None
    url = process.stderr.readline().partition(" on ")[0]
    with httpx.Client(base_url=url, timeout=BOUND, trust_env=False) as client:
        for host, status in {"jobs.example.com": 200, "proxy:81": 200, "evil.example": 421}.items():
            assert client.get("/v1/jobs", headers={"host": host}).status_code == status, host
    assert fails(tenure(tmp_path, "api", TENURE_ALLOWED_HOSTS="a:1,*"), 2, "TENURE_ALLOWED_HOSTS")


def test_what_was_done_is_listed_the_latest_first(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    key = made(tmp_path, migrated, "--scope", "read").split("_")[1]
    assert tenure(tmp_path, "keys", "revoke", key, "--database", migrated).returncode == 0
    assert fails(tenure(tmp_path, "keys", "revoke", "nobody", "--database", migrated), 1, "no key nobody")
    ran = tenure(tmp_path, "audit", "--json", "--database", migrated)
    items = json.loads(ran.stdout)["items"]
    assert [(item["action"], item["target"]) for item in items] == [
        ("keys revoke", key),
        ("keys create", key),
    ]
    assert "by command" in items[0]["who"]
