"""What an operator sets in place of a definition's own values, for jobs accepted from then on."""

import json
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.policy import refuse_second_attempt
from tenure.core.model.spec import Spec
from tenure.core.values.documents import EMPTY, Document, write


class Backoff(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of a retry policy that may be set."""

    base_seconds: float | None = None
    cap_seconds: float | None = None


class Override(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of a stored definition that may be set; None leaves a part as the code has it.

    A reader takes the parts it knows and ignores the rest, as with definitions.
    """

    priority: int | None = None
    max_attempts: int | None = None
    timeout_seconds: float | None = None
    grace_seconds: float | None = None
    retry: Backoff = Backoff()

    @classmethod
    def read(cls, document: Document) -> "Override":
        """Decode a stored override. Raises InvalidInput if the document is not one."""
        try:
            return msgspec.json.decode(document, type=cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(
                "override", f"cannot be read: {error}", "take it back with `tenure definitions reset`"
            ) from None

    def document(self, before: Document | None = None) -> Document:
        """The override as it is stored: the parts that are set, and unknown parts of `before`."""
        stored = {} if before is None else json.loads(before)
        others = stored if isinstance(stored, dict) else {}
        unknown = {name: value for name, value in others.items() if name not in self.__struct_fields__}
        known = {name: value for name, value in msgspec.to_builtins(self).items() if value != {}}
        return write({**unknown, **known})

    def check(self, spec: Spec) -> None:
        """Raise InvalidInput if the override is not possible for jobs of a definition."""
        refuse_second_attempt(spec.policy.on_lost, self.max_attempts)
        self.applied(spec.new_job(EMPTY), spec)

    def applied(self, job: NewJob, spec: Spec) -> NewJob:
        """The job with the override in place of the definition's values; what the caller chose stays.

        Raises InvalidInput if the override is not possible for this job.
        """
        defined, retry = spec.policy, spec.policy.retry
        backoff = structs.replace(
            job.policy.retry,
            base=_chosen(job.policy.retry.base, retry.base, _time(self.retry.base_seconds)),
            cap=_chosen(job.policy.retry.cap, retry.cap, _time(self.retry.cap_seconds)),
        )
        policy = structs.replace(
            job.policy,
            max_attempts=_chosen(job.policy.max_attempts, defined.max_attempts, self.max_attempts),
            timeout=_chosen(job.policy.timeout, defined.timeout, _time(self.timeout_seconds)),
            grace=_chosen(job.policy.grace, defined.grace, _time(self.grace_seconds)),
            retry=backoff,
        )
        return structs.replace(
            job, policy=policy, priority=_chosen(job.priority, spec.priority, self.priority)
        )


def _chosen(given: Any, defined: Any, override: Any) -> Any:
    return given if override is None or given != defined else override


def _time(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
