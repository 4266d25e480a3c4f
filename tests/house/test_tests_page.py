"""The page about the tests names folders, fixtures and functions that are there, and no folder is missing."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
PAGE = (TESTS / "README.md").read_text()
LINK = re.compile(r"\]\(([^)#:]+)\)")
ROWS = [
    [cell.strip() for cell in row.strip("| ").split(" | ")] for row in PAGE.splitlines() if row[:1] == "|"
]


def names_in(path: Path) -> set[str]:
    """The functions and classes of a file."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, defined)}


def test_every_file_and_folder_that_is_named_exists() -> None:
    assert not [path for path in LINK.findall(PAGE) if not (TESTS / path).exists()]


def test_every_folder_is_named() -> None:
    named = {path.partition("/")[0] for path in LINK.findall(PAGE)}
    assert not {path.name for path in TESTS.iterdir() if (path / "__init__.py").exists()} - named


@pytest.mark.parametrize(
    "row", [row for row in ROWS if len(row) == 3 and ".py)" in row[2]], ids=lambda row: row[0]
)
def test_every_fixture_and_function_is_where_the_page_says(row: list[str]) -> None:
    files = [TESTS / path for path in LINK.findall(row[2])]
    wanted = re.findall(r"`(\w+)`", row[0] if files[0].name == "conftest.py" else row[1])
    assert set(wanted) <= set().union(*map(names_in, files))
