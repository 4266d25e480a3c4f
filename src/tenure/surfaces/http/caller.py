"""Who calls: what its key opens, and what it lets be seen."""

from msgspec import Struct

from tenure.core.access import SCOPES
from tenure.core.job import Job


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls, and what it may do; `scopes` are those of its key with all that they include.

    A caller with `definitions` knows of no others, and sees only jobs that it has asked for itself. One with
    a `namespace` sees nothing of others.
    """

    name: str
    scopes: frozenset[str]
    key: str | None = None
    definitions: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    namespace: str | None = None

    @property
    def actor(self) -> str:
        """Who it is on record of what it changes: its key, or while there are none this surface."""
        return self.key or "api"

    @property
    def is_fenced(self) -> bool:
        """Whether there are jobs that it must not see."""
        return bool(self.namespace or self.definitions)

    def knows(self, definition: str) -> bool:
        """Whether there is such a definition for it."""
        return not self.definitions or definition in self.definitions

    def sees(self, job: Job) -> bool:
        """Whether there is such a job for it."""
        if self.namespace is not None and job.namespace != self.namespace:
            return False
        return not self.definitions or job.creator == self.key


ANYBODY = Caller(name="anybody on this machine", scopes=frozenset(SCOPES))
"""The caller while there are no keys: the server is bound to loopback then."""

NOBODY = Caller(name="nobody", scopes=frozenset())
"""The caller of what is open to all."""
