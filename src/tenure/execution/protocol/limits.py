"""What a child may use: resource limits, and which of them a failure has met."""

import errno
import resource
import signal
from collections.abc import Iterator

from tenure.execution.protocol.assignment import ResourceLimits

FILES = "its definition's files, or else TENURE_CHILD_FILES, says how many may be open"
FILE_SIZE = "TENURE_CHILD_FILE_BYTES says how large a file may be"
MEMORY = "its definition's memory, or else TENURE_CHILD_MEMORY_BYTES, says how much an attempt may have"
"""Added to the message of a failure that a limit caused."""

ENDED_BY = {
    signal.SIGXCPU: ": it had used up its CPU time",
    signal.SIGXFSZ: f": it had written too large a file; {FILE_SIZE}",
}
"""Signals that a limit causes, and what to say of them."""

_BY_ERRNO = {
    errno.EMFILE: (FILES, resource.RLIMIT_NOFILE),
    errno.EFBIG: (FILE_SIZE, resource.RLIMIT_FSIZE),
    errno.ENOMEM: (MEMORY, resource.RLIMIT_DATA),
}
_NO_MORE_THREADS = "can't start new thread"
_LONGEST_CHAIN = 20
_RESERVE = 32 << 20
_LAST_SECONDS = 5


def forbid_core_dumps() -> None:
    """Leave no core dumps of this process, nor of those that it starts."""
    _bind(resource.RLIMIT_CORE, 0, 0)


def apply(limits: ResourceLimits) -> None:
    """Apply the limits to this process, and to all that it starts."""
    if limits.files is not None:
        _bind(resource.RLIMIT_NOFILE, limits.files, limits.files)
    if limits.cpu is not None:
        # The soft limit's signal names the cause; the hard limit ends a process that ignores it.
        _bind(resource.RLIMIT_CPU, limits.cpu, limits.cpu + _LAST_SECONDS)
    if limits.file_size is not None:
        _bind(resource.RLIMIT_FSIZE, limits.file_size, limits.file_size)
    if limits.memory is not None:
        _bind(resource.RLIMIT_DATA, limits.memory, limits.memory + _RESERVE)


def met_by(error: BaseException) -> str:
    """What to add to an exception if it, or one that led to it, was caused by a limit; empty otherwise."""
    for each in _chain(error):
        if isinstance(each, RuntimeError) and str(each) == _NO_MORE_THREADS:
            text, kind = MEMORY, resource.RLIMIT_DATA
        elif isinstance(each, OSError) and each.errno in _BY_ERRNO:
            text, kind = _BY_ERRNO[each.errno]
        else:
            continue
        if resource.getrlimit(kind)[0] != resource.RLIM_INFINITY:
            return f"; {text}"
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def open_the_reserve() -> None:
    """Give a process that ran out of memory a little more, so that it can report that."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _bind(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
