"""The caller of a request: its scopes, and which jobs it may see."""

from msgspec import Struct

from tenure.core.model.job import Job
from tenure.core.reports.access import SCOPES


class Caller(Struct, frozen=True, kw_only=True):
    """A caller and what it may do; `scopes` are those of its key with all that they include.

    A caller with `definitions` may use no others, and sees only jobs that it recorded itself. One with a
    `namespace` sees nothing of others.
    """

    name: str
    scopes: frozenset[str]
    key: str | None = None
    definitions: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    namespace: str | None = None

    @property
    def actor(self) -> str:
        """Its name in the history of what it changes: its key, or `api` while there are no keys."""
        return self.key or "api"

    @property
    def is_namespaced(self) -> bool:
        """Whether there are jobs that it may not see."""
        return bool(self.namespace or self.definitions)

    def knows(self, definition: str) -> bool:
        """Whether it may use a definition."""
        return not self.definitions or definition in self.definitions

    def sees(self, job: Job) -> bool:
        """Whether it may see a job."""
        if self.namespace is not None and job.namespace != self.namespace:
            return False
        return not self.definitions or job.creator == self.key


ANYBODY = Caller(name="anybody on this machine", scopes=frozenset(SCOPES))
"""The caller while there are no keys; the server then listens on loopback alone."""

NOBODY = Caller(name="nobody", scopes=frozenset())
"""The caller of routes that are open to all."""
