"""`tenure jobs steps`, `signal` and `answer`: the progress that a job keeps, and what is sent to it."""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

import click

from tenure.api.durable_shapes import StepItem, Steps, step_item
from tenure.api.views import Accepted
from tenure.core.errors import InvalidInput
from tenure.core.model.durable import EffectAnswer, KeptStep, Signal
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.values.documents import NULL, Document
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.job_ids import JobName, full_id
from tenure.surfaces.cli.options import job_argument, read_document
from tenure.surfaces.cli.output import json_option, moment, print_json, styled, table

ACTOR = "cli"
"""The actor in the history of a job."""

LONGEST_RESULT = 120
"""How many characters of a result are shown to people."""

IN_DOUBT = "in doubt"

_STEPS = ("step", "kind", "status", "at", "until", "result")


@click.command(short_help="Show the steps that a job has kept.")
@job_argument
@database_option
@json_option
@click.pass_obj
def steps(parts: Parts, job: JobName, database: str, as_json: bool) -> None:
    """Show the steps that a job has kept, in the order in which they were first kept, with their results.

    A later attempt finds them and does not run them again. --json prints whole results.
    """

    async def work(client: JobClient) -> tuple[Job, list[KeptStep]]:
        found = await client.get(await full_id(client, job))
        return found, await client.durable.all_steps(found.id)

    found, kept = with_client(parts, database, work)
    redaction = redaction_in_force()
    items = [step_item(step, found, redaction) for step in kept]
    if as_json:
        print_json(Steps(items=items, next_cursor=None))
    elif items:
        for line in step_lines(items):
            click.echo(line)
    else:
        click.echo("the job has kept no steps", err=True)


@click.command(short_help="Send a job a signal.")
@job_argument
@click.argument("name", metavar="NAME")
@click.argument("payload", metavar="[PAYLOAD]", default="null")
@database_option
@json_option
@click.pass_obj
def signal(parts: Parts, job: JobName, name: str, payload: str, database: str, as_json: bool) -> None:
    """Send a job a signal that it waits for, or will wait for.

    PAYLOAD is JSON, @ and the name of a file, or - for standard input; default: null. The first payload of a
    name stands: the same one again changes nothing, and another one is a failure. So is a job that has ended.
    """
    told = Signal(name=name, by=ACTOR, body=read_document("payload", payload))
    others: list[str] = []

    async def one(client: JobClient, which: UUID) -> State:
        state = (await client.durable.signal(which, told)).state
        if state is State.SUSPENDED:  # a name that is misspelt would be kept without a word
            wait = (await client.durable.kept(await client.get(which))).wait
            others.extend([wait.signal] if wait is not None and wait.signal is not None else [])
        return state

    _send(parts, database, job, "signal", one, as_json=as_json)
    for other in others:
        click.echo(f"the signal {name!r} is kept; what the job waits for now is {other!r}", err=True)


@click.command(short_help="Say whether an effect in doubt has happened.")
@job_argument
@click.argument("name", metavar="NAME")
@click.option("--happened/--did-not-happen", default=None, help="Whether the effect has happened.")
@click.option(
    "--result",
    metavar="JSON|@FILE|-",
    help="Its result, if it has happened: JSON, @ and the name of a file, or - for standard input.",
)
@database_option
@json_option
@click.pass_obj
def answer(
    parts: Parts,
    job: JobName,
    name: str,
    happened: bool | None,
    result: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Say whether an effect in doubt has happened: its attempt began it, and ended before it was on record.

    NAME is the step of the effect. Look where the effect would be, then answer. If it happened, the step is
    done, with the given result; if not, the next attempt does it. A job that waits for the answer goes on.
    Jobs that have ended take answers, too.
    """
    if happened is None:
        raise InvalidInput("--happened", "is missing", "give it, or --did-not-happen")
    if result is not None and not happened:
        raise InvalidInput("--result", "cannot be combined with --did-not-happen", "leave it out")
    document = NULL if result is None else read_document("result", result)
    said = EffectAnswer(step=name, happened=happened, by=ACTOR, result=document)

    async def one(client: JobClient, which: UUID) -> State:
        return (await client.durable.answer(which, said)).state

    _send(parts, database, job, "answer", one, as_json=as_json)


def step_lines(items: list[StepItem]) -> list[str]:
    """The steps as a table for people."""
    return table(_STEPS, [_cells(item) for item in items])


def _cells(item: StepItem) -> tuple[str, ...]:
    result = "" if item.result is None else plain(Document(bytes(item.result).decode()))
    shown = result if len(result) <= LONGEST_RESULT else f"{result[: LONGEST_RESULT - 1]}…"
    return (
        plain(item.name),
        item.kind,
        IN_DOUBT if item.in_doubt else item.status,
        moment(item.at),
        moment(item.until),
        shown,
    )


def _send(
    parts: Parts,
    database: str,
    job: JobName,
    verb: str,
    one: Callable[[JobClient, UUID], Awaitable[State]],
    *,
    as_json: bool,
) -> None:
    """Change a job on record, and show its state after that."""

    async def work(changes: Changes) -> tuple[UUID, State]:
        which = await full_id(changes.client, job)
        return which, await changes.make(f"jobs {verb}", str(which), partial(one, changes.client, which))

    which, state = with_changes(parts, database, work)
    if as_json:
        print_json(Accepted(job_id=which, status=state))
    else:
        click.echo(f"{which} {styled(state)}")
