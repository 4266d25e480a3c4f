"""Which jobs an assertion looks for, and what it says if they were not enqueued."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.model.spec import Spec
from tenure.core.values.documents import EMPTY, Document, canonical_hash, read, write
from tenure.engine.client.registry import Registry
from tenure.testing.harness_jobs import HarnessJob

_MOST_SHOWN = 20


class _Anything:
    def __repr__(self) -> str:
        return "…"


ANYTHING: Any = _Anything()
"""Stands for any params."""


class Wanted(NamedTuple):
    """The jobs of one definition, with these params and in this queue, if either matters."""

    registry: Registry
    spec: Spec
    params: Document | None
    queue: str | None

    @classmethod
    def of(cls, registry: Registry, spec: Spec, params: object, queue: str | None) -> "Wanted":
        """The jobs that a test names. Raises InvalidParams for params that no such job can have."""
        if params is ANYTHING:
            return cls(registry, spec, None, queue)
        document = EMPTY if params is None else write(params)
        registry.check_params(spec, document)
        return cls(registry, spec, document, queue)

    def fits(self, job: HarnessJob) -> bool:
        """Whether a job is one of them."""
        return (
            (job.definition, job.version) == (self.spec.key, self.spec.version)
            and self.queue in {None, job.queue}
            and (self.params is None or self._are_same(self.params, write(job.params)))
        )

    def missed(self, jobs: Sequence[HarnessJob], found: int, times: int | None) -> str:
        """What an assertion says: what was wanted, what was found, and what was enqueued in all."""
        params = "" if self.params is None else f" with params {read(self.params)!r:.500}"
        queue = "" if self.queue is None else f" in queue {self.queue}"
        wanted = f"{self.spec.key}@{self.spec.version}{params}{queue}"
        if times is None:
            said = f"no job of {wanted} was enqueued"
        else:
            said = f"{found:,} jobs of {wanted} were enqueued, not {times:,}"
        if not jobs:
            return f"{said}; nothing was"
        shown = "".join(f"\n  {job}" for job in jobs[:_MOST_SHOWN])
        more = f"\n  … and {len(jobs) - _MOST_SHOWN:,} more" if len(jobs) > _MOST_SHOWN else ""
        return f"{said}; these were:{shown}{more}"

    def _are_same(self, one: Document, other: Document) -> bool:
        """Whether a handler sees no difference: a default may be left out."""
        decode = self.registry.handler(self.spec.key, self.spec.version).decode
        return canonical_hash(one) == canonical_hash(other) or bool(decode(one) == decode(other))
