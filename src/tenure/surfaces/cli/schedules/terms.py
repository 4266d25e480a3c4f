"""The options by which a schedule is created and edited."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import click
from msgspec.structs import replace

from tenure.api import inputs
from tenure.core.errors import InvalidInput
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Overlap, ScheduledJob, ScheduleName
from tenure.surfaces.cli.options import moment_option, params_option, read_by, read_params

_RULE = ("cron", "every", "timezone", "starts_at", "ends_at")
_JOB = ("version", "queue", "priority", "max_attempts", "timeout")

_SHARED = (
    click.option("--cron", metavar="EXPRESSION", help="Five fields, such as '0 3 * * 1-5', or @daily."),
    click.option(
        "--every", metavar="DURATION", callback=read_by(inputs.duration), help="Such as 90s, 15m or 2h."
    ),
    click.option("--timezone", metavar="NAME", help="Such as Europe/Berlin; default: UTC."),
    params_option("Params of its jobs: JSON, @ and the name of a file, or -."),
    click.option("--queue", metavar="NAME", help="Queue in place of the definition's."),
    click.option("--priority", type=int, metavar="N", help="From -32767 to 32767; higher runs first."),
    click.option("--max-attempts", type=int, metavar="N", help="How often a job may be tried, 1 to 100."),
    click.option(
        "--timeout",
        metavar="DURATION",
        callback=read_by(inputs.duration),
        help="How long an attempt may take.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="Tag of its jobs; may be repeated."),
    click.option(
        "--missed",
        type=click.Choice([one.value for one in Missed]),
        help="Runs that were missed: none of them, the last one, or all (at most 100). Default: one.",
    ),
    click.option(
        "--overlap",
        type=click.Choice([one.value for one in Overlap]),
        help="A tick while the job of an earlier one has not ended: run both, leave the new one out, let it"
        " wait, or cancel the old one. Default: allow.",
    ),
    click.option(
        "--jitter",
        metavar="DURATION",
        callback=read_by(inputs.duration),
        help="Start each job at a moment within this time after its tick.",
    ),
    click.option("--remaining", type=click.IntRange(min=1), metavar="N", help="How many runs are left."),
    moment_option("--starts-at", "No tick before this time; intervals count from it. Default: now."),
    moment_option("--ends-at", "No tick after this time."),
    click.option("--version", type=int, metavar="N", help="Version of the definition; default: the newest."),
)


_OPTIONAL = (*_JOB, "tags", "ends_at", "remaining")
"""What an edit can take away."""


def create_terms(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `create`."""
    required = click.option("--definition", metavar="KEY", required=True, help="Definition of its jobs.")
    paused = click.option(
        "--paused", "is_paused", is_flag=True, help="Create it, but do not let it fire yet."
    )
    return _with((required, *_SHARED, paused), command)


def edit_terms(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `edit`."""
    definition = click.option("--definition", metavar="KEY", help="Definition of its jobs.")
    unset = click.option(
        "--unset",
        multiple=True,
        type=click.Choice(words := sorted(map(_word, _OPTIONAL))),
        metavar="NAME",
        help=f"Take away one of {', '.join(words)}: what the definition says counts again, or no bound does. "
        "May be repeated.",
    )
    return _with((definition, *_SHARED, unset), command)


def new_schedule(name: ScheduleName, now: datetime, terms: Mapping[str, Any]) -> NewSchedule:
    """The schedule that the options of `create` describe; without a start it begins now."""
    rule = {"cron": None, "every": None, "starts_at": now, **_given(terms, _RULE)}
    return NewSchedule(
        id=name.name,
        namespace=name.namespace,
        job=ScheduledJob(**_job(terms)),
        recurrence=Recurrence(**rule),
        is_paused=terms["is_paused"],
        **_rest(terms),
    )


def changed_by(known: NewSchedule, terms: Mapping[str, Any]) -> NewSchedule:
    """A schedule with what the options of `edit` change."""
    if not _given(terms, terms):
        raise InvalidInput("options", "change nothing", "see `tenure schedules edit --help`")
    if both := _unset(terms, _OPTIONAL).keys() & _given(terms, _OPTIONAL).keys():
        raise InvalidInput(_word(min(both)), "is given and unset", "do one of the two")
    rule = _given(terms, _RULE) | _unset(terms, ["ends_at"])
    if ("cron" in rule) != ("every" in rule):
        rule = {"cron": None, "every": None, **rule}
    return replace(
        known,
        job=replace(known.job, **_job(terms), **_unset(terms, [*_JOB, "tags"])),
        recurrence=replace(known.recurrence, **rule),
        **_rest(terms),
        **_unset(terms, ["remaining"]),
    )


def recounts(terms: Mapping[str, Any]) -> bool:
    """Whether the options of `edit` say how many runs are left."""
    return terms["remaining"] is not None or "remaining" in terms["unset"]


def _unset(terms: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What is taken away of some terms, as it is without them."""
    return {name: () if name == "tags" else None for name in names if _word(name) in terms["unset"]}


def _word(name: str) -> str:
    return name.replace("_", "-")


def _with(options: tuple[Callable[..., Any], ...], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def _given(terms: Mapping[str, Any], names: Any) -> dict[str, Any]:
    return {name: terms[name] for name in names if terms[name] not in (None, ())}


def _job(terms: Mapping[str, Any]) -> dict[str, Any]:
    job = _given(terms, ("definition", *_JOB, "tags"))
    if terms["params"] is not None:
        job["params"] = read_params(terms["params"])
    return job


def _rest(terms: Mapping[str, Any]) -> dict[str, Any]:
    rest = _given(terms, ("jitter", "remaining"))
    if terms["missed"] is not None:
        rest["missed"] = Missed(terms["missed"])
    if terms["overlap"] is not None:
        rest["overlap"] = Overlap(terms["overlap"])
    return rest
