"""Records of the library as answers of a web framework."""

import json
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from tenure import Context, Tenure
from tenure.core.reports.why import Why
from tenure.settings.settings import Settings
from tenure.testing import harness

app = Tenure("sqlite:///never-opened.db", settings=Settings())
web = FastAPI()


@app.job("report.build")
async def build(params: dict[str, Any], ctx: Context) -> dict[str, int]:
    ctx.progress(0.5)
    ctx.emit("page", {"n": 1})
    return {"pages": 3}


@app.job("report.break")
def fall(params: dict[str, Any]) -> None:
    raise LookupError("no page")


@web.get("/why/{job}")
async def explain(job: UUID) -> Why:
    return await app.handle(job).why()


@web.get("/untyped/{job}")
async def show(job: UUID):  # type: ignore[no-untyped-def]
    return await app.handle(job).get()


@web.get("/{kind}/{job}")
async def answer(kind: str, job: UUID) -> Any:
    handle = app.handle(job)
    record = await handle.get()
    return {
        "record": record,
        "whys": {"one": await handle.why()},
        "events": await handle.events(),
        "progress": record.progress,
        "error": record.error,
    }[kind]


async def ask(kind: str, job: UUID) -> Any:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://test") as calls:
        answered = await calls.get(f"/{kind}/{job}")
    assert answered.status_code == 200
    return answered.json()


async def test_fastapi_writes_what_the_library_returns() -> None:
    """Whether an endpoint says that it returns anything, that type, or nothing at all."""
    async with harness(app) as t:
        built, broken = await build.enqueue({"of": "day"}), await fall.enqueue({}, max_attempts=1)
        assert (await ask("why", built.id))["code"] == "unserved-definition"
        await t.drain()
        record = await ask("record", built.id)
        assert (record["id"], record["state"]) == (str(built.id), "succeeded")
        assert (record["params"], record["result"]) == ({"of": "day"}, {"pages": 3})
        assert record["created_at"].endswith("Z")
        assert await ask("untyped", built.id) == record
        assert await ask("progress", built.id) == {"fraction": 0.5, "message": ""}
        assert [one["payload"] for one in await ask("events", built.id) if one["payload"]] == [{"n": 1}]
        assert (await ask("whys", built.id))["one"]["code"] == "finished"
        error = await ask("error", broken.id)
        assert (error["kind"], error["message"]) == ("LookupError", "no page")


def test_the_document_of_such_a_server_can_be_made() -> None:
    assert "/why/{job}" in web.openapi()["paths"]


async def test_a_record_as_a_dict_is_json() -> None:
    async with harness(app) as t:
        job = await build.enqueue({})
        await t.drain()
        record = await job.get()
        assert json.loads(json.dumps(dict(record)))["policy"]["max_attempts"] == record.policy.max_attempts
        assert list(dict(await job.why())) == ["code", "sentence", "since", "until", "data"]


async def test_an_app_never_shows_itself() -> None:
    """A handle is no record: what it holds leads to the database's address."""
    async with harness(app):
        job = await build.enqueue({})
        with pytest.raises(TypeError, match="not iterable"):
            dict(job)  # type: ignore[call-overload]
