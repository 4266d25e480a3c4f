"""What a child may take and see: resource limits, and the environment by allow-list."""

import errno
import resource
import signal
from collections.abc import Iterable, Iterator, Mapping

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

FILES = "its definition's files, or else TENURE_CHILD_FILES, says how many may be open"
FILE_SIZE = "TENURE_CHILD_FILE_BYTES says how large a file may be"
MEMORY = "its definition's memory, or else TENURE_CHILD_MEMORY_BYTES, says how much an attempt may have"
"""What is said to who has met a limit."""

ENDED_BY = {
    signal.SIGXCPU: ": it had used up its CPU time",
    signal.SIGXFSZ: f": it had written too large a file; {FILE_SIZE}",
}
"""The signals that tell of a limit."""

_SAID_BY_THE_SYSTEM = {
    errno.EMFILE: (FILES, resource.RLIMIT_NOFILE),
    errno.EFBIG: (FILE_SIZE, resource.RLIMIT_FSIZE),
    errno.ENOMEM: (MEMORY, resource.RLIMIT_DATA),
}
_NO_MORE_THREADS = "can't start new thread"
_LONGEST_CHAIN = 20
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
    if limits.file_size is not None:
        _bind(resource.RLIMIT_FSIZE, limits.file_size, limits.file_size)
    if limits.memory is not None:
        _bind(resource.RLIMIT_DATA, limits.memory, limits.memory + _RESERVE)


def met_by(error: BaseException) -> str:
    """What to say of the limit that an exception, or one that led to it, tells of; empty for none."""
    for each in _chain(error):
        if isinstance(each, RuntimeError) and str(each) == _NO_MORE_THREADS:
            said, kind = MEMORY, resource.RLIMIT_DATA
        elif isinstance(each, OSError) and each.errno in _SAID_BY_THE_SYSTEM:
            said, kind = _SAID_BY_THE_SYSTEM[each.errno]
        else:
            continue
        if resource.getrlimit(kind)[0] != resource.RLIM_INFINITY:
            return f"; {said}"
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


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
