"""A small shop, as a user writes it: jobs, and functions that enqueue them."""

import asyncio
import contextvars
import threading
from dataclasses import dataclass

from tenure import Context, Fatal, Snooze, Tenure

app = Tenure("sqlite:///no-test-may-make-this-file.db")
tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


@dataclass
class Welcome:
    to: str
    subject: str = "Welcome"


@dataclass
class Order:
    number: int
    items: int = 2


@app.job("email.welcome", max_attempts=3, queue="mail")
async def welcome(params: Welcome, ctx: Context) -> dict[str, object]:
    ctx.log.info("sending", to=params.to)
    ctx.progress(1.0, "sent")
    return {"sent": params.to, "attempt": ctx.attempt}


@app.job("order.pack", concurrency=1, concurrency_key="number")
def pack(params: Order, ctx: Context) -> dict[str, object]:
    ctx.emit("packed", {"items": params.items})
    return {"thread": threading.current_thread() is threading.main_thread(), "tenant": tenant.get()}


@app.job("order.place")
def place(params: Order, ctx: Context) -> int:
    if params.number < 0:
        raise Fatal("there is no such order")
    for item in range(params.items):
        ctx.enqueue_sync(pack, Order(params.number, item))
    return params.items


@app.job("order.ship")
async def ship(params: Order, ctx: Context) -> None:
    await ctx.enqueue(welcome, Welcome(f"customer-{params.number}"), delay=60)


@app.job("stock.poll", max_attempts=1)
async def poll(ctx: Context) -> str:
    if ctx.attempt == 1 and ctx.fence < 3:
        raise Snooze(for_=600)
    return "in stock"


@app.job("order.wait")
async def wait(ctx: Context) -> None:
    await asyncio.Event().wait()


@app.job("order.sort")
def sort(ctx: Context) -> None:
    while not ctx.cancelled.block(60):
        pass
    ctx.check_cancelled()


@app.job("order.again", max_attempts=1)
def again(ctx: Context) -> None:
    raise Snooze(for_=0)


@app.job("params.alone")
async def alone(params: Welcome) -> str:
    return asyncio.current_task().get_name()  # type: ignore[union-attr]


probe = app.command("video.probe", ["/no/such/ffprobe"], params=Order)


def sign_up(address: str) -> str:
    """Plain code of the app, which knows nothing of tests."""
    return str(welcome.enqueue_sync(Welcome(address), idempotency_key=f"signup-{address}").id)


async def sign_up_later(address: str) -> str:
    """The same in async code."""
    return str((await welcome.enqueue(Welcome(address), delay=3600)).id)
