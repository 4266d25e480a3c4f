"""Uploads: read from the caller in pieces, looked at, and recorded once for each content.

An upload is kept in a temporary file until its end, since only then is it known what it is: its name in the
store is that of its content. No upload is ever in memory as a whole, and what is refused never reaches S3.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterable
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Any
from weakref import WeakValueDictionary

from examples.image_service.jobs import Picture, PictureRefused, app, process
from examples.image_service.pictures import HEAD, KINDS, Kind, kind_of
from examples.image_service.settings import Settings
from examples.image_service.storage import Storage, upload_key
from examples.image_service.views import error_of
from tenure import IdempotencyConflict, JobHandle, JobNotWaiting, State

IN_MEMORY = 1_000_000
"""The bytes of an upload that are kept in memory; what is larger is written to a file."""

LONGEST_NAME = 200


class Refused(Exception):
    """A request that is refused, with the status and a stable short name of the reason."""

    def __init__(self, status: int, error: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.error = error
        self.detail = detail


@dataclass(frozen=True)
class Upload:
    """An upload that has arrived in whole."""

    picture: Picture
    body: IO[bytes]


def checked_name(name: str) -> str:
    """The name of a file, or an error: a path, or what no file system shows, is not a name."""
    if not name or len(name) > LONGEST_NAME:
        raise Refused(422, "bad-name", f"name: give 1 to {LONGEST_NAME} characters")
    if name in {".", ".."} or set(name) & {"/", "\\"} or not name.isprintable():
        raise Refused(422, "bad-name", "name: it is a path or has control characters; give the bare name")
    return name


async def receive(
    chunks: AsyncIterable[bytes], name: str, said_type: str, settings: Settings, into: IO[bytes]
) -> Upload:
    """Read an upload to its end; raises Refused as soon as it is clear that it is none that is taken."""
    digest, size, head = hashlib.sha256(), 0, b""
    kind: Kind | None = None
    async with asyncio.timeout(settings.upload_seconds):
        async for chunk in chunks:
            size += len(chunk)
            check_size(size, settings)
            digest.update(chunk)
            into.write(chunk)
            if kind is None and len(head := (head + chunk)[:HEAD]) == HEAD:
                kind = _checked_kind(head, said_type)
    if size == 0:
        raise Refused(422, "empty", "the body is empty: send the bytes of a picture")
    kind = kind or _checked_kind(head, said_type)
    into.seek(0)
    return Upload(Picture(digest.hexdigest(), kind.mime_type, size, name), into)


def check_size(size: int, settings: Settings) -> None:
    """Refuse what is too large, as soon as that is known."""
    if size > settings.most_bytes:
        raise Refused(413, "too-large", f"at most {settings.most_bytes} bytes are taken")


def temporary_file() -> IO[bytes]:
    """Where an upload is kept until its end; it is gone when it is closed."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


class InFlight:
    """Lets the same content pass once at a time: ten who send it at once need not store it ten times."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, picture: Picture) -> asyncio.Lock:
        """The lock of a content."""
        return self._locks.setdefault(picture.sha256, asyncio.Lock())


async def accept(upload: Upload, storage: Storage, settings: Settings) -> JobHandle[object]:
    """Record an upload and store it; the same content again leads to the same job.

    The job is recorded first, to run later than any upload lasts: so every object in the bucket belongs to a
    job. Once the object is there, the job may run. If this process is killed in between, the job finds no
    upload when its time comes and fails with that reason, unless the sender has tried again.
    """
    job, state = await _job_for(upload.picture, storage, settings)
    if state is State.SCHEDULED:
        await _store(upload, job, storage, settings)
    elif not state.is_final and not await _has_arrived(job, storage):
        # Its time has come before its upload, so it will fail: a later try finds that, and begins anew.
        raise Refused(503, "unavailable", "an earlier upload of it never arrived in whole: send it again")
    return job


async def _store(upload: Upload, job: JobHandle[object], storage: Storage, settings: Settings) -> None:
    key = upload_key(str(job.id))
    try:
        await job.reschedule(delay=_longest(settings))  # part of that has passed if this is not the first try
        async with asyncio.timeout(settings.upload_seconds / 2):
            await storage.put(key, upload.body, upload.picture.mime_type)
        await job.run_now()
    except JobNotWaiting:
        # The same content went to another process, which was faster. Its job may have removed the upload
        # before ours was written: the verdict, or the end of the job, comes before that removal.
        if await storage.verdict(str(job.id)) or (await job.status()).is_final:
            await storage.delete(key)


async def _job_for(picture: Picture, storage: Storage, settings: Settings) -> tuple[JobHandle[object], State]:
    """The job of a content, and its state: the first one, or the one after those whose images are gone."""
    key = picture.sha256
    while True:
        try:
            job: JobHandle[object] = await process.enqueue(
                picture, idempotency_key=key, delay=_longest(settings)
            )
        except IdempotencyConflict as known:  # the same content under another name
            job = app.handle(known.job)
        found = await job.get()
        if not await _is_gone(found, storage):
            return job, found.state
        key = f"{picture.sha256} after {job.id}"


async def _is_gone(found: Any, storage: Storage) -> bool:
    """Whether the image was deleted or cancelled, or failed for a reason that another try may not meet."""
    if found.state is State.SUCCEEDED:
        return await storage.verdict(str(found.id)) is None
    error = error_of(found)
    is_refused = error is not None and error["type"] == PictureRefused.__name__
    return found.state.is_final and not is_refused


async def _has_arrived(job: JobHandle[object], storage: Storage) -> bool:
    """Whether the upload of a job that may run is there, or was, and something came of it."""
    if await storage.keys(upload_key(str(job.id))) or await storage.verdict(str(job.id)):
        return True
    return (await job.status()).is_final


def _longest(settings: Settings) -> timedelta:
    """After so long an upload is taken to have been given up."""
    return timedelta(seconds=2 * settings.upload_seconds)


def checked_length(length: str | None, settings: Settings) -> None:
    """Refuse by the declared length, before anything is read."""
    if length is not None and length.isdecimal():
        check_size(int(length), settings)


def _checked_kind(head: bytes, said_type: str) -> Kind:
    kind = kind_of(head)
    if kind is None:
        raise Refused(
            415, "no-picture", f"the bytes are none of {', '.join(KINDS)}, whatever the name or the type says"
        )
    if said_type.startswith("image/") and said_type not in {kind.mime_type, "image/*"}:
        raise Refused(415, "wrong-type", f"content-type says {said_type}, but the bytes are {kind.mime_type}")
    return kind
