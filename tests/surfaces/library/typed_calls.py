"""What type checkers say of a program that uses the library; it is checked, and never run.

`assert_type` holds where a type must be exact. A line with `type: ignore` must be refused: mypy and pyright
are both told to complain about one that is not needed. mypy checks this file with all others, pyright in
`test_types.py`.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from tenure import Context, JobDefinition, JobHandle, Tenure
from tenure.testing import harness

app = Tenure()


@dataclass
class Welcome:
    to: str


@dataclass
class Thumb:
    width: int


class Reset(TypedDict):
    to: str


class Receipt(BaseModel):
    number: int


@app.job("report", timeout=60)
async def report(params: Welcome, ctx: Context) -> Receipt:
    await ctx.enqueue(thumb, Thumb(3), delay=3)
    await ctx.enqueue(thumb.new_job(Thumb(3)))
    await ctx.enqueue(tick)
    await ctx.enqueue(reset, Reset(to="ada"))
    await ctx.enqueue(thumb, Welcome("ada"))  # type: ignore[misc]
    await ctx.enqueue(thumb)  # type: ignore[arg-type]
    await ctx.enqueue(tick, Welcome("ada"))  # type: ignore[misc]
    return Receipt(number=1)


@app.job("thumb")
def thumb(params: Thumb) -> list[Receipt]:
    return [Receipt(number=params.width)]


@app.job("look")
async def look(ctx: Context) -> str | None:
    return ctx.queue


@app.job("tick")
def tick() -> None: ...


@app.job("reset")
async def reset(params: Reset) -> bool:
    return bool(params)


@app.job("free")
async def free(params: dict[str, Any]) -> dict[str, int]:
    return {"n": len(params)}


@app.job("loose")
async def loose(params: Any, ctx: Context) -> Any:
    return params, ctx


probe = app.command("probe", ["ffprobe"])
convert = app.command("convert", ["convert"], params=Thumb, retry_on=ConnectionError, fatal_on="ExitCode3")


async def the_results_have_the_types_that_functions_return() -> None:
    job = await report.enqueue(Welcome("ada"), priority=3, delay=1.5)
    assert_type(job, JobHandle[Receipt])
    assert_type(await job.wait(timeout=3), Receipt)
    assert_type(await job.result(), Receipt)
    assert_type(job.wait_sync(3), Receipt)
    assert_type(job.result_sync(), Receipt)
    assert_type(thumb.enqueue_sync(Thumb(3)).wait_sync(), list[Receipt])
    assert_type(await (await look.enqueue()).wait(), str | None)
    assert_type(await reset.enqueue_many([{"to": "ada"}]), list[JobHandle[bool]])
    assert_type(report.enqueue_many_sync([Welcome("ada")]), list[JobHandle[Receipt]])
    assert_type((await free.enqueue({"a": 1})).result_sync(), dict[str, int])
    assert_type(report.handle("…"), JobHandle[Receipt])
    assert_type(app.handle("…"), JobHandle[Any])
    assert_type(tick.enqueue_sync(), JobHandle[None])
    looked: JobHandle[str | None] = await look.enqueue({"any": 1})
    await looked.wait()
    await app.enqueue_many([report.new_job(Welcome("ada")), tick.new_job(), look.new_job({"a": 1})])
    await app.enqueue("report", {"to": "ada"})


async def what_a_function_does_not_take_is_refused() -> None:
    await report.enqueue(Thumb(3))  # type: ignore[arg-type]
    await report.enqueue()  # type: ignore[call-arg]
    await report.enqueue(None)  # type: ignore[arg-type]
    await report.enqueue({"to": "ada"})  # type: ignore[arg-type]
    await report.enqueue(Welcome("ada"), priorty=3)  # type: ignore[call-arg]
    await report.enqueue(Welcome("ada"), priority="high")  # type: ignore[arg-type]
    await report.enqueue_many([Thumb(3)])  # type: ignore[list-item]
    report.enqueue_sync(Thumb(3))  # type: ignore[arg-type]
    report.enqueue_sync()  # type: ignore[call-arg]
    report.new_job(Thumb(3))  # type: ignore[arg-type]
    report.new_job()  # type: ignore[call-arg]
    await reset.enqueue({"too": "ada"})  # type: ignore[typeddict-item, typeddict-unknown-key]
    await tick.enqueue(Thumb(3))  # type: ignore[call-overload]
    await look.enqueue(3)  # type: ignore[call-overload]
    await convert.enqueue(Welcome("ada"))  # type: ignore[arg-type]
    wrong: JobHandle[str] = await report.enqueue(Welcome("ada"))  # type: ignore[assignment]
    await wrong.wait()


async def a_function_is_called_as_it_was_written(ctx: Context) -> None:
    assert_type(await report(Welcome("ada"), ctx), Receipt)
    assert_type(await report(Welcome("ada"), ctx=ctx), Receipt)
    assert_type(thumb(Thumb(3)), list[Receipt])
    assert_type(await look(ctx), str | None)
    asyncio.run(report(Welcome("ada"), ctx))
    await report(Thumb(3), ctx)  # type: ignore[arg-type]
    thumb()  # type: ignore[call-arg]
    await loose(1, ctx)
    await (await loose.enqueue({"a": 1})).wait()


def a_program_takes_its_params() -> None:
    convert.enqueue_sync(Thumb(3))
    probe.enqueue_sync()
    probe.enqueue_sync({"path": "a.mp4"})


def a_harness_knows_the_types() -> None:
    with harness(app) as t:
        assert_type(t.enqueue(report, Welcome("ada")), JobHandle[Receipt])
        assert_type(t.enqueue(tick), JobHandle[None])
        assert_type(t.enqueue("report", {"to": "ada"}), JobHandle[Any])
        t.enqueue(report, Thumb(3))  # type: ignore[misc]
        t.enqueue(report)  # type: ignore[arg-type]


async def a_harness_of_an_async_test_does_too() -> None:
    async with harness(app) as t:
        assert_type(await t.enqueue(report, Welcome("ada")), JobHandle[Receipt])
        await t.enqueue(report, Thumb(3))  # type: ignore[misc]


def a_definition_can_be_passed_on(mail: JobDefinition[Welcome, Receipt]) -> JobHandle[Receipt]:
    return mail.enqueue_sync(Welcome("ada"))


def one_that_fits() -> None:
    a_definition_can_be_passed_on(report)
    a_definition_can_be_passed_on(thumb)  # type: ignore[arg-type]
