"""Numbered migrations: which there are, which are missing, and when a database is too new for this code."""

from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from typing import NamedTuple

from tenure.core.errors import SchemaMismatch


class Migration(NamedTuple):
    """One numbered change of the schema; it is applied in a transaction of its own."""

    number: int
    name: str
    text: str

    @property
    def label(self) -> str:
        """Its number and name, as its file is called."""
        return f"{self.number:04}_{self.name}"


class Applied(NamedTuple):
    """A migration that has just been applied: its position among all migrations."""

    label: str
    position: int
    total: int


def known(package: str) -> list[Migration]:
    """The migrations of a store's package, in order."""
    found = []
    for file in files(package).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, file.read_text("utf-8")))
    return sorted(found)


def missing(package: str, applied: Iterable[int]) -> list[Migration]:
    """The migrations that a database lacks. Raises SchemaMismatch if it has one that this code lacks."""
    migrations = known(package)
    newest = max(applied := set(applied), default=0)
    if newest > migrations[-1].number:
        raise SchemaMismatch(
            f"the database has schema {newest}, this version of tenure knows {migrations[-1].number}: "
            "upgrade tenure on this machine"
        )
    return [migration for migration in migrations if migration.number not in applied]


def require_current(package: str, applied: Iterable[int]) -> None:
    """Raise SchemaMismatch unless a database has exactly the migrations this code knows."""
    if lacking := missing(package, applied):
        raise SchemaMismatch(f"the database lacks migration {lacking[0].label}: run `tenure migrate`")


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
