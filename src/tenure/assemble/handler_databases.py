"""Looks, before a worker starts, whether its handlers can have the transactions that they ask for."""

from collections.abc import Collection

from tenure.core.errors import InvalidInput
from tenure.core.model.spec import Spec
from tenure.core.model.step_errors import ONLY_ON_POSTGRESQL, USE_ONCE
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.storage.address import is_served


async def require_handler_databases(
    specs: Collection[Spec], database: str, environment: ChildEnvironment
) -> None:
    """Raise InvalidInput that names a definition whose transactions would be refused, and says why."""
    known: dict[str, str | None] = {}
    for spec in specs:
        if spec.database is None:
            continue
        field = f"database of {spec.key}@{spec.version}"
        if not is_served(database):
            raise InvalidInput(field, ONLY_ON_POSTGRESQL, USE_ONCE)
        address = environment.own([spec.database]).get(spec.database)
        if not address:
            problem = f"is {spec.database}, a variable that this worker has not"
            raise InvalidInput(field, problem, "start the worker with it: the address for its handlers")
        if spec.database not in known:
            # Not at the top: it loads the driver, which a worker on SQLite may lack.
            from tenure.storage.handler_database import why_no_transactions

            known[spec.database] = await why_no_transactions(address, database)
        if (why := known[spec.database]) is not None:
            raise InvalidInput(field, f"is {spec.database}, {why}")
