"""The public surface of the library is what it lists, no more and no less."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import tenure
from tenure import testing, webhooks
from tenure.core import errors
from tenure.surfaces.remote import errors as remote

ROOT = Path(__file__).parents[2]


def test_every_listed_name_can_be_imported() -> None:
    missing = [name for name in tenure.__all__ if not hasattr(tenure, name)]
    assert not missing


def test_no_name_is_listed_twice() -> None:
    assert len(tenure.__all__) == len(set(tenure.__all__))


def test_no_other_name_leaks() -> None:
    leaks = [
        name
        for name, value in vars(tenure).items()
        if not name.startswith("_") and name not in tenure.__all__ and not _is_submodule(value)
    ]
    assert not leaks


def test_the_version_is_the_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tenure.__version__ == project["version"]
    assert re.search(
        rf"^## \[(Unreleased|{re.escape(tenure.__version__)})\]", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def test_importing_the_package_loads_little() -> None:
    """Every handler's process is a copy of one that has imported it; msgspec is the one package it needs."""
    program = "import sys, tenure; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    declared = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in dependencies}
    assert declared & set(loaded) == {"msgspec"}
    assert not {"asyncpg", "uvloop", "opentelemetry", "requests", "urllib3"} & set(loaded)


def test_a_process_that_is_copied_for_every_attempt_has_loaded_little() -> None:
    """Each library costs a fork time, and each of these wants to do something in the copy, too."""
    program = (
        "import sys, tenure.execution.zygote.fork_server; "
        "from tenure.execution.handler.context import confine; confine(); "
        "from tenure import Tenure; Tenure().job('plain')(lambda: None); print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    heavy = {"asyncio", "concurrent", "logging", "random", "ssl", "subprocess", "threading", "hashlib"}
    assert not (
        heavy | {"jsonschema_rs", "pathlib", "shutil", "tempfile", "tenure.storage.contract.store"}
    ) & set(loaded)


def test_the_names_that_handlers_and_callers_need_are_there() -> None:
    needed = (
        "Tenure Context JobHandle Retry Snooze Fatal backoff JobFailed JobCancelled JobBuried TenureError"
    )
    assert set(needed.split()) <= set(tenure.__all__)


def test_the_names_for_tests_are_these() -> None:
    assert testing.__all__ == [
        *("AsyncHarness", "Context", "CrashMatrix", "CrashRun", "Endless", "Harness", "HarnessJob"),
        *("crash_matrix", "harness"),
    ]
    assert all(hasattr(testing, name) for name in testing.__all__)


def test_the_names_for_receivers_of_webhooks_are_these() -> None:
    assert webhooks.__all__ == ["NotVerified", "WebhookError", "WebhookEvent", "verify"]
    assert all(hasattr(webhooks, name) for name in webhooks.__all__)


def test_every_error_of_the_library_is_public() -> None:
    full = {errors.NoRoom, errors.QueueFull, errors.NamespaceFull}  # for clients of a server alone
    internal = {errors.Directive, *full}
    kinds = {
        kind.__name__
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TenureError) and kind not in internal
    }
    assert kinds <= set(tenure.__all__)


def test_every_error_of_the_client_is_public() -> None:
    kinds = {kind.__name__ for kind in vars(remote).values() if _is_remote_error(kind)}
    assert kinds <= set(tenure.__all__)


def _is_remote_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, remote.RemoteError)


def _is_submodule(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__.startswith("tenure.")
