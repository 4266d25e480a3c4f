"""What the loss of its worker means for one job, where a caller chooses it."""

from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.policy import OnLost
from tenure.core.model.spec import Spec, check_lane


def with_on_lost(job: NewJob, spec: Spec, on_lost: OnLost, max_attempts: int | None = None) -> NewJob:
    """The same job, which is run again or buried when its worker is lost, whatever its definition says.

    Raises InvalidInput where the definition's lane cannot promise that, and if the caller chose more than one
    attempt (`max_attempts`) for a job that must not run twice.
    """
    policy = replace(job.policy, on_lost=on_lost)
    check_lane(replace(spec, policy=policy))
    if on_lost is OnLost.BURY and max_attempts not in {None, 1}:
        problem = f'is {max_attempts}, and on_lost is "bury"'
        raise InvalidInput("max_attempts", problem, "such a job is tried once: leave it out")
    return replace(job, policy=policy)
