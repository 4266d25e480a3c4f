"""`tenure jobs show`: the whole record of one job."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click
import msgspec

from tenure.api import views
from tenure.api.durable_shapes import StepItem, step_item
from tenure.api.redaction import Redaction
from tenure.api.why_shapes import WhyItem, why_item
from tenure.core.model.child_keys import given_key
from tenure.core.model.durable import KeptStep, ProgressSummary
from tenure.core.model.job import Event, Job
from tenure.core.model.outcome import Attempt
from tenure.core.model.trail import Usage
from tenure.core.reports.why import Why, WhyCode
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.job_ids import JobName, full_id
from tenure.surfaces.cli.options import job_argument
from tenure.surfaces.cli.output import json_option, moment, print_json, styled, table
from tenure.surfaces.cli.progress.commands import IN_DOUBT, step_lines

MOST_EVENTS = 100
"""How many events are shown to people; handlers may emit thousands."""

MOST_STEPS = 50
"""How many steps are shown to people."""

WIDTH = 15
"""Width of the column of names."""

_ATTEMPTS = ("n", "fence", "started", "took", "outcome", "exit", "cpu", "memory", "worker", "error")
_EVENTS = ("n", "at", "event", "from", "to", "attempt", "by")
_TO_THE_RIGHT = frozenset({"n", "fence", "took", "cpu", "memory", "attempt"})


class ShownJob(views.JobDetail, frozen=True, kw_only=True, rename="camel"):
    """A job with its steps, attempts and events, and why it does not run: separate calls of the HTTP API."""

    step_list: Sequence[StepItem]
    attempt_list: Sequence[views.AttemptItem]
    event_list: Sequence[views.EventItem]
    why: WhyItem


class _Record(NamedTuple):
    """All that is shown of a job."""

    job: Job
    kept: ProgressSummary
    steps: list[KeptStep]
    attempts: list[Attempt]
    events: list[Event]
    why: Why


@click.command(short_help="Show one job: its state, attempts and history.")
@job_argument
@database_option
@json_option
@click.pass_obj
def show(parts: Parts, job: JobName, database: str, as_json: bool) -> None:
    """Show one job: its state and why it does not run, its steps, its attempts, and its history.

    --json prints the job as the HTTP API returns it, with `stepList`, `attemptList`, `eventList` and `why`
    added.
    """

    async def work(client: JobClient) -> _Record:
        found = await client.get(await full_id(client, job))
        return _Record(
            found,
            await client.durable.kept(found),
            await client.durable.all_steps(found.id),
            await client.attempts(found.id),
            await client.events(found.id),
            await client.why(found.id),
        )

    found, kept, steps, attempts, events, why = with_client(parts, database, work)
    redaction = redaction_in_force()
    step_list = [step_item(step, found, redaction) for step in steps]
    if as_json:
        print_json(
            ShownJob(
                **msgspec.structs.asdict(views.job_detail(found, redaction, kept)),
                step_list=step_list,
                attempt_list=[views.attempt_item(attempt, redaction) for attempt in attempts],
                event_list=[views.event_item(event, redaction) for event in events],
                why=why_item(why, redaction),
            )
        )
        return
    for name, text in _facts(views.redacted(found, redaction), why_item(why, redaction)):
        click.echo(f"{name.ljust(WIDTH)}{text}")
    if step_list:
        click.echo(f"\n{click.style('steps', bold=True)}")
        for line in step_lines(step_list[-MOST_STEPS:]):
            click.echo(line)
    _print_table("attempts", _ATTEMPTS, [_attempt_cells(attempt, redaction) for attempt in attempts])
    _print_table("history", _EVENTS, [_event_cells(event, redaction) for event in events[-MOST_EVENTS:]])
    if len(steps) > MOST_STEPS:
        click.echo(f"the last {MOST_STEPS} of {len(steps)} steps; `tenure jobs steps` prints all", err=True)
    if len(events) > MOST_EVENTS:
        click.echo(f"the last {MOST_EVENTS} of {len(events)} events; --json prints all", err=True)


def _facts(job: Job, why: WhyItem) -> Iterator[tuple[str, str]]:
    yield "job", str(job.id)
    yield "state", styled(job.state)
    if why.code is not WhyCode.FINISHED:
        yield "why", plain(why.sentence)
    for one in why.data.also:
        if one.code is WhyCode.IN_DOUBT:
            yield IN_DOUBT, plain(one.sentence)
    yield "definition", f"{job.definition}@{job.version}"
    yield "queue", f"{job.queue}, priority {job.priority}"
    yield "attempts", f"{job.attempt} of {job.policy.max_attempts}"
    yield "created", moment(job.created_at)
    times = {"scheduled": job.due_at or job.run_at, "queued": job.queued_at, "started": job.started_at}
    times |= {"asked to stop": job.cancel_requested_at, "finished": job.finished_at}
    texts = {name: moment(at) for name, at in times.items() if at is not None}
    optional = {
        "namespace": job.namespace if job.namespace != "default" else None,
        "key": given_key(job),
        "tags": ", ".join(job.tags),
        "counts for": ", ".join(job.concurrency_keys),
        "parent": job.parent,
        "replay of": job.replay_of,
        **texts,
        "worker": job.worker and f"{job.worker}, its lease ends {moment(job.lease_expires_at)}",
        "progress": job.progress and f"{job.progress.fraction:.0%} {job.progress.message}",
        "params": job.params,
        "result": job.result,
        "error": job.error and views.summary(job.error),
    }
    for name, value in optional.items():
        if value:
            yield name, plain(str(value))
    if job.error is not None and job.error.traceback:
        for line in job.error.traceback.splitlines():
            yield "", plain(line)


def _print_table(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        click.echo(f"\n{click.style(title, bold=True)}")
        for line in table(titles, rows, right=_TO_THE_RIGHT):
            click.echo(line)


def _attempt_cells(attempt: Attempt, redaction: Redaction) -> tuple[str, ...]:
    took = None if attempt.ended_at is None else attempt.ended_at - attempt.started_at
    usage = attempt.usage
    return (
        str(attempt.number),
        str(attempt.fence),
        moment(attempt.started_at),
        "-" if took is None else f"{took.total_seconds():.3f}s",
        attempt.ending or "running",
        _exit(usage),
        "-" if usage is None else f"{usage.cpu.total_seconds():.3f}s",
        "-" if usage is None else f"{usage.peak_memory / 2**20:.1f}M",
        plain(attempt.worker),
        "" if attempt.error is None else plain(redaction.text(views.summary(attempt.error))),
    )


def _exit(usage: Usage | None) -> str:
    if usage is None:
        return "-"
    if usage.signal is not None:
        return f"signal {usage.signal}"
    return "-" if usage.exit_code is None else str(usage.exit_code)


def _event_cells(event: Event, redaction: Redaction) -> tuple[str, ...]:
    reason = f" ({redaction.text(event.reason)})" if event.reason else ""
    payload = f" {redaction.document(event.payload)}" if event.payload is not None else ""
    return (
        str(event.n),
        moment(event.at),
        event.type,
        event.source or "-",
        event.target,
        str(event.attempt),
        plain(f"{event.actor}{reason}{payload}"),
    )
