"""`tenure doctor`: what is wrong with a database, its workers and this host, and what to do."""

from collections.abc import Iterator, Sequence

import click
from click.core import ParameterSource
from msgspec import Struct

from tenure.assemble.host_checkup import SettingInForce, examine_host, settings_in_force
from tenure.core.errors import SchemaMismatch, StoreError, StoreRestored
from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.core.values.text import plain
from tenure.core.values.urls import masked, masked_in
from tenure.engine.health.checkup import examine
from tenure.engine.health.repairs import Mended
from tenure.settings.sources import load
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.calls.doctor_mend import is_sure, mend_all, mendable
from tenure.surfaces.cli.database import Parts, database_option, with_store
from tenure.surfaces.cli.output import json_option, moment, print_json

_CURES: tuple[tuple[type[StoreError], str, str], ...] = (
    (SchemaMismatch, "schema", "run `tenure migrate`, or use the version of tenure that fits"),
    (StoreRestored, "restored", "stop workers and servers, then run `tenure migrate --after-restore`"),
    (StoreError, "unreachable", "is its address right, does its server run, may this user reach it?"),
)
"""The kind of each error and what to do; the first class that matches decides."""


class Diagnosis(Struct, frozen=True, kw_only=True, rename="camel"):
    """All that was found, as JSON shows it."""

    database: str
    is_well: bool
    settings: Sequence[SettingInForce]
    host: Sequence[Fact]
    store: Sequence[Fact]
    findings: Sequence[Symptom]
    mended: Sequence[Mended] | None = None
    """What --mend has done; the findings are those that are left."""


@click.command()
@database_option
@json_option
@click.option(
    "--deep",
    is_flag=True,
    help="Look at every job, in portions, and count all that are stuck; without it, at the newest 100,000.",
)
@click.option(
    "--mend",
    is_flag=True,
    help="Mend jobs that nothing moves on, and free places under limits that no job holds. Asks first.",
)
@click.option("--yes", is_flag=True, help="With --mend: do not ask.")
@click.pass_context
def doctor(ctx: click.Context, database: str, as_json: bool, deep: bool, mend: bool, yes: bool) -> None:
    """Say what is wrong, since when, and what to do. Changes nothing, unless told to --mend.

    Shows settings in force and where they come from, the schema, how attempts are isolated on this host, and
    what needs a person: workers that are silent or not ready, jobs that wait for a definition that no live
    worker serves or in a paused queue, jobs that were put aside or that nothing moves on because their rows
    were changed by hand, effects that may or may not have happened, schedules that fail or that nothing
    fires, webhooks that fail or paused themselves, places under limits that nobody frees, a clock that is
    ahead; and what the database's server, or its file and disk, look like.

    With --mend each job is locked and looked at again: one that has healed by itself is left alone. A queued
    job gets its place in line back, one that waits its timer, and one that is owned without a lease is taken
    from its lost owner, as after a lost worker. Each change is in the audit log. Then all is looked at again.

    The exit code is 0 if no person is needed, and 1 if one is. A database that cannot be reached, or whose
    schema does not fit, ends as for every command, after what is known without it.
    """
    if yes and not mend:
        raise click.UsageError("--yes goes with --mend")
    parts: Parts = ctx.obj
    is_given = ctx.get_parameter_source("database") is ParameterSource.COMMANDLINE
    loaded = load({"database": database if is_given else None})
    host = examine_host(loaded.settings)
    error: StoreError | None = None
    mended: list[Mended] | None = [] if mend else None
    try:
        found = _look(parts, database, deep=deep)
        ill = mendable(found.symptoms) if mend else []
        if ill and (yes or is_sure(ill)):
            mended = mend_all(parts, database, deep=deep, on_mended=_quiet if as_json else _tell)
            found = _look(parts, database, deep=deep)
        elif ill:
            click.echo("nothing was mended", err=True)
    except StoreError as refused:
        error, found = refused, Checkup(symptoms=[_refused(refused)])
    findings = [*found.symptoms, *host.symptoms]
    diagnosis = Diagnosis(
        database=masked(database),
        is_well=not any(finding.needs_person for finding in findings),
        settings=settings_in_force(loaded),
        host=host.facts,
        store=found.facts,
        findings=sorted(findings, key=lambda finding: not finding.needs_person),
        mended=mended,
    )
    _print(diagnosis, as_json=as_json)
    if error is not None:
        raise error
    ctx.exit(0 if diagnosis.is_well else 1)


def _look(parts: Parts, database: str, *, deep: bool) -> Checkup:
    return with_store(parts.store_for(database, create=False), lambda store: _examine(store, deep=deep))


def _tell(mended: Mended) -> None:
    click.echo(f"{mended.outcome} {mended.kind}: {plain(mended.what)}")


def _quiet(_mended: Mended) -> None:
    """What is printed as JSON has it all at the end."""


async def _examine(store: Store, *, deep: bool) -> Checkup:
    fit = await store.verify()
    newer = f"newer, and compatible: it is {fit.found}, this version of tenure knows {fit.known}"
    schema = Fact("schema", newer if fit.is_newer else "fits this version of tenure")
    found = await examine(store, deep=deep)
    return Checkup([schema, *found.facts], found.symptoms)


def _print(diagnosis: Diagnosis, *, as_json: bool) -> None:
    if as_json:
        print_json(diagnosis)
        return
    for line in _lines(diagnosis):
        click.echo(line)


def _refused(error: StoreError) -> Symptom:
    kind, cure = next((kind, cure) for one, kind, cure in _CURES if isinstance(error, one))
    return Symptom(kind=kind, what=masked_in(" ".join(str(error).split())), cure=cure)


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"database {plain(diagnosis.database)}"
    yield from _section("store", [(fact.name, fact.value) for fact in diagnosis.store])
    yield from _section("this host", [(fact.name, fact.value) for fact in diagnosis.host])
    chosen = [one for one in diagnosis.settings if one.source is not None]
    yield from _section(
        "settings", [(one.name, f"{_written(one.value)}  (from {one.source})") for one in chosen]
    )
    others = len(diagnosis.settings) - len(chosen)
    yield f"  {others}{' others' if chosen else ''} have their defaults; --json lists them"
    yield ""
    for finding in diagnosis.findings:
        yield from _finding(finding)
    yield "well: no person is needed" if diagnosis.is_well else "a person is needed"


def _section(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not rows and title != "settings":
        return
    yield ""
    yield click.style(title, bold=True)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        yield f"  {name.ljust(width)}  {plain(value)}"


def _finding(finding: Symptom) -> Iterator[str]:
    mark = click.style("problem", fg="red") if finding.needs_person else click.style("notice", fg="yellow")
    yield f"{mark} {finding.kind}: {plain(finding.what)}"
    if finding.since is not None:
        yield f"  since  {moment(finding.since)}"
    yield f"  to do  {plain(finding.cure)}"
    yield ""


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
