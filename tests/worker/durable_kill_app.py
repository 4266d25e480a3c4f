"""Handlers whose processes kill themselves at a frame, once: before it, behind it, or at its reply.

Its import changes how every handler of the process asks, so no test imports it.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure import Context, Tenure, backoff
from tenure.execution.handler.replies import MakeRequest, Replies, Reply
from tenure.execution.protocol.messages import DurableQuestion
from tests.worker.durable_app import Params, enter, enter_later
from tests.worker.durable_kill_places import FRAMES, LANES

app = Tenure()
_ask = Replies.ask
_plans: list[tuple[Path, int]] = []
"""The plan of the attempt that runs here, and which frame is next."""


def dying_ask(self: Replies, request: MakeRequest, on_reply: Callable[[Reply], None]) -> None:
    """Send a request, unless the plan says to die before; and so on."""
    if not _plans or not isinstance(request(0), DurableQuestion):
        _ask(self, request, on_reply)
        return
    plan, frame = _plans[0]
    _plans[0] = plan, frame + 1

    def replied(reply: Reply) -> None:
        die_if(plan, frame, "replied")
        on_reply(reply)

    die_if(plan, frame, "before")
    _ask(self, request, replied)
    die_if(plan, frame, "sent")


def die_if(plan: Path, frame: int, side: str) -> None:
    """Die if that is planned, once."""
    try:
        planned = plan.read_text()
    except FileNotFoundError:
        return
    if planned == f"{FRAMES[frame] if frame < len(FRAMES) else ''} {side}":
        plan.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


Replies.ask = dying_ask  # type: ignore[method-assign]


async def flow(params: Params, ctx: Context) -> list[str]:
    """Steps, an effect, a checkpoint, and another step."""
    ledger = params["ledger"]
    _plans[:] = [(Path(f"{ledger}.plan"), 0)]
    done = [await ctx.step(f"step {n}", enter_later, ledger, f"step {n}") for n in range(2)]
    done.append(await ctx.once("charge", enter_later, ledger, "charge"))
    ctx.state["charged"] = True
    await ctx.checkpoint()
    done.append(await ctx.step("step 2", enter_later, ledger, "step 2"))
    return done


def flow_plainly(params: Params, ctx: Context) -> list[str]:
    """The same in plain code."""
    ledger = params["ledger"]
    _plans[:] = [(Path(f"{ledger}.plan"), 0)]
    done = [ctx.step_sync(f"step {n}", enter, ledger, f"step {n}") for n in range(2)]
    done.append(ctx.once_sync("charge", enter, ledger, "charge"))
    ctx.state["charged"] = True
    ctx.checkpoint_sync()
    done.append(ctx.step_sync("step 2", enter, ledger, "step 2"))
    return done


for lane in LANES:
    handler: Any = flow if lane == "async" else flow_plainly
    app.job(f"{lane}.flow", lane=lane, max_attempts=9, retry=backoff(base=0.01, cap=0.05))(handler)
