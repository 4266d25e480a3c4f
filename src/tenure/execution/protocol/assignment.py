"""What a child is sent about the attempt that it runs."""

from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import whole
from tenure.core.values.failure import Failure


class ResourceLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt's process may take.

    `memory` is in bytes and counts the data of the process (RLIMIT_DATA), what the imported module holds
    included; `cpu` is in seconds; `files` is how many may be open, `file_size` the most bytes of one of them.
    None is any number. `environment` names the variables of the worker that the definition asks for, beside
    those that every child is given.
    """

    memory: int | None = None
    cpu: int | None = None
    files: int | None = 1024
    file_size: int | None = None
    environment: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.memory is not None:
            whole("memory", self.memory, 1 << 20, 2**62)
        if self.cpu is not None:
            whole("cpu", self.cpu, 1, 2**62)
        if self.files is not None:
            whole("files", self.files, 16, 2**62)
        if self.file_size is not None:
            whole("file_size", self.file_size, 1 << 20, 2**62)
        for name in self.environment:
            if not name or "=" in name or "\x00" in name:
                raise InvalidInput("environment", f"{name!r:.64} cannot name a variable")


class HandlerDatabase(Struct, frozen=True):
    """For transactions of a handler's own: the variable with the address, and how long one may stand still.

    A transaction that waits longer than `idle_ms` for its handler is ended by the server: it holds the job's
    row, and the lease runs on.
    """

    variable: str
    idle_ms: int


class Assignment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt as its child sees it; with `hook` that hook runs instead of the handler.

    `traceparent` is the parent of the handler's spans.
    """

    job: UUID
    fence: int
    attempt: int
    definition: str
    version: int
    queue: str = "default"
    namespace: str = "default"
    params: str = "{}"
    hook: str | None = None
    error: Failure | None = None
    traceparent: str | None = None
    limits: ResourceLimits = ResourceLimits()
    database: HandlerDatabase | None = None
