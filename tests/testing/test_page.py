"""The page about testing: its files are written to a folder, and its tests pass there."""

from pathlib import Path

from tests.surfaces.frameworks.pages import DOCS, PYTEST, python, write


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    write("testing.md", tmp_path)
    assert "10 passed" in python(tmp_path, *PYTEST)
    assert not (tmp_path / "tenure.db").exists()


def test_the_table_of_the_page_is_that_of_its_program(tmp_path: Path) -> None:
    """A handler that uses `step` where `once` belongs."""
    write("testing.md", tmp_path)
    program = tmp_path / "orders.py"
    program.write_text(program.read_text().replace("ctx.once(", "ctx.step("))
    printed = python(
        tmp_path,
        "-c",
        "from orders import app, charged, pay; from tenure.testing import crash_matrix;"
        "print(crash_matrix(app, pay, {'order': 7}, charged, signals={'packed': None}))",
    )
    assert f"```text\n{printed}```" in (DOCS / "how-to/testing.md").read_text()
