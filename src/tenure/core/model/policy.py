"""What a job is promised when it is accepted: attempts, time limits, and what a lost worker means."""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import force_setattr

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import printable, whole, whole_millis, within


class OnLost(StrEnum):
    """What happens to a job whose worker was lost: run again (at least once), or never (at most once)."""

    RETRY = "retry"
    BURY = "bury"


def refuse_second_attempt(on_lost: OnLost, max_attempts: int | None) -> None:
    """Refuse more than one attempt, where somebody asks for it, for jobs that must not run twice."""
    if on_lost is OnLost.BURY and max_attempts not in {None, 1}:
        problem = f'is {max_attempts}, but with on_lost "bury" a job is tried once'
        raise InvalidInput("max_attempts", problem, 'leave it out, or let on_lost be "retry"')


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """When to try again: exponential backoff, with exceptions (by qualified name) that override it."""

    base: timedelta = timedelta(seconds=1)
    cap: timedelta = timedelta(seconds=300)
    retry_on: tuple[str, ...] = ()
    fatal_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        within("retry.base", self.base, timedelta(0), timedelta(days=7))
        within("retry.cap", self.cap, self.base, timedelta(days=7))
        for field in ("retry_on", "fatal_on"):
            for name in getattr(self, field):
                printable(f"retry.{field}", name, least=1)
        whole_millis("retry.base", self.base)
        whole_millis("retry.cap", self.cap)


class Policy(Struct, frozen=True, kw_only=True):
    """What a job was promised when it was accepted; copied with it, so that a deploy changes nothing."""

    max_attempts: int = 3
    timeout: timedelta = timedelta(hours=1)
    grace: timedelta = timedelta(seconds=10)
    on_lost: OnLost = OnLost.RETRY
    retry: RetryPolicy = RetryPolicy()

    def __post_init__(self) -> None:
        if self.on_lost == OnLost.BURY:
            force_setattr(self, "max_attempts", 1)
        whole("max_attempts", self.max_attempts, 1, 100)
        within("timeout", self.timeout, timedelta(seconds=1), timedelta(days=7))
        within("grace", self.grace, timedelta(0), timedelta(days=1))
        whole_millis("timeout", self.timeout)
        whole_millis("grace", self.grace)
