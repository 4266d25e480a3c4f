"""What a database file and its disk look like from outside, as facts and symptoms."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tenure.core.errors import StoreUnavailable
from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.storage.sqlite.file.filesystem import kind_of

LARGEST_LOG = 256 * 2**20
"""Bytes beyond which the write-ahead log does not come back by itself."""

LEAST_FREE = 256 * 2**20
"""Bytes that should be free on the disk."""


def examine_file(path: Path, *, size: int, unused: int) -> Checkup:
    """The file, its log, and the disk that they lie on. It opens neither: that would drop locks."""
    log = path.with_name(f"{path.name}-wal")
    try:
        free = shutil.disk_usage(path.parent).free
        checkpointed_at = path.stat().st_mtime  # only a checkpoint writes to the file itself
        logged = log.stat() if log.exists() else None
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be looked at: {error.strerror}") from error
    log_size = logged.st_size if logged else 0
    written = f"last written {_moment(logged.st_mtime)}" if logged else "empty"
    return Checkup(
        facts=[
            Fact("file", f"{_mebibytes(size)}, {_mebibytes(unused)} of it unused"),
            Fact("log (WAL)", f"{_mebibytes(log_size)}, {written}"),
            Fact("checkpoint", f"the last one wrote to the file {_moment(checkpointed_at)}"),
            Fact("disk", f"{_mebibytes(free)} free, file system {kind_of(path) or 'not known'}"),
        ],
        symptoms=[*_log(log_size), *_disk(path, free)],
    )


def _log(size: int) -> Iterator[Symptom]:
    if size > LARGEST_LOG:
        yield Symptom(
            kind="log-large",
            what=f"the write-ahead log has {_mebibytes(size)}: a program that keeps a transaction open on "
            "the file lets no checkpoint end, and reading becomes slower",
            cure="end that program or its transaction (`fuser` names the programs that have the file open); "
            "when all have closed it, the log is gone",
        )


def _disk(path: Path, free: int) -> Iterator[Symptom]:
    if free < LEAST_FREE:
        yield Symptom(
            kind="disk-full",
            what=f"the disk of {path} has only {_mebibytes(free)} left; when it is full, no job is accepted",
            cure="make room, or let finished jobs be removed earlier",
        )


def _moment(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%SZ}"


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
