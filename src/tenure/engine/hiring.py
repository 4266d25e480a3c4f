"""From an app to a worker: which lines it serves, who it is, and its definitions on record."""

import os
import secrets
import socket
from collections.abc import Collection, Iterable

from tenure.core.errors import InvalidInput
from tenure.core.lease import Line
from tenure.core.operations import Worker as Introduction
from tenure.core.signals import Announce
from tenure.core.spec import Spec
from tenure.engine.lane import Lanes
from tenure.engine.manner import Manner
from tenure.engine.registry import Registry
from tenure.engine.shares import shares
from tenure.engine.worker import Worker
from tenure.settings import Settings
from tenure.storage.contract import Store
from tenure.version import __version__


def served(specs: Iterable[Spec], queues: Collection[str] = ()) -> tuple[Line, ...]:
    """The lines of these definitions: each in its own queue or, where queues are named, in all of those."""
    lines = {Line(queue, spec.key, spec.version) for spec in specs for queue in (queues or (spec.queue,))}
    if not lines:
        raise InvalidInput("app", "has no definitions", "register functions with @app.job")
    return tuple(sorted(lines))


def new_name() -> str:
    """A name for a worker: where it runs, and something that no other start of a process has."""
    return f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(6)}"


def hire(
    store: Store, lanes: Lanes, registry: Registry, announce: Announce, *, worker: str, settings: Settings
) -> Worker:
    """A worker that serves these definitions as the settings say, ready to run."""
    lines = served(registry.specs(), settings.queues)
    manner = Manner.of(settings, worker=worker, lines=lines)
    introduction = Introduction(
        id=worker,
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        version=__version__,
        slots=sum(share.slots for share in shares(registry.specs(), manner)),
        lines=lines,
    )
    return Worker(store, lanes, introduction, registry, manner, announce)
