"""What callers are shown: jobs in the words of the message-triggered description, with links to go on."""

from typing import Any

from examples.image_service.settings import Settings
from tenure import JobHandle, State

VOCABULARY = "worker"
"""queued, processing, failed_retryable, completed, failed."""


async def image_view(job: JobHandle[Any], settings: Settings) -> dict[str, Any]:
    """An image: the job that processes it, and what is published once it is completed."""
    found, image = await job.get(), f"/images/{job.id}"
    links = {"self": image, "events": f"{image}/events"}
    if found.state is State.SUCCEEDED:
        links["delete"] = image
    elif not found.state.is_final:
        links["cancel"] = f"{image}/cancel"
    return {
        **_job_fields(found),
        "name": found.params["name"],
        "mime_type": found.params["mime_type"],
        "size": found.params["size"],
        "sha256": found.params["sha256"],
        "variants": _variants(found.result, settings) if found.state is State.SUCCEEDED else None,
        "links": links,
    }


async def request_view(job: JobHandle[Any]) -> dict[str, Any]:
    """A request to cancel or delete: a job of its own, and the image that it is about."""
    found = await job.get()
    return {
        **_job_fields(found),
        "result": found.result,
        "links": {"self": f"/jobs/{job.id}", "image": f"/images/{found.params['image']}"},
    }


def _job_fields(found: Any) -> dict[str, Any]:
    return {
        "job_id": str(found.id),
        "job_type": found.definition,
        "status": found.word(VOCABULARY),
        "attempts": found.attempt,
        "created_at": _moment(found.created_at),
        "locked_at": _moment(found.started_at),
        "finished_at": _moment(found.finished_at),
        "error": error_of(found),
    }


def error_of(found: Any) -> dict[str, str] | None:
    """Why a job failed, or why it is to be tried again: the name of the exception, and its text."""
    if found.error is None:
        return None
    return {"type": found.error.kind.rpartition(".")[2], "text": found.error.message}


def _moment(at: Any) -> str | None:
    return None if at is None else at.isoformat()


def _variants(result: dict[str, Any], settings: Settings) -> dict[str, Any]:
    return {
        name: {
            **{key: value for key, value in one.items() if key != "key"},
            "url": f"{settings.public_url}/{one['key']}",
        }
        for name, one in result["variants"].items()
    }
