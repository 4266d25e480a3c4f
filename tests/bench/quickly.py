"""Which rows of a bench a quick run measures: a few that go every way, or all of them in `make long`."""

from collections.abc import Mapping

from bench.rows import Row
from tests.whole import IS_WHOLE


def chosen(rows: Mapping[str, Row], *few: str) -> list[str]:
    """The rows to measure."""
    return list(rows) if IS_WHOLE else list(few)


def only(rows: list[str]) -> list[str]:
    """What a bench is told to measure no others."""
    return [word for row in rows for word in ("--only", row)]
