"""The library's client in a harness, where no worker is missing: the test itself runs the jobs."""

from uuid import UUID

from msgspec.structs import replace

from tenure.core.reports.why import Why, WhyCode
from tenure.engine.client.client import JobClient

NOTHING_RUNS = (
    "In a harness a job runs when the test says so: call drain() or advance() before the wait, or during it."
)
_WORKERS = frozenset({WhyCode.UNSERVED_DEFINITION, WhyCode.UNSERVED_QUEUE, WhyCode.NOTHING_PROMOTES})
"""What is said where workers are missing."""


class HarnessClient(JobClient):
    """A client that tells of the harness in place of workers, which a test does not start."""

    async def why(self, job: UUID, *, namespace: str | None = None) -> Why:
        """Why the job does not run. Raises JobNotFound."""
        why = await super().why(job, namespace=namespace)
        others = [one for one in why.data.also if one.code not in _WORKERS]
        why = replace(why, data=replace(why.data, also=others))
        return replace(why, sentence=NOTHING_RUNS) if why.code in _WORKERS else why
