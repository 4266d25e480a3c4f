"""The shape of the sources: small pieces, twin SQL files, a core that stands alone."""

import ast
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import hatchling.build
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/tenure"
STORES = ("sqlite", "postgres")

FOLDERS = ("src", "tests", "tools", "bench", "chaos", "examples")

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
CORE_MAY_IMPORT = {*sys.stdlib_module_names, "msgspec", "tenure"}


def test_no_file_is_too_long() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 1500
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in files}
    assert not {path: length for path, length in lengths.items() if length > LONGEST_FILE}


def test_no_function_is_too_long() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for folder in FOLDERS
        for path, node in _nodes(ROOT / folder)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    assert not too_long


def test_the_core_imports_nothing_else() -> None:
    """The import contract lists what is forbidden; this lists what is allowed, so nothing new slips by."""
    strangers = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, node in _nodes(SOURCE / "core")
        for name in _imported(node)
        if name.partition(".")[0] not in CORE_MAY_IMPORT
    ]
    assert not strangers


def test_both_stores_have_the_same_statements() -> None:
    sqlite, postgres = (
        {path.name for path in (SOURCE / "storage" / store / "sql").glob("*.sql")} for store in STORES
    )
    assert sqlite == postgres


DATA = ("sql", "txt", "html", "js", "css", "svg")


def test_every_file_that_is_no_code_is_in_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wheel = tmp_path / hatchling.build.build_wheel(str(tmp_path))
    packed = set(zipfile.ZipFile(wheel).namelist())
    data = [path for kind in DATA for path in SOURCE.rglob(f"*.{kind}")]
    wanted = {path.relative_to(SOURCE.parent).as_posix() for path in data}
    assert wanted <= packed


def _nodes(folder: Path) -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            yield path, node


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
