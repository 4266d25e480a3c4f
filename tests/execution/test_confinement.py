"""What a child may do and see, told from inside it: as root and as an ordinary user."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.execution.attempts import ROOT
from tests.execution.tiny_worker import ORDINARY, belongings, supervisor

SECRETS = {
    "TENURE_DATABASE": "postgresql://owner:password@somewhere/db",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "TENURE_CHILD_ENV": "SHOP_REGION,SHOP_TIER,TENURE_DATABASE",
    "SHOP_REGION": "eu",
    "SHOP_TOKEN": "for one definition",
}
_ZYGOTES_OWN = {"PYTHONPATH", "LD_BIND_NOW"}
GIVEN = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "SHOP_REGION"}


@pytest.fixture(scope="module", params=["root", ORDINARY])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one child saw."""
    folder = belongings(tmp_path_factory.mktemp("confined") / "tmp", request.param)
    usual = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8", "TZ": "UTC", "TMPDIR": str(folder)}
    process = supervisor(
        request.param,
        "tests.execution.environment_app:app",
        "looks_around",
        "SHOP_TOKEN",
        {
            "memory": 512 << 20,
            "cpu": 60,
            "files": 200,
            "environment": ["SHOP_TOKEN", "TENURE_DATABASE", "TMPDIR"],
        },
        env={**usual, **SECRETS, "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    said, _ = process.communicate()
    end = json.loads(said)
    assert end["type"] == "Returned", end
    look: dict[str, Any] = json.loads(end["result"])
    look["scratch"], look["user"] = folder, request.param
    return look


def test_it_is_the_user_that_the_test_means(seen: dict[str, Any]) -> None:
    assert seen["uid"] == (65534 if seen["user"] == ORDINARY and os.getuid() == 0 else os.getuid())


def test_it_leads_a_session_and_a_group_of_its_own(seen: dict[str, Any]) -> None:
    assert seen["session"] == seen["group"] == seen["pid"]


def test_its_limits_are_those_of_the_definition(seen: dict[str, Any]) -> None:
    """S1.19, S1.78: memory, CPU time and files."""
    rows = re.findall(r"^(Max [a-z ]+?)\s{2,}(\S+)\s+(\S+)", seen["limits"], re.MULTILINE)
    limits = {name: (soft, hard) for name, soft, hard in rows}
    assert limits["Max core file size"] == ("0", "0")
    assert limits["Max open files"] == ("200", "200")
    assert limits["Max cpu time"] == ("60", "65")
    soft, hard = map(int, limits["Max data size"])
    assert soft == 512 << 20
    assert hard > soft  # so that it can still say that it has run out


def test_it_can_gain_no_privileges(seen: dict[str, Any]) -> None:
    assert re.search(r"^NoNewPrivs:\s+1$", seen["status"], re.MULTILINE)


def test_its_environment_holds_what_is_allowed_and_what_its_definition_names(seen: dict[str, Any]) -> None:
    """S1.78: by a list of what is allowed, not of what is not."""
    assert set(seen["environ"]) == GIVEN | {"SHOP_TOKEN"}
    assert seen["wanted"] == "for one definition"


def test_no_secret_is_in_the_memory_that_the_kernel_shows(seen: dict[str, Any]) -> None:
    """Variables that are only deleted would still stand there. Those the zygote needs are no secrets."""
    assert set(seen["block"]) - _ZYGOTES_OWN == GIVEN
    assert set(seen["parents"]) - _ZYGOTES_OWN == GIVEN


def test_the_module_was_imported_without_secrets(seen: dict[str, Any]) -> None:
    assert set(seen["at_import"]) == GIVEN


def test_it_has_no_descriptors_but_its_own(seen: dict[str, Any]) -> None:
    assert seen["descriptors"] == {"0": "/dev/null", "1": "pipe", "2": "pipe", "3": "socket"}


def test_what_it_runs_does_not_inherit_its_socket(seen: dict[str, Any]) -> None:
    assert set(seen["inherited"]) == {"0", "1", "2", "3"}  # the fourth is the listing's own


def test_its_temporary_folder_is_private_and_removed(seen: dict[str, Any]) -> None:
    folder, mode, filled = seen["temporary"]
    assert Path(folder).parent.parent == seen["scratch"]
    assert mode == 0o700
    assert filled == 0
    assert list(seen["scratch"].iterdir()) == []
    assert seen["umask"] == 0o077


def test_it_runs_where_the_app_is(seen: dict[str, Any]) -> None:
    assert seen["cwd"] == str(ROOT)
