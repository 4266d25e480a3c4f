"""Numbered migrations: which there are, which are missing, and when a database is too new for this code.

Each begins with a line such as `-- reads-from: 5`: code that knows the migrations up to that number works on
a database that has this one. The database keeps these numbers, so that older code can tell whether it may
go on.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from tenure.core.errors import SchemaMismatch
from tenure.storage.schema.package_files import sql_files

_READS_FROM = re.compile(r"-- reads-from: (\d+)\n")

Numbers = Mapping[int, int]
"""The migrations that a database has: the number of each, and from which number on code can read it."""


class Migration(NamedTuple):
    """One numbered change of the schema; it is applied in a transaction of its own."""

    number: int
    name: str
    text: str
    reads_from: int
    """The newest migration that code must know to work on a database that has this one."""

    @property
    def label(self) -> str:
        """Its number and name, as its file is called."""
        return f"{self.number:04}_{self.name}"


class Fit(NamedTuple):
    """The newest migration that a database has, and the newest that this code knows."""

    found: int
    known: int

    @property
    def is_newer(self) -> bool:
        """Whether the database has migrations that this code does not know, all of which it can read."""
        return self.found > self.known


class Applied(NamedTuple):
    """A migration that has just been applied: its position among all migrations."""

    label: str
    position: int
    total: int


def known(package: str) -> list[Migration]:
    """The migrations of a store's package, in order."""
    found = []
    for label, text in sql_files(package, "migrations").items():
        number, _, name = label.partition("_")
        found.append(_read(int(number), name, text))
    return sorted(found)


def missing(package: str, applied: Numbers) -> list[Migration]:
    """The migrations that a database lacks.

    Raises SchemaMismatch if it has one that this code neither knows nor can read.
    """
    migrations = known(package)
    newest = migrations[-1].number
    unknown = applied.keys() - {migration.number for migration in migrations}
    needed = max((applied[number] for number in unknown), default=0)
    if needed > newest:
        raise SchemaMismatch(
            f"the database has schema {max(applied)}, which can be read from {needed} on; this version of"
            f" tenure knows {newest}: upgrade tenure on this machine",
            found=max(applied),
            known=newest,
        )
    return [migration for migration in migrations if migration.number not in applied]


def require_current(package: str, applied: Numbers) -> Fit:
    """Raise SchemaMismatch unless a database has all that this code knows, and it can read the rest."""
    fit = Fit(max(applied, default=0), known(package)[-1].number)
    if lacking := missing(package, applied):
        raise SchemaMismatch(
            f"the database lacks migration {lacking[0].label}: run `tenure migrate`",
            found=fit.found,
            known=fit.known,
        )
    return fit


def made_before_the_first_release(way_out: str) -> SchemaMismatch:
    """What a database is told whose ledger does not say from which code on it can be read."""
    return SchemaMismatch(
        "the database was made by a version of tenure from before the first release, and cannot be brought"
        f" up to this one: {way_out}, then run `tenure migrate`"
    )


async def apply_all(
    package: str,
    apply_next: Callable[[], Awaitable[Migration | None]],
    on_applied: Callable[[Applied], None] | None,
) -> list[str]:
    """Apply one migration after the other until none is missing; `on_applied` follows each commit."""
    migrations = known(package)
    labels = []
    while (migration := await apply_next()) is not None:
        labels.append(migration.label)
        if on_applied:
            on_applied(Applied(migration.label, migrations.index(migration) + 1, len(migrations)))
    return labels


def _read(number: int, name: str, text: str) -> Migration:
    if not (head := _READS_FROM.match(text)):
        raise ValueError(f"migration {number:04}_{name} does not begin with a line `-- reads-from: N`")
    return Migration(number, name, text, int(head[1]))
