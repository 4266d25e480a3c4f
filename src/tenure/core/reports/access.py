"""Access over HTTP as data: keys and their scopes, sessions, and the audit log.

A scope opens routes. `operate` includes `read` and `submit`: a key that may change any job may see and make
jobs. `admin` includes everything. `submit`, `read` and `work` include nothing else.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import HORIZON, distinct, named, printable, within

SCOPES = ("submit", "read", "operate", "work", "admin")
INCLUDED = {
    "operate": frozenset({"operate", "read", "submit"}),
    "admin": frozenset(SCOPES),
}
AUDIT_KEPT = timedelta(days=365)
"""How long entries of the audit log are kept."""

SESSION_KEPT = timedelta(hours=12)
"""How long a login lasts."""

MOST_SESSIONS = 100
"""How many sessions one key may have; beyond that the oldest end."""

MOST_NAMES = 100
"""How many definitions, or queues, one key may be bound to."""

_BINDABLE = frozenset({"submit", "work"})


def opened_by(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes and all scopes that they include."""
    return frozenset().union(*(INCLUDED.get(scope, {scope}) for scope in scopes))


class NewKey(Struct, frozen=True, kw_only=True):
    """A key to be made: `digest` is the hash of its secret, which is not stored.

    With `definitions` it starts and serves no others, and sees only jobs that it created; with `queues` it
    serves no others; with a `namespace` it sees and makes nothing outside of it.
    """

    id: str
    digest: bytes
    name: str
    scopes: tuple[str, ...]
    definitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    namespace: str | None = None
    lifetime: timedelta | None = None

    def __post_init__(self) -> None:
        printable("name", self.name, least=1)
        _check_scopes(self.scopes)
        for field, names in (("definition", self.definitions), ("queue", self.queues)):
            distinct(field, names, MOST_NAMES)
            for name in names:
                named(field, name)
        if self.definitions and not _BINDABLE.issuperset(self.scopes):
            problem = "cannot restrict a key that may read every job"
            raise InvalidInput("definition", problem, "give submit, work or both as its scopes")
        if self.queues and self.scopes != ("work",):
            raise InvalidInput("queue", "restricts what a worker claims", "give work as the only scope")
        if self.namespace is not None:
            named("namespace", self.namespace)
        if self.lifetime is not None:
            within("expires", self.lifetime, timedelta(seconds=1), HORIZON)


class Key(Struct, frozen=True, kw_only=True):
    """A key as it is stored."""

    id: str
    name: str
    scopes: tuple[str, ...]
    definitions: tuple[str, ...]
    queues: tuple[str, ...]
    namespace: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class HeldKey(Struct, frozen=True, kw_only=True):
    """A valid key, for a caller that presents the secret with this `digest`.

    `was_idle` says that its last use is to be recorded again.
    """

    id: str
    digest: bytes
    name: str
    scopes: tuple[str, ...]
    definitions: tuple[str, ...]
    queues: tuple[str, ...]
    namespace: str | None
    was_idle: bool


class Keyring(Struct, frozen=True):
    """The valid ones among the keys looked up, and whether any key exists or existed."""

    held: tuple[HeldKey, ...]
    is_locked: bool


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be made, with the rights of its key: `digest` is the hash of what the browser keeps."""

    digest: bytes
    key: str
    lifetime: timedelta = SESSION_KEPT


class AuditEntry(Struct, frozen=True, kw_only=True):
    """What a caller is about to change: with which key, if any, what, and in which request."""

    who: str
    action: str
    target: str
    request: UUID
    key: str | None = None

    def __post_init__(self) -> None:
        for field in ("who", "action"):
            printable(field, getattr(self, field), least=1)
        printable("target", self.target)


class AuditRecord(Struct, frozen=True, kw_only=True):
    """An audit entry in the store. Without an `outcome` it is not known how it ended."""

    n: int
    at: datetime
    entry: AuditEntry
    outcome: str | None


def _check_scopes(scopes: tuple[str, ...]) -> None:
    distinct("scope", scopes, len(SCOPES))
    if not scopes:
        raise InvalidInput("scope", "is missing", f"give one or more of {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in SCOPES:
            raise InvalidInput("scope", f"is {scope!r:.64}", f"give one or more of {', '.join(SCOPES)}")
