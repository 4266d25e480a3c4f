"""The page about testing: its files are written to a folder, and its tests pass there."""

from pathlib import Path

from tests.surfaces.frameworks.pages import PYTEST, python, write


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    write("testing.md", tmp_path)
    assert "9 passed" in python(tmp_path, *PYTEST)
    assert not (tmp_path / "tenure.db").exists()
