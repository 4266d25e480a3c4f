"""What the loss of its worker means for one job, where a caller chooses it."""

from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.policy import OnLost, refuse_second_attempt
from tenure.core.model.spec import Spec, check_lane


def with_on_lost(job: NewJob, spec: Spec, on_lost: OnLost, max_attempts: int | None = None) -> NewJob:
    """The same job, which is run again or buried when its worker is lost. A caller may be stricter than the
    definition, and not less strict.

    Raises InvalidInput for that, where the definition's lane cannot promise a burial, and if the caller chose
    more than one attempt (`max_attempts`) for a job that must not run twice.
    """
    if on_lost is OnLost.RETRY and spec.policy.on_lost is OnLost.BURY:
        problem = f'is "retry", and jobs of {spec.key} must not run twice'
        raise InvalidInput("on_lost", problem, "leave it out")
    policy = replace(job.policy, on_lost=on_lost)
    check_lane(replace(spec, policy=policy))
    refuse_second_attempt(on_lost, max_attempts)
    return replace(job, policy=policy)
