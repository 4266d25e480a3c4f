"""The options by which a webhook is created and edited."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import click
from msgspec.structs import replace

from tenure.api import inputs
from tenure.core.errors import InvalidInput
from tenure.core.webhooks.webhook import GROUPS, MOST_TRIES, NewWebhook
from tenure.surfaces.cli.options import read_by

_LISTS = ("events", "definitions", "queues", "tags")
_REST = ("url", "with_params", "with_result", "tries", "timeout")

_SHARED = (
    click.option(
        "--definition", "definitions", multiple=True, metavar="KEY", help="Only of this definition."
    ),
    click.option("--queue", "queues", multiple=True, metavar="NAME", help="Only of jobs in this queue."),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only of jobs with this tag."),
    click.option(
        "--with-params/--without-params", default=None, help="Send the params of the job along, or not."
    ),
    click.option(
        "--with-result/--without-result", default=None, help="Send the result of the job along, or not."
    ),
    click.option(
        "--tries",
        type=click.IntRange(1, MOST_TRIES),
        metavar="N",
        help=f"How often a delivery is tried. Default: {MOST_TRIES}, which is also the most.",
    ),
    click.option(
        "--timeout",
        metavar="DURATION",
        callback=read_by(inputs.duration),
        help="How long one try may take, 1s to 30s. Default: 10s.",
    ),
)


def _events(*, required: bool) -> Callable[[Any], Any]:
    return click.option(
        "--event",
        "events",
        multiple=True,
        required=required,
        metavar="TYPE",
        help=f"What is sent; may be repeated: {', '.join(GROUPS)}, or the type of an event such as failed or"
        " custom:paid.",
    )


def create_terms(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `create`."""
    namespace = click.option("--namespace", metavar="NAME", help="Only of this namespace. Default: of all.")
    paused = click.option(
        "--paused", "is_paused", is_flag=True, help="Create it, but send nothing until it is resumed."
    )
    return _with((_events(required=True), *_SHARED, namespace, paused), command)


def edit_terms(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `edit`."""
    url = click.option("--url", metavar="URL", help="Where events are sent from now on.")
    everything = click.option(
        "--of-all",
        "is_of_all",
        is_flag=True,
        help="Of all definitions, queues and tags, but for those that are given here.",
    )
    return _with((url, _events(required=False), *_SHARED, everything), command)


def new_webhook(url: str, terms: Mapping[str, Any]) -> NewWebhook:
    """The webhook that the options of `create` describe."""
    return NewWebhook(id=uuid4(), namespace=terms["namespace"], **{"url": url, **_given(terms)})


def changed_by(known: NewWebhook, terms: Mapping[str, Any]) -> NewWebhook:
    """A webhook with what the options of `edit` change; it then belongs to no key."""
    given = _given(terms)
    if not given and not terms["is_of_all"]:
        raise InvalidInput("options", "change nothing", "see `tenure webhooks edit --help`")
    wide: dict[str, Any] = dict.fromkeys(("definitions", "queues", "tags"), ()) if terms["is_of_all"] else {}
    return replace(known, creator=None, **{**wide, **given})


def _given(terms: Mapping[str, Any]) -> dict[str, Any]:
    return {name: terms[name] for name in (*_LISTS, *_REST) if terms.get(name) not in (None, ())}


def _with(options: tuple[Callable[..., Any], ...], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command
