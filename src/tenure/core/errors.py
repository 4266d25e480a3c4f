"""The errors Tenure raises.

    TenureError
    ├── InvalidInput            a value that cannot be taken; names field, problem and way out
    │   └── InvalidJson         the same for a JSON document, with a pointer into it
    ├── StoreError              the store could not do what was asked
    │   ├── StoreUnavailable    unreachable, disk full …; `unknown`: the write may have happened
    │   ├── StoreBusy           somebody holds what was needed; nothing was written, try again
    │   ├── StoreRefused        the database's own guard refused the statement; nothing was written
    │   └── SchemaMismatch      the database does not have the schema this code was written for
    └── Directive               raised by a handler to say how its attempt ends
        ├── Retry               try again, after a time of its own choosing
        ├── Snooze              come back later without spending an attempt
        └── Fatal               give up at once

Expected refusals (a lost lease, a job already finished) are return values, not errors.
"""

from datetime import timedelta


class TenureError(Exception):
    """Whatever Tenure raises on purpose."""


class InvalidInput(TenureError, ValueError):
    """A value that cannot be taken. Nothing was written."""

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        super().__init__(field, problem, remedy)
        self.field = field
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class InvalidJson(InvalidInput):
    """A JSON document that cannot be taken; `code` is a stable short name, `pointer` says where."""

    def __init__(self, code: str, pointer: str, problem: str, remedy: str = "") -> None:
        super().__init__(pointer or "document", problem, remedy)
        self.args = (code, pointer, problem, remedy)
        self.code = code
        self.pointer = pointer


class StoreError(TenureError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or cannot write; with `unknown` the write may still have happened."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class StoreBusy(StoreError):
    """Somebody else holds what was needed. Nothing was written; trying again is safe."""


class StoreRefused(StoreError):
    """The database itself refused the statement. Nothing was written."""


class SchemaMismatch(StoreError):
    """The database's schema is not the one this code was written for."""


class Directive(TenureError):
    """Raised by a handler to say how its attempt ends."""


class Retry(Directive):
    """Try again; `after` replaces the definition's backoff."""

    def __init__(self, message: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(message or "the handler asked for another attempt")
        self.after = _duration(after)


class Snooze(Directive):
    """Come back after `for_`, without spending an attempt."""

    def __init__(self, message: str = "", *, for_: timedelta | float) -> None:
        super().__init__(message or "the handler asked to be called later")
        self.for_ = _duration(for_)


class Fatal(Directive):
    """Give up at once, whatever attempts are left."""


def _duration(value: timedelta | float | None) -> timedelta | None:
    return timedelta(seconds=value) if isinstance(value, int | float) else value
