"""The attempts of a job, the newest first, and what they have in common."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from tenure.api.redaction import Redaction
from tenure.api.views import attempt_item
from tenure.core.model.outcome import Attempt
from tenure.core.values import fingerprint
from tenure.core.values.failure import Failure
from tenure.surfaces.dashboard.looks import ATTEMPTS

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOLD = frozenset({"running", "succeeded", "failed", "suspended"})


class AttemptRow(Struct, frozen=True):
    """An attempt. `state` and `word` say how it ended.

    `is_same` says that the one before it ended by the same error, `is_other` that the last one did not.
    """

    number: int
    fence: int
    state: str
    word: str
    error: Failure | None
    is_same: bool
    is_other: bool
    by: str
    worker: str
    started_at: datetime
    ran: float | None
    cpu: float | None
    memory: int | None


class AttemptsView(Struct, frozen=True):
    """Attempts, what they have in common, and the number behind which others follow."""

    rows: Sequence[AttemptRow]
    common: str
    later: int | None

    @property
    def is_shown(self) -> bool:
        """Whether they tell more than the rest of the page, which tells all of one that went well."""
        return len(self.rows) > 1 or any(row.word not in _TOLD and row.error is None for row in self.rows)


def attempts_view(attempts: Sequence[Attempt], redaction: Redaction, most: int) -> AttemptsView:
    """A page of attempts, of one more than `most`."""
    shown = attempts[:most]
    failed = [attempt for attempt in shown if attempt.error is not None]
    alike = len(failed) == len(shown) > 1 and len({_cause(attempt) for attempt in failed}) == 1
    before = [None, *shown]
    rows = [
        _row(attempt, shown[-1], alike or _is_alike(attempt, earlier), redaction)
        for attempt, earlier in zip(shown, before, strict=False)
    ]
    later = shown[-1].fence if len(attempts) > most else None
    return AttemptsView(rows[::-1], f"{_all_of(len(shown))} ended alike" if alike else "", later)


def _row(attempt: Attempt, last: Attempt, is_same: bool, redaction: Redaction) -> AttemptRow:
    item = attempt_item(attempt, redaction)
    state, word = ("running", "running") if attempt.ending is None else ATTEMPTS[attempt.ending]
    return AttemptRow(
        number=item.attempt,
        fence=item.fence,
        state=state,
        word=word,
        error=item.error,
        is_same=is_same,
        is_other=not _is_alike(attempt, last),
        by=f"by signal {item.signal}"
        if item.signal
        else f"exit code {item.exit_code}"
        if item.exit_code
        else "",
        worker=item.worker_id,
        started_at=item.started_at,
        ran=item.duration_seconds,
        cpu=item.cpu_seconds,
        memory=item.peak_memory_bytes,
    )


def _is_alike(attempt: Attempt, other: Attempt | None) -> bool:
    return other is not None and attempt.error is not None and _cause(attempt) == _cause(other)


def _all_of(count: int) -> str:
    return "both" if count == 2 else f"all {_NUMBERS[count] if count < len(_NUMBERS) else count}"


def _cause(attempt: Attempt) -> str:
    return fingerprint.of("", attempt.error)
