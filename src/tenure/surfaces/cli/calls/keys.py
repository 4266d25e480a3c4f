"""`tenure keys` and `tenure audit`: keys for the HTTP API, and the log of what was changed."""

import sys
from datetime import timedelta

import click

from tenure.api import access_views as views
from tenure.api import inputs
from tenure.core.errors import InvalidInput, TenureError
from tenure.core.reports.access import SCOPES, AuditRecord, Key, NewKey
from tenure.core.values import key_text
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.values.text import plain
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.changes import audit_entry
from tenure.surfaces.cli.database import Parts, database_option, with_verified_store
from tenure.surfaces.cli.options import read_by
from tenure.surfaces.cli.output import is_terminal, json_option, moment, print_json, table


class UnknownKey(TenureError):
    """There is no such key."""


@click.group()
def keys() -> None:
    """Create, list and revoke keys for the HTTP API.

    Without keys, the server listens on this machine only and asks for none. From the first key on, every
    request needs a key, for good: keys are revoked, never deleted.
    """


@keys.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="What the key allows; may be repeated. One of "
    f"{', '.join(SCOPES)}. operate includes read and submit; admin includes all.",
)
@click.option(
    "--definition",
    "definitions",
    multiple=True,
    metavar="KEY",
    help="With submit or work: the only definitions the key may use. It then sees only jobs that it made.",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="QUEUE",
    help="With work: the only queues whose definitions the key may register and serve.",
)
@click.option("--namespace", metavar="NAME", help="The only namespace in which the key sees and makes jobs.")
@click.option(
    "--expires",
    "lifetime",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="How long the key is valid, such as 90d; default: until it is revoked.",
)
@database_option
@json_option
@click.pass_obj
def create(
    parts: Parts,
    name: str,
    scopes: tuple[str, ...],
    definitions: tuple[str, ...],
    queues: tuple[str, ...],
    namespace: str | None,
    lifetime: timedelta | None,
    database: str,
    as_json: bool,
) -> None:
    """Create a key and print it. It cannot be shown again."""
    minted = key_text.mint()
    key = NewKey(
        id=minted.id,
        digest=minted.digest,
        name=name,
        scopes=scopes,
        definitions=definitions,
        queues=queues,
        namespace=namespace,
        lifetime=lifetime,
    )

    async def work(store: Store) -> None:
        # Shown before it is stored: a key that could not be shown must not exist.
        _show(minted, as_json=as_json)
        await store.add_key(key, audit_entry("keys create", minted.id))

    with_verified_store(parts, database, work)
    if is_terminal() and not as_json:
        click.echo(
            f"save it now: it is not shown again. To revoke it: tenure keys revoke {minted.id}", err=True
        )


@keys.command("list")
@database_option
@json_option
@click.pass_obj
def list_keys(parts: Parts, database: str, as_json: bool) -> None:
    """List keys, the oldest first, without their secrets."""
    found = with_verified_store(parts, database, lambda store: store.keys())
    if as_json:
        print_json({"items": [views.key_item(key) for key in found]})
    elif found:
        titles = ("id", "name", "scopes", "bound to", "made", "used", "ends")
        for line in table(titles, [_cells(key) for key in found]):
            click.echo(line)
    elif is_terminal():
        click.echo("no keys", err=True)


@keys.command()
@click.argument("key", metavar="ID")
@database_option
@click.pass_obj
def revoke(parts: Parts, key: str, database: str) -> None:
    """Revoke a key, at once and for good. ID is the part of the key between the two underscores."""
    if found := key_text.PATTERN.fullmatch(key):
        key = found[1]  # the whole key was given: its secret is neither printed nor stored

    async def work(store: Store) -> None:
        if not await store.revoke_key(key, audit_entry("keys revoke", key)):
            raise UnknownKey(f"there is no key {plain(key)}")

    with_verified_store(parts, database, work)
    click.echo(f"{plain(key)} is revoked")


@click.command(short_help="List what was changed, and by whom, the latest first.")
@click.option(
    "--limit",
    type=click.IntRange(1, LARGEST_PAGE),
    default=50,
    help="How many entries to list at most; default: 50.",
)
@database_option
@json_option
@click.pass_obj
def audit(parts: Parts, limit: int, database: str, as_json: bool) -> None:
    """List what was changed over HTTP and by commands, and by whom, the latest first.

    The outcome of a request is the status of its response, with the problem if it was refused; that of a
    command is `done`, or `refused` and why. It is unknown if the process died before it could record one: the
    change may or may not have been made.
    """
    found = with_verified_store(parts, database, lambda store: store.audit_entries(limit=limit))
    if as_json:
        print_json({"items": [views.audit_item(one) for one in found]})
        return
    if found:
        titles = ("at", "who", "key", "action", "target", "outcome")
        for line in table(titles, [_audit_cells(one) for one in found]):
            click.echo(line)


def _show(minted: key_text.Minted, *, as_json: bool) -> None:
    """Print a key at once. Raises OSError if the output cannot be written."""
    if sys.stdout is None:  # Python's way to say that it is closed
        raise InvalidInput("standard output", "is closed, so the key cannot be shown", "leave it open")
    try:
        if as_json:
            print_json(views.MadeKey(key_id=minted.id, key=minted.text))
        else:
            click.echo(minted.text)
    except OSError as error:
        raise OSError(
            error.errno, f"{error.strerror}: the key cannot be shown, and was not created"
        ) from None


def _cells(key: Key) -> tuple[str, ...]:
    bound = [*key.definitions, *key.queues, *([f"namespace {key.namespace}"] if key.namespace else [])]
    ends = f"revoked {moment(key.revoked_at)}" if key.revoked_at else moment(key.expires_at)
    return (
        key.id,
        plain(key.name),
        ",".join(key.scopes),
        ",".join(bound) or "-",
        moment(key.created_at),
        moment(key.last_used_at),
        ends,
    )


def _audit_cells(one: AuditRecord) -> tuple[str, ...]:
    entry = one.entry
    return (
        moment(one.at),
        plain(entry.who),
        entry.key or "-",
        plain(entry.action),
        plain(entry.target) or "-",
        one.outcome or "unknown",
    )
