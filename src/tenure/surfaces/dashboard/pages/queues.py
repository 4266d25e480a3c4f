"""Queues: how much stands in each and since when, who serves it, and whether anything is claimed."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from tenure.core.bounds import named, printable
from tenure.core.errors import InvalidInput
from tenure.core.flow import Flows
from tenure.core.operations import LineStatus, Pause
from tenure.core.states import State
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.forms import Form
from tenure.surfaces.http.problems import Refusal

MOST_LINES = 200
"""Lines that the page shows, those with the most jobs in them."""

ADDRESS = "/ui/queues"


class PauseForm(Form, frozen=True, kw_only=True):
    """Why nothing is to be claimed."""

    reason: str | None = None


class Queue(Struct, frozen=True):
    """A queue and the lines of it that are shown."""

    name: str
    pause: Pause | None
    queued: int
    running: int
    oldest: datetime | None
    a_minute: tuple[float, float, float]
    """What is put in, begins and ends."""

    lines: Sequence[LineStatus]


async def queues(desk: Desk, asked: Asked) -> Answer:
    """Every queue, the fullest lines first."""
    lines = await desk.client.lines()
    shown = sorted(lines, key=lambda line: (-_under_way(line), line.line))[:MOST_LINES]
    return render(
        asked,
        "queues.html",
        fragment="_queues.html",
        queues=_by_queue(shown, await desk.passing.look()),
        left_out=len(lines) - len(shown),
    )


async def pause(desk: Desk, asked: Asked) -> Answer:
    """Let nothing be claimed from a queue."""
    form: PauseForm = asked.body
    if form.reason is not None:
        printable("reason", form.reason)
    await desk.client.pause(_queue(asked), reason=form.reason, by=asked.caller.name)
    return see_other(ADDRESS)


async def resume(desk: Desk, asked: Asked) -> Answer:
    """Let workers claim from a queue again."""
    await desk.client.resume(_queue(asked))
    return see_other(ADDRESS)


def _by_queue(lines: Sequence[LineStatus], flows: Flows) -> list[Queue]:
    names = sorted({line.line.queue for line in lines})
    return [_made(name, [line for line in lines if line.line.queue == name], flows) for name in names]


def _made(name: str, lines: Sequence[LineStatus], flows: Flows) -> Queue:
    return Queue(
        name,
        next((line.pause for line in lines if line.pause), None),
        sum(line.counts.get(State.QUEUED, 0) for line in lines),
        sum(line.counts.get(State.RUNNING, 0) for line in lines),
        min((line.oldest for line in lines if line.oldest), default=None),
        flows.a_minute(name),
        lines,
    )


def _under_way(line: LineStatus) -> int:
    return sum(count for state, count in line.counts.items() if not state.is_final)


def _queue(asked: Asked) -> str:
    try:
        named("queue", asked.path["queue"])
    except InvalidInput:
        raise Refusal("not-found", "no queue can have this name") from None
    return asked.path["queue"]
