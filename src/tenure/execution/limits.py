"""What a child may take and see: resource limits, and the environment by allow-list."""

import resource
from collections.abc import Iterable, Mapping

from tenure.execution.assignment import Limits

ALLOWED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
"""The variables of the worker that every child is given."""

MORE_ALLOWED = "TENURE_CHILD_ENV"
"""The worker's variable that names further ones, with commas or spaces between them."""

NEVER = frozenset({"TENURE_DATABASE", MORE_ALLOWED})
"""Variables that no child is given: a handler has no business with the store."""

PRIVATE = frozenset({"TMPDIR"})
"""Variables that each child has a value of its own for."""

EAGER = {"LD_BIND_NOW": "1"}
"""Has a zygote's functions of the C library found when it starts, and not by each child that calls them."""

TAKEN = ("PYTHONPATH", "LC_CTYPE", *EAGER)
"""Variables that a zygote needs or Python sets; a child has them only where they are allowed."""

_RESERVE = 32 << 20
_LAST_SECONDS = 5


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the worker's environment every child is given."""
    more = environment.get(MORE_ALLOWED, "").replace(",", " ").split()
    return _chosen(environment, (*ALLOWED, *more))


def own(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What a child is given beyond what its zygote has: the variables that its definition names."""
    allowed = inherited(environment)
    taken = {name: allowed[name] for name in TAKEN if name in allowed}
    return taken | _chosen(environment, (name for name in names if name not in PRIVATE))


def forbid_core_dumps() -> None:
    """Leave no copies of this process's memory on disk, nor of those that it starts."""
    _bind(resource.RLIMIT_CORE, 0, 0)


def apply(limits: Limits) -> None:
    """Bind this process, and all that it starts, to the limits."""
    if limits.files is not None:
        _bind(resource.RLIMIT_NOFILE, limits.files, limits.files)
    if limits.cpu is not None:
        # The signal of the soft limit says what happened; the hard one ends who ignores it.
        _bind(resource.RLIMIT_CPU, limits.cpu, limits.cpu + _LAST_SECONDS)
    if limits.memory is not None:
        _bind(resource.RLIMIT_DATA, limits.memory, limits.memory + _RESERVE)


def open_the_reserve() -> None:
    """Let a process that has run out of memory have a little more, so that it can say so."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _chosen(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: environment[name] for name in names if name in environment and name not in NEVER}


def _bind(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
