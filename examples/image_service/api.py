"""The HTTP API: `uvicorn examples.image_service.api:web`. It records and reads jobs; workers do the rest."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from examples.image_service import uploads, views
from examples.image_service.events import Live, kept_running, remove_failed
from examples.image_service.jobs import Image, app, cancel, delete
from examples.image_service.measured import Measured
from examples.image_service.settings import Settings
from examples.image_service.storage import Storage, opened
from examples.image_service.uploads import Refused
from tenure import JobHandle, JobNotFound, StoreError

PAGE = Path(__file__).parent / "page"
METRICS = app.metrics
LOG = logging.getLogger("uvicorn.error")


class Service(NamedTuple):
    """What requests share while the API runs."""

    settings: Settings
    storage: Storage
    live: Live
    in_flight: uploads.InFlight


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Service]]:
    settings, live = Settings.from_environment(), Live()
    async with app, opened(settings, METRICS.external) as storage, asyncio.TaskGroup() as tasks:
        followers = [tasks.create_task(kept_running(one)) for one in (live.follow, remove_failed)]
        yield {"service": Service(settings, storage, live, uploads.InFlight())}
        for one in followers:
            one.cancel()


web = FastAPI(title="Image service", lifespan=lifespan)
web.add_middleware(Measured, count=METRICS.request)


def service_of(request: Request) -> Service:
    found: Service = request.state.service
    return found


async def image_of(image: UUID) -> JobHandle[Any]:
    """The job of an image. Ids of other jobs are not images."""
    job = app.handle(image)
    if (await job.get()).definition != "image.process":
        raise JobNotFound(image)
    return job


AnImage = Annotated[JobHandle[Any], Depends(image_of)]
TheService = Annotated[Service, Depends(service_of)]


@web.post("/uploads", status_code=202)
async def upload(name: str, request: Request, response: Response, on: TheService) -> dict[str, Any]:
    """Take a picture, which is the body, and say where to follow it. Sent again, it is the same image."""
    named = uploads.checked_name(name)
    uploads.checked_length(request.headers.get("content-length"), on.settings)
    said_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    with uploads.temporary_file() as file:
        received = await uploads.receive(request.stream(), named, said_type, on.settings, file)
        METRICS.upload(received.picture.mime_type, received.picture.size)
        async with on.in_flight.of(received.picture):
            job = await uploads.accept(received, on.storage, on.settings)
    view = await views.image_view(job, on.settings)
    response.headers["location"] = view["links"]["self"]
    response.status_code = 202 if view["finished_at"] is None else 200
    return view


@web.get("/images/{image}")
async def show(job: AnImage, on: TheService) -> Response:
    """An image as it stands."""
    view = await views.image_view(job, on.settings)
    if view["status"] == "completed" and await on.storage.verdict(str(job.id)) is None:
        raise Refused(410, "deleted", "this image was deleted")
    return JSONResponse(view)


@web.get("/images/{image}/events")
async def follow(job: AnImage, on: TheService) -> Response:
    """The image now and after each change, as server-sent events, until it is completed or has failed."""
    stream = on.live.stream(job.id, lambda: views.image_view(job, on.settings))
    return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})


@web.post("/images/{image}/cancel", status_code=202)
async def ask_to_cancel(job: AnImage) -> dict[str, Any]:
    """Ask that an image is not published: records a job of the type `image.cancel`."""
    if (await job.status()).is_final:
        raise Refused(409, "ended", "it has ended: a completed image can be deleted")
    image = str(job.id)
    return await views.request_view(await cancel.enqueue(Image(image), idempotency_key=image))


@web.delete("/images/{image}", status_code=202)
async def ask_to_delete(job: AnImage) -> dict[str, Any]:
    """Ask that an image is removed: records a job of the type `image.delete`."""
    if not (await job.status()).is_final:
        raise Refused(409, "not-ended", "it is still being processed: cancel it, or wait for its end")
    image = str(job.id)
    return await views.request_view(await delete.enqueue(Image(image), idempotency_key=image))


@web.get("/jobs/{job_id}")
async def show_request(job_id: UUID) -> dict[str, Any]:
    """A request to cancel or delete."""
    job = app.handle(job_id)
    if (await job.get()).definition not in {"image.cancel", "image.delete"}:
        raise JobNotFound(job_id)
    return await views.request_view(job)


@web.get("/metrics")
async def metrics() -> Response:
    """What this process measures, for Prometheus."""
    return Response(await METRICS.text(), media_type=METRICS.media_type)


@web.get("/")
async def page() -> Response:
    """The page."""
    return FileResponse(PAGE / "index.html")


def _problem(status: int, error: str, detail: str) -> Response:
    headers = {"retry-after": "1"} if status == 503 else {}
    return JSONResponse({"error": error, "detail": detail}, status, headers)


@web.exception_handler(Refused)
async def on_refused(_: Request, error: Refused) -> Response:
    return _problem(error.status, error.error, error.detail)


@web.exception_handler(JobNotFound)
async def on_unknown(_: Request, __: JobNotFound) -> Response:
    return _problem(404, "not-found", "there is no such image or job")


@web.exception_handler(TimeoutError)
async def on_slow(_: Request, __: TimeoutError) -> Response:
    return _problem(408, "too-slow", "the upload, or the storage behind it, took too long: send it again")


@web.exception_handler(ClientError)
@web.exception_handler(BotoCoreError)
@web.exception_handler(StoreError)
async def on_outage(request: Request, error: Exception) -> Response:
    LOG.warning("%s %s: %s: %s", request.method, request.scope["path"], type(error).__name__, error)
    return _problem(503, "unavailable", "the storage or the database does not answer: send it again")
