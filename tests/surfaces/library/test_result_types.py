"""Results come back as the type that the function returns, in whatever process has its code."""

import json
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel

from tenure import Context, ResultMismatch, Tenure
from tenure.core.model.lease import Line
from tenure.core.values.documents import write
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.library.definition import JobDefinition
from tenure.testing import harness
from tests.storage.backends import Backend
from tests.storage.verbs import PATIENCE, claim, settle, succeeded
from tests.surfaces.library.param_types import AT, KINDS, NAIVE, Attrs, Data, Model, ModelPlan, Packed, Typed


class Receipt(BaseModel):
    number: int
    at: datetime = AT


def define(app: Tenure, returned: Any, value: Any = None) -> JobDefinition[None, Any]:
    def work() -> Any:
        return value

    work.__annotations__["return"] = returned
    return app.job("work")(work)


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        *((kind, kind(to="ada", plan=part(at=AT))) for kind, part in KINDS.values()),
        (Receipt, Receipt(number=1)),
        (Receipt | None, None),
        (list[Receipt], [Receipt(number=1), Receipt(number=2)]),
        (dict[str, Receipt], {"a": Receipt(number=1)}),
        (Receipt | int, 3),
        (list[Data] | None, [Data("ada")]),
        (tuple[Packed, Attrs], (Packed("ada"), Attrs("bob"))),
        (datetime, AT),
        (None, None),
        ("Receipt", Receipt(number=1)),
        (list["Receipt"], [Receipt(number=1)]),
        (Any, {"a": [1]}),
        (object, {"a": [1]}),
    ],
    ids=str,
)
def test_a_result_is_of_the_type_that_the_function_returns(returned: Any, value: Any) -> None:
    app = Tenure("sqlite:///never.db", settings=Settings())
    job = define(app, returned, value)
    with harness(app) as t:
        made = t.enqueue(job)
        t.drain()
        assert made.result_sync() == value
        assert app.handle(made.id).result_sync() == job.handle(str(made.id)).wait_sync(PATIENCE) == value
        record = made.get_sync()
        assert (record.params, record.result) == ({}, json.loads(write(value)))
        assert t.job(made).result == record.result


@pytest.mark.both_stores
async def test_a_result_of_another_version_is_refused_and_can_still_be_seen(
    app: Tenure, store: Store, backend: Backend
) -> None:
    """It is not handed out as what it is not; a program without the code has plain values anyway."""
    job = await define(app, Receipt).enqueue()
    [owned] = await claim(store, lines=[Line("default", "work")])
    await settle(store, [succeeded(owned, '{"number":"x"}')])
    with pytest.raises(ResultMismatch) as caught:
        await job.wait(timeout=PATIENCE)
    assert (caught.value.job, caught.value.definition) == (job.id, "work")
    assert str(caught.value).startswith(
        f"job {job.id} (work): result/number: Input should be a valid integer"
    )
    assert (await job.get()).result == {"number": "x"}
    async with Tenure(backend.address, settings=Settings()) as other:
        assert await other.handle(job.id).wait() == {"number": "x"}


@pytest.mark.parametrize(
    ("returned", "stored", "words"),
    [
        (Data, '{"too":1}', "result: Object missing required field `to`"),
        (list[Model], '[{"to":"ada"},{}]', "result/1/to: is missing"),
        (datetime, '"2026-01-31T09:30:00"', "result: has no time zone"),
        (Typed, "null", "result: Expected `object`, got `null`"),
        (None, "7", "result: Expected `null`, got `int`"),
        ("Fraction", "7", "its return type cannot be read from JSON: name 'Fraction' is not defined"),
        (
            Data | Packed,
            "{}",
            "its return type cannot be read from JSON: Type unions may not contain more than",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(returned: Any, stored: str, words: str) -> None:
    app = Tenure("sqlite:///never.db", settings=Settings())
    job = define(app, returned)
    with harness(app) as t:
        t.replace(job, lambda: json.loads(stored))
        made = t.enqueue(job)
        t.drain()
        with pytest.raises(ResultMismatch, match=f"job {made.id} ") as caught:
            made.result_sync()
        assert words in str(caught.value)
        assert t.job(made).result == json.loads(stored)


@pytest.mark.parametrize(
    "value", [{"at": NAIVE}, [ModelPlan(at=NAIVE)], Data("ada", plan=KINDS["dataclass"][1](NAIVE))]
)
def test_a_result_with_a_datetime_without_a_time_zone_fails_the_job(value: Any) -> None:
    app = Tenure("sqlite:///never.db", settings=Settings())
    job = define(app, Any, value)
    with harness(app) as t:
        made = t.enqueue(job)
        assert t.drain() == 1  # the work is done: another attempt would do it again
        error = t.job(made).error
        assert error is not None
        assert error.kind == "ResultNotJson"
        assert "is a datetime without a time zone; give it a time zone" in error.message


@pytest.mark.both_stores
async def test_what_is_read_of_a_job_is_values_and_not_text(app: Tenure, store: Store) -> None:
    def mail(params: Model) -> None: ...

    job = await app.job("mail")(mail).enqueue(Model(to="ada", plan=ModelPlan(at=AT)))
    record = await job.get()
    assert record.params == {"to": "ada", "plan": {"at": "2026-01-31T09:30:00Z"}, "many": []}
    assert record.result is None
    assert job.get_sync() == record


def test_the_payload_of_an_event_is_a_value() -> None:
    app = Tenure("sqlite:///never.db", settings=Settings())

    @app.job("work")
    def work(ctx: Context) -> None:
        ctx.emit("read", {"pages": [1, 2]})

    with harness(app) as t:
        job = t.enqueue(work)
        t.drain()
        payloads = {event.type: event.payload for event in job.events_sync()}
        assert payloads["custom:read"] == {"pages": [1, 2]}
        entries = app.events_sync(after="0")
        fed = {entry.event.type: entry.event.payload for entry in (next(entries) for _ in payloads)}
        assert fed == payloads
