"""An app that cannot be imported: its worker says where, in the app's own lines."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.surfaces.command import tenure

HELPERS = """
    def price(of):
        return int(of)
"""


def failing(folder: Path, source: str, *command: str, helpers: str = HELPERS) -> list[str]:
    """The lines on standard error of a command that is given an app of this source."""
    (folder / "shop.py").write_text(dedent(source))
    (folder / "prices.py").write_text(dedent(helpers))
    ran = tenure(folder, *command, "shop:app", PYTHONDONTWRITEBYTECODE="1")
    assert (ran.returncode, ran.stdout) == (2, "")
    return ran.stderr.splitlines()


@pytest.mark.parametrize("command", [("worker",), ("serve", "--port", "0")])
def test_an_error_at_import_is_shown_from_where_the_app_begins(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    said = failing(
        tmp_path,
        """\
        import prices

        LIMIT = prices.price("many")
        """,
        *command,
    )
    problem = "ValueError: invalid literal for int() with base 10: 'many'"
    assert [line.strip(" ^~") for line in said if line.strip(" ^~")] == [
        "Traceback (most recent call last):",
        f'File "{tmp_path}/shop.py", line 3, in <module>',
        'LIMIT = prices.price("many")',
        f'File "{tmp_path}/prices.py", line 3, in price',
        "return int(of)",
        problem,
        f"Error: shop:app cannot be loaded: {problem}",
    ]


def test_a_module_that_the_app_lacks_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    said = failing(tmp_path, "import prices\n", "worker", helpers="import not_there\n")
    assert f'  File "{tmp_path}/prices.py", line 1, in <module>' in said
    assert said[-1] == "Error: shop:app cannot be loaded: ModuleNotFoundError: No module named 'not_there'"


def test_a_line_that_is_no_python_is_shown(tmp_path: Path) -> None:
    said = failing(tmp_path, "app = 1\ndef :\n", "worker")
    assert said[0] == f'  File "{tmp_path}/shop.py", line 2'
    assert said[-1].startswith("Error: shop:app cannot be loaded: SyntaxError: ")


def test_what_raised_it_first_is_shown_too(tmp_path: Path) -> None:
    source = """\
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise RuntimeError("postgresql://me:secret@here/db is not there\\x1b[0m") from error
        """
    said = failing(tmp_path, source, "worker")
    assert "ZeroDivisionError: division by zero" in said
    assert "The above exception was the direct cause of the following exception:" in said
    assert r"RuntimeError: postgresql://me:***@here/db is not there\x1b[0m" in said
    assert "tenure" not in "".join(said[:-1]).replace(str(tmp_path), "")


def test_what_is_not_the_apps_own_fault_is_one_line(tmp_path: Path) -> None:
    """There is no line of the app to show where its target is misspelt."""
    assert failing(tmp_path, "other = 1", "worker") == ["Error: shop:app cannot be loaded: shop has no app"]
    ran = tenure(tmp_path, "worker", "shopp:app")
    missing = f"there is no module shopp, neither in {tmp_path} nor among the installed ones"
    assert ran.stderr == f"Error: shopp:app cannot be loaded: ModuleNotFoundError: {missing}\n"
