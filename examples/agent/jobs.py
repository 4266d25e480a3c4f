"""The agent: one job that talks with a model until that wants nothing more."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from examples.agent import model, tools
from tenure import Context, Fatal, Tenure, backoff

MOST_TURNS = 20
PATIENCE = timedelta(days=3)
"""How long the agent waits for a person."""

app = Tenure()


@dataclass
class Wish:
    """What a traveller wants, such as "Two of us to Lisbon on Friday"."""

    text: str


@app.job("agent.travel", max_attempts=10, retry=backoff(base=1, cap=30), timeout=600)
async def travel(wish: Wish, ctx: Context) -> dict[str, Any]:
    """Ask the model what to do next, do it, and tell the model what came of it.

    Whenever it is stopped, it begins again here, and comes to the same place by what is kept: a turn that is
    over is in the state, and of the turn that was under way each call that had an answer is a step.
    """
    plan = await ctx.step("plan", model.plan, wish.text)
    results: dict[str, Any] = ctx.state.setdefault("results", {})
    for turn in range(ctx.state.get("turn", 1), MOST_TURNS + 1):
        said = await ctx.step(f"think {turn}", model.think, plan, results)
        ctx.log.info(said["text"], turn=turn)
        if not said["calls"]:
            return {"answer": said["text"], "tokens": ctx.state.get("tokens", 0) + said["tokens"]}
        answers = {call["tool"]: await use(ctx, call, f"{call['tool']} {turn}") for call in said["calls"]}
        results |= answers
        ctx.state.update(turn=turn + 1, tokens=ctx.state.get("tokens", 0) + said["tokens"])
        await ctx.checkpoint()
        ctx.progress(min(turn / 6, 1), said["text"])
    raise Fatal(f"the model wants more after {MOST_TURNS} turns")


async def use(ctx: Context, call: model.Call, name: str) -> Any:
    """Call a tool as it bears it."""
    tool, arguments = call["tool"], call["arguments"]
    if tool == "ask_person":
        return await ask(ctx)
    if tool in tools.BY_KEY:
        # A crash before the answer is kept repeats the call: under the same key, which the service knows.
        return await ctx.step(name, tools.BY_KEY[tool], arguments, ctx.idempotency_key(name))
    if tool in tools.UNKEYED:
        # This service knows no key: after such a crash a person looks whether it has happened.
        return await ctx.once(name, tools.UNKEYED[tool], arguments) or {"receipt": "paid, as a person says"}
    raise Fatal(f"the model wants a tool {tool!r}, which there is not")


async def ask(ctx: Context) -> dict[str, Any]:
    """Wait for the signal `approved`, without a slot; nobody who answers is a no."""
    try:
        answer = await ctx.wait_for("approved", timeout=PATIENCE)
    except TimeoutError:
        return {"approved": False, "why": "nobody has answered"}
    match answer:
        case {"by": who, "no": why}:
            return {"approved": False, "why": f"{who} says {why}"}
        case {"by": who}:
            return {"approved": True, "why": f"{who} approves"}
        case _:
            return {"approved": False, "why": "the answer names nobody"}
