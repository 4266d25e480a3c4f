"""The table of what a handler can do: each of its lines is run as the only line of a handler."""

import asyncio
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tenure import Tenure
from tenure.settings.settings import Settings
from tenure.testing import Context, harness

PAGE = (Path(__file__).parents[2] / "docs/reference/python.md").read_text()
TABLE = PAGE.partition("## What a handler can do")[2].partition("\n## ")[0]
LINES = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", TABLE, re.MULTILINE))

PROGRAM = """
import asyncio, subprocess, tempfile
from dataclasses import dataclass
from opentelemetry import trace
from tenure import Fatal, Retry, Snooze, instrument

@dataclass
class Receipt:
    order: int

@dataclass
class Welcome:
    to: str

done = []
upload = render = lambda: done.append(True)

@app.job("receipt.send")
def receipt(params: Receipt) -> None: ...

@app.job("email.welcome")
async def welcome(params: Welcome, ctx):
{line}
    return locals().get(name_of_value)
"""

AFTER = {
    "raise ConnectionError": ("retrying", "the mail server is away"),
    "raise Retry": ("retrying", "busy"),
    "raise Snooze": ("suspended", None),
    "raise Fatal": ("failed", "there is no such customer"),
}
"""By how a line begins: the state of its job afterwards, and what is wrong with it."""


def test_the_table_has_lines() -> None:
    assert len(LINES) > 20


@pytest.mark.parametrize("line", [line for line in LINES.values() if not line.startswith("raise ")])
async def test_a_line_does_what_the_table_says(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    names = _program(line)
    ctx = Context({"to": "ada"}, app=names["app"], traceparent=f"00-{'a' * 32}-{'b' * 16}-01")
    returned = await names["welcome"](names["Welcome"]("ada"), ctx)
    printed = capfd.readouterr().out
    assert _seen(line, ctx, returned, printed, names["done"])
    if "cancelled" in line and "block" not in line:
        ctx.cancel()
        again: asyncio.Future[Any] = asyncio.ensure_future(names["welcome"](names["Welcome"]("ada"), ctx))
        await asyncio.wait([again])
        assert again.cancelled() or again.result() != returned


@pytest.mark.parametrize("beginning", AFTER)
def test_a_line_that_raises_ends_its_attempt_so(beginning: str) -> None:
    [line] = [line for line in LINES.values() if line.startswith(beginning)]
    names = _program(line)
    with harness(names["app"]) as t:
        job = t.enqueue("email.welcome", {"to": "ada"})
        t.drain()
        found = t.job(job)
    assert (found.state, found.error and found.error.message) == AFTER[beginning]


def _program(line: str) -> dict[str, Any]:
    """The program with the line in its handler, which returns what the line assigns, if it does."""
    names: dict[str, Any] = {"app": Tenure(settings=Settings()), "__name__": "jobs"}
    assigned = re.match(r"(\w+) = ", line)
    names["name_of_value"] = assigned[1] if assigned else ""
    exec(PROGRAM.replace("{line}", textwrap.indent(line, "    ")), names)  # noqa: S102
    return names


def _seen(  # noqa: PLR0912
    line: str, ctx: Context, returned: Any, printed: str, done: list[bool]
) -> bool:
    match line.split("(", maxsplit=1)[0].split(" = ", maxsplit=1)[0].split("{", maxsplit=1)[0].strip():
        case "ctx.log.info":
            return ctx.logged == [("info", "sending", {"to": "ada"})]
        case "print":
            return printed == "sent to ada\n"
        case "ctx.progress":
            return [(one.fraction, one.message) for one in ctx.reported] == [(0.5, "page 5 of 10")]
        case "ctx.emit":
            return ctx.emitted == [("mail.accepted", {"id": 7})]
        case "return":
            return bool(returned == {"sent": "ada"})
        case "await ctx.enqueue":
            return [child.params for child in ctx.children] == [{"order": 7}]
        case "await ctx.enqueue_many":
            return [child.params for child in ctx.children] == [{"order": n} for n in range(3)]
        case "is_first":
            return returned is True
        case "name":
            return bool(returned == f"{ctx.definition}@1 {ctx.job_id}")
        case "key":
            return bool(returned == ctx.idempotency_key("charge") != ctx.idempotency_key("refund"))
        case "number":
            return bool(returned == ctx.fence)
        case "ctx.check_cancelled" | "ctx.cancelled.block":
            return returned is None
        case "done":
            return returned is False
        case "folder":
            folder = Path(returned)
            is_there = folder.is_dir()
            folder.rmdir()
            return is_there
        case "subprocess.run":
            return printed == "done\n"
        case "ctx.metrics.count":
            return [(what, *labels, n) for what, labels, n in ctx.measured] == [("counted", "mails", 1)]
        case "ctx.metrics.observe":
            return [(*labels, n) for _, labels, n in ctx.measured] == [("attachment_bytes", 512)]
        case "with instrument.external" | "with trace.get_tracer":
            return done == [True]
        case "headers":
            return bool(returned["traceparent"] == ctx.traceparent)
        case other:
            raise AssertionError(f"say how to see that {other} has worked")
