"""`tenure keys` and `tenure audit`: who may use the HTTP API for what, and what was done with it."""

import getpass
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import click

from tenure.core import key_text
from tenure.core.access import SCOPES, Audited, Deed, Key, NewKey
from tenure.core.bounds import LARGEST_PAGE
from tenure.core.errors import InvalidInput, TenureError
from tenure.storage.contract import Store
from tenure.surfaces import access_views as views
from tenure.surfaces import inputs
from tenure.surfaces.cli.database import Parts, database_option, with_store
from tenure.surfaces.cli.options import read_by
from tenure.surfaces.cli.output import is_terminal, json_option, moment, plain, print_json, table

T = TypeVar("T")


class UnknownKey(TenureError):
    """There is no such key."""


@click.group()
def keys() -> None:
    """Make, list and revoke keys for the HTTP API.

    While there is no key, `tenure api` serves this machine only and asks for none. Once there is one, every
    request needs one, and that stays so: keys are revoked, never deleted.
    """


@keys.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help=f"What it opens, once for each: {', '.join(SCOPES)}. operate includes read and submit, admin all.",
)
@click.option(
    "--definition",
    "definitions",
    multiple=True,
    metavar="KEY",
    help="With submit or work: the only definitions that it knows. It sees only jobs of its own making then.",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="QUEUE",
    help="With work: the only queues whose definitions it may register, and serve, once workers can.",
)
@click.option("--namespace", metavar="NAME", help="The only namespace that it sees and makes jobs in.")
@click.option(
    "--expires",
    "lifetime",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="When it opens nothing any more, from now on, such as 90d; never without it.",
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
    """Make a key and print it: only now, for nobody can see it again."""
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
        # Shown before it opens anything: a key that could not be shown must not be there.
        _show(minted, as_json=as_json)
        await store.add_key(key, _deed("keys create", minted.id))

    _on_store(parts, database, work)
    if is_terminal() and not as_json:
        click.echo(
            f"keep it now: it is not shown again. To revoke it: tenure keys revoke {minted.id}", err=True
        )


@keys.command("list")
@database_option
@json_option
@click.pass_obj
def list_keys(parts: Parts, database: str, as_json: bool) -> None:
    """List keys, those that were made first at the top, without what would open anything."""
    found = _on_store(parts, database, lambda store: store.keys())
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
    """Let a key open nothing from now on. ID is the part between the two underscores."""
    if found := key_text.PATTERN.fullmatch(key):
        key = found[1]  # who shows the whole key means it, and nothing of it is printed or kept

    async def work(store: Store) -> None:
        if not await store.revoke_key(key, _deed("keys revoke", key)):
            raise UnknownKey(f"there is no key {plain(key)}")

    _on_store(parts, database, work)
    click.echo(f"{plain(key)} opens nothing any more")


@click.command()
@click.option(
    "--limit", type=click.IntRange(1, LARGEST_PAGE), default=50, help="How many at most; 50 without it."
)
@database_option
@json_option
@click.pass_obj
def audit(parts: Parts, limit: int, database: str, as_json: bool) -> None:
    """List what was done over HTTP and to keys, by whom, the latest first.

    An outcome is the status of the answer, with what was wrong where it was refused. Without one nobody lived
    to tell it: it may or may not have been done.
    """
    found = _on_store(parts, database, lambda store: store.deeds(limit=limit))
    if as_json:
        print_json({"items": [views.audit_item(one) for one in found]})
        return
    if found:
        titles = ("at", "who", "key", "action", "target", "outcome")
        for line in table(titles, [_told(one) for one in found]):
            click.echo(line)


def _show(minted: key_text.Minted, *, as_json: bool) -> None:
    """Print a key, at once. Raises what the output says to that."""
    if sys.stdout is None:  # so it is for Python when it was closed
        raise InvalidInput("standard output", "is closed, and nobody would see the key", "leave it open")
    try:
        if as_json:
            print_json(views.MadeKey(key_id=minted.id, key=minted.text))
        else:
            click.echo(minted.text)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}: the key cannot be shown, and was not made") from None


def _on_store(parts: Parts, database: str, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    async def verified(store: Store) -> T:
        await store.verify()
        return await work(store)

    return with_store(parts.store_for(database, create=False), verified)


def _deed(action: str, target: str) -> Deed:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    who = plain(f"{user} at {socket.gethostname()}, by command")[:255]
    return Deed(who=who, action=action, target=plain(target)[:255], request=uuid4())


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


def _told(one: Audited) -> tuple[str, ...]:
    deed = one.deed
    return (
        moment(one.at),
        plain(deed.who),
        deed.key or "-",
        plain(deed.action),
        plain(deed.target) or "-",
        one.outcome or "unknown",
    )
