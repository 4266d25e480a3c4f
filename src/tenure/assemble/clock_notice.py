"""A warning at the start of a process whose store's clock is ahead."""

from datetime import UTC, datetime

from tenure.engine.health.symptoms import clock_symptoms
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog


async def warn_of_clock(store: Store, logs: EventLog) -> None:
    """Say so if the store's clock is far ahead of this machine's, and what to do."""
    for symptom in clock_symptoms(await store.now() - datetime.now(UTC)):
        logs.notice(f"{symptom.what}; {symptom.cure}")
