"""How schedules and their ticks are printed."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import click

from tenure.api.schedule_shapes import ComingItem, ScheduleItem, TickItem
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.values.text import length_text, plain
from tenure.surfaces.cli.output import moment, styled, table

_NOTHING = "-"
_CHANGES = {
    "moved": "moved: clocks skip its time",
    "merged": "merged: clocks make one run of several",
}


def spelled(namespace: str, name: str) -> str:
    """The name of a schedule as commands take it."""
    return name if namespace == USUAL_NAMESPACE else f"{namespace}/{name}"


def rule_of(item: ScheduleItem) -> str:
    """When it fires, in short."""
    if item.problem is not None:
        return _NOTHING
    if item.cron is None:
        return f"every {_length(item.every_seconds)}"
    return item.cron if item.timezone == "UTC" else f"{item.cron} {item.timezone}"


def print_list(items: Iterable[ScheduleItem]) -> None:
    """A line for each schedule."""
    titles = ("schedule", "rule", "definition", "next", "last", "state")
    rows = [
        (
            spelled(one.namespace, one.id),
            rule_of(one),
            one.definition_key,
            moment(one.next_at),
            moment(one.last_at),
            _state(one),
        )
        for one in items
    ]
    for line in table(titles, rows):
        click.echo(line)


def coming_line(tick: ComingItem) -> str:
    """A tick to come, in a line: when its job starts, and what jitter and a change of clocks make of it."""
    jitter = f"jitter of the tick at {moment(tick.at)}" if tick.starts_at != tick.at else ""
    change = "" if tick.clock_change is None else _CHANGES[tick.clock_change]
    return "  ".join(filter(None, (moment(tick.starts_at), jitter, change)))


def print_schedule(item: ScheduleItem, coming: Sequence[str], ticks: Sequence[TickItem]) -> None:
    """One schedule: what it is, its next ticks, and what became of the last ones."""
    if item.problem is not None:
        _print_unreadable(item)
        return
    version = "newest" if item.definition_version is None else str(item.definition_version)
    facts = {
        "schedule": spelled(item.namespace, item.id),
        "rule": rule_of(item),
        "state": _state(item),
        "definition": f"{item.definition_key}, version {version}",
        "params": plain(bytes(item.params).decode()),
        "missed runs": item.missed,
        "overlap": item.overlap,
        "jitter": f"up to {_length(item.jitter_seconds)}" if item.jitter_seconds else "none",
        "runs left": "any number" if item.remaining is None else str(item.remaining),
        "ends": moment(item.ends_at),
        "from": item.source,
        "revision": str(item.revision),
    }
    width = max(map(len, facts)) + 2
    for name, text in facts.items():
        click.echo(f"{name:<{width}}{text}")
    click.echo("\nnext runs")
    for line in coming or ["none"]:
        click.echo(f"  {line}")
    if ticks:
        click.echo()
        print_ticks(ticks)


def _print_unreadable(item: ScheduleItem) -> None:
    facts = {
        "schedule": spelled(item.namespace, item.id),
        "state": _state(item),
        "definition": item.definition_key,
        "next": moment(item.next_at),
        "problem": plain(item.problem or ""),
    }
    for name, text in facts.items():
        click.echo(f"{name:<12}{text}")


def print_ticks(ticks: Sequence[TickItem]) -> None:
    """A line for each tick, newest first."""
    rows = [
        (
            moment(one.at),
            _outcome(one),
            _NOTHING if one.job_id is None else str(one.job_id),
            one.job_status or _NOTHING,
            plain(one.problem) if one.problem else _NOTHING,
        )
        for one in ticks
    ]
    titles = ("tick", "outcome", "job", "state", "problem")
    for line in table(titles, rows, paint=_painted):
        click.echo(line)


def _outcome(tick: TickItem) -> str:
    """What became of a tick, or of several in a row."""
    if tick.count == 1:
        return tick.outcome
    more = " or more" if tick.count_is_more else ""
    return f"{tick.outcome} x {tick.count:,}{more}, until {moment(tick.until)}"


def _painted(title: str, cell: str) -> str:
    """A cell in colour if it is the state of a job; a tick that made none has no state."""
    return styled(cell) if title == "state" and cell != _NOTHING else cell


def _length(seconds: float | None) -> str:
    return length_text(timedelta(seconds=seconds or 0))


def _state(item: ScheduleItem) -> str:
    if item.problem is not None and not item.paused:
        return "cannot be read: a newer version may have written it"
    if item.paused:
        return f"paused by {plain(item.paused_by or '')}" + (f": {plain(item.reason)}" if item.reason else "")
    return "on" if item.next_at is not None else "over"
