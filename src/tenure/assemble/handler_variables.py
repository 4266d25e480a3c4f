"""What handlers see of a worker's variables: all that is not Tenure's own, or what an operator names."""

import os
from collections.abc import Iterable
from pathlib import Path

from tenure.execution.handler import tracing
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.execution.protocol.variables import OF_THE_USER
from tenure.settings.settings import Settings
from tenure.settings.sources import FILE, FILE_VARIABLE
from tenure.storage.address_traces import AddressTraces

DATABASE = "TENURE_DATABASE"


def handler_variables(
    settings: Settings, databases: Iterable[str], user: ChildUser | None, *, reloads: bool = False
) -> ChildEnvironment:
    """The children's environment, in which no pattern shows the addresses of these databases."""
    variables = dict(os.environ)
    given = settings.for_definitions()
    if user is not None:
        for name in OF_THE_USER:
            variables.pop(name, None)
        variables |= {"USER": user.name, "LOGNAME": user.name}
        given["HOME"] = user.home
        if Path(FILE).exists() and user.closed([Path(FILE).absolute()]):
            given[FILE_VARIABLE] = os.devnull  # children cannot read it, and need nothing of it
    if settings.tracing != "off":
        given[tracing.VARIABLE] = settings.tracing
    if reloads:
        # Compiled files are compared by whole seconds: one that is written now could hide the next change.
        given["PYTHONDONTWRITEBYTECODE"] = "1"
    traces = AddressTraces([*databases, variables.get(DATABASE, "")], variables)
    return ChildEnvironment(variables, settings.child_env, set_here=given, is_secret=traces.are_in)


def shown_by_the_app(environment: ChildEnvironment, database: str) -> str:
    """A line on variables that handlers see and that hold the address which the app itself names."""
    traces = AddressTraces([database], os.environ)
    names = sorted(name for name, value in environment.shared.items() if traces.are_in(name, value))
    if not names:
        return ""
    return (
        f"environment: handlers see the database's address in {', '.join(names)}, as the app itself does; "
        f"{DATABASE}, given to this worker, keeps it from both"
    )
