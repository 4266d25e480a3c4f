"""The program whose worker is measured: one job, which does next to nothing."""

from bench import stamps
from tenure import Tenure

STAMP = "stamp"


def program(database: str | None = None) -> Tenure:
    """The program on a database, for the process that enqueues."""
    made = Tenure(database)
    made.job(STAMP)(stamp)
    return made


def stamp(params: dict[str, str]) -> None:
    """Note when it began."""
    stamps.stamp(params["stamps"])


app = program()
