"""Reads the SQL files of a store's package from its folder.

Not by `importlib.resources`, which imports what reads archives: a tenth of what the first call of a short
script took.
"""

from importlib import import_module
from pathlib import Path


def folder(package: str) -> Path:
    """The folder of a package."""
    return Path(import_module(package).__path__[0])


def sql_files(package: str, name: str) -> dict[str, str]:
    """The texts of all SQL files in one folder of a package, by their names without the ending."""
    return {file.stem: file.read_text("utf-8") for file in folder(package).joinpath(name).glob("*.sql")}
