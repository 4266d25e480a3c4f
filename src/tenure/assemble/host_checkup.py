"""What this process's host and settings mean for workers: settings in force, and isolation of attempts."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tenure.assemble.start_notices import limits
from tenure.core.errors import InvalidInput
from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.engine.config import default_limits
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.scratch import place_in
from tenure.execution.protocol import kernel
from tenure.execution.protocol.messages import OWN
from tenure.settings.settings import Settings
from tenure.settings.sources import Loaded


class SettingInForce(Struct, frozen=True):
    """A setting, and where it comes from; no source means that it has its default."""

    name: str
    value: object
    source: str | None


def settings_in_force(loaded: Loaded) -> list[SettingInForce]:
    """Every setting as it may be shown: without secrets."""
    # An argument of a command is known by the setting's own name.
    sources = {name: f"--{name}" if source == name else source for name, source in loaded.sources.items()}
    return [SettingInForce(name, value, sources.get(name)) for name, value in loaded.settings.shown().items()]


def examine_host(settings: Settings) -> Checkup:
    """How attempts of a worker with these settings would be isolated here, if this user started it."""
    signals = "each attempt can send signals to itself alone (Landlock)"
    facts = [Fact("limits", limits(default_limits(settings)).removeprefix("isolation: limits "))]
    symptoms = list(_user(settings))
    if not symptoms:
        facts.append(Fact("user", f"attempts would run as {settings.child_user or _own_name()}"))
    if settings.child_signals == OWN and kernel.can_keep_signals():
        facts.append(Fact("signals", signals))
    elif settings.child_signals == OWN:
        symptoms.append(
            Symptom(
                kind="isolation",
                what="attempts on this host can kill each other: its kernel cannot prevent it",
                cure="use Linux 6.12 or later with Landlock",
                needs_person=False,
            )
        )
    return Checkup(facts, symptoms)


def _user(settings: Settings) -> Iterator[Symptom]:
    is_root = os.geteuid() == 0
    if settings.child_user:
        try:
            ChildUser.named(settings.child_user).check([Path.cwd(), place_in(os.environ)])
        except InvalidInput as refused:
            # Whoever examines need not be the user that starts workers.
            yield Symptom(
                kind="isolation",
                what=f"this user cannot start a worker here: child_user {refused.problem}",
                cure=refused.remedy,
                needs_person=is_root,
            )
    elif is_root:
        yield Symptom(
            kind="isolation",
            what="attempts of a worker that root starts here run as root and can read the worker, the "
            "database's password included",
            cure="set TENURE_CHILD_USER to an ordinary user, or start workers as one",
            needs_person=False,
        )


def _own_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
