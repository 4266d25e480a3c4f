"""What a run has to come by on each store: every step of the table, every refusal, every way to the same end.

A landmark is a line of text, so that a run which missed some can say which.
"""

from collections.abc import Callable

from tenure.core.model.states import STEPS, State, Step

_STEPS = {step[:4]: step for step in STEPS}

LOST = ("has run out", "is another worker's", "has another fence", "has left its owner")
"""Why a lease does not count, when there is no other reason."""

_ENDED = {
    "Succeeded": ("running to succeeded", "cancelling to succeeded"),
    "Recoverable": ("running to retrying", "running to failed", "cancelling to cancelled"),
    "Unrecoverable": ("running to failed", "cancelling to failed"),
    "Stopped": ("running to nothing", "cancelling to cancelled"),
    "Suspended": ("running to suspended", "running to failed", "cancelling to cancelled"),
}
_KEPT = ("intended", "done", "skipped")
_HANDED_BACK = (
    *("not started: running to queued", "killed: running to queued", "killed: running to buried"),
    *("not started: running to queued, charged", "killed: running to queued, charged"),
    *("not started: running to failed", "killed: running to failed"),
    *("not started: cancelling to cancelled", "killed: cancelling to cancelled"),
)
_LIMITS = (
    *("claim: several limits", "claim: limit without room passed over", "claim: all that there is room for"),
    *("enqueue: limit has another size", "set_limit: before any job named it"),
    *("set_limit: raised", "set_limit: lowered below what runs"),
)
_PAUSES = (
    *("claim: paused line passed over", "claim: paused queue passed over", "claim: pause is over"),
    "claim: paused definition passed over",
    *("pause: replaced", "resume: pause was over"),
    *(
        f"resume: {what} was {how}"
        for what in ("line", "definition", "queue")
        for how in ("paused", "not paused")
    ),
)
_LOOKS = (
    *("page: newest first", "page: oldest first", "page: several", "page: by states"),
    *("page: by definition", "page: by queue", "page: by tag", "feed: part", "feed: all"),
)
_FINISHED = (
    *("replay: unknown job", "replay: not finished", "replay: earlier one is under way"),
    *("replay: forced beside an earlier one", *(f"replay: {state}" for state in State if state.is_final)),
    *("prune: removed", "prune: in parts", "prune: spared as not finished"),
    *("prune: spared as young", "prune: spared for its key"),
)


_TRAILS = (
    *("record: line written", "record: line sent before", "record: full"),
    *(f"record: note while {state}" for state in (State.RUNNING, State.CANCELLING)),
    *(f"annotate: {state}" for state in State if state not in {State.CREATED, State.SCHEDULED}),
    *("annotate: cancelled, never claimed", "annotate: unknown job", "annotate: claimed again"),
    *("annotate: not claimed yet", "annotate: full", "logs: part", "logs: all", "logs: of one attempt"),
    *("spawn: nothing asked", "spawn: key taken", "spawn: of a running job", "spawn: of a cancelling job"),
    *("put_definitions: another before", "follow_up: nothing", "follow_up: some", "follow_up: all"),
)
_PROGRESS = (
    *(f"keep_steps: {status}: {answer}" for status in _KEPT for answer in ("kept", "lost", "differs")),
    *(f"keep_steps: {was} to {status}" for was in ("intended", "cleared") for status in _KEPT),
    *("keep_steps: waiting to done", "hand_back: has kept a step", "prune: spared for an effect in doubt"),
    *(f"suspend: {kind}: {way}" for kind in ("time", "signal", "answer") for way in _ENDED["Suspended"]),
    *("suspend: its step is waiting", "suspend: its step is done", "recall: a wait is over"),
    *(f"signal: {became}" for became in ("kept", "resumed", "repeated", "differs", "finished")),
    *(
        f"answer: {said}: {verdict}"
        for said in ("happened", "did not happen")
        for verdict in ("resumed", "recorded", "repeated", "not-in-doubt")
    ),
    *("signal: unknown job", "answer: unknown job", "forget_steps: some", "forget_steps: none"),
)
_BY_LEASE = (
    *("settle", "heartbeat", "hand_back", "record", "spawn"),
    *("keep_steps", "suspend", "recall", "forget_steps"),
)


def of_step(source: State | None, target: State, event: str, by: str) -> str:
    """The landmark of a step; raises KeyError for one that is not in the table."""
    step: Step = _STEPS[source, target, event, by]
    return f"step: {source or 'nothing'} to {target} by {by}: {step.when}"


def all_landmarks() -> list[str]:
    """All landmarks that a run has to reach."""
    left_alone: dict[str, list[State]] = {
        "accept": [state for state in State if state is not State.CREATED],
        "cancel": [state for state in State if state is State.CANCELLING or state.is_final],
        "give_up": list(State),  # one that is retrying, too, when it was given up already
        "reschedule": list(
            State
        ),  # one that waits, too, when it waits for that time already, or was given up
    }
    return [
        # The doctor's need rows that were changed by hand: tests/storage/contract/test_mend.py.
        *(of_step(*step[:4]) for step in STEPS if step.by != "doctor"),
        *(
            f"enqueue: {what} taken by {work} work"
            for what in ("key", "id")
            for work in ("the same", "other")
        ),
        *(f"{verb}: left {state}" for verb, states in left_alone.items() for state in states),
        "reschedule: the same time",
        *(
            f"reschedule: {state} {when}"
            for state in ("scheduled", "retrying")
            for when in ("later", "sooner")
        ),
        *(f"{verb}: unknown job" for verb in (*left_alone, *_BY_LEASE)),
        *(f"{verb}: lease {why}" for verb in _BY_LEASE for why in LOST),
        *(f"settle: {outcome}: {way}" for outcome, ways in _ENDED.items() for way in ways),
        *(f"hand_back: {way}" for way in _HANDED_BACK),
        *(f"heartbeat: {what}" for what in ("kept", "kept with progress", "kept and told to stop")),
        *(f"{verb}: {what}" for verb in ("claim", "promote", "reap") for what in ("nothing", "some", "all")),
        *_LIMITS,
        *_PAUSES,
        *_LOOKS,
        *_FINISHED,
        *_TRAILS,
        *_PROGRESS,
        *("claim: lines of equal priority", "claim: several priorities", "promote: equally due"),
    ]


class Visits:
    """Which landmarks a run has reached, on each store."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    def of(self, store: str) -> Callable[[str], None]:
        """The callback by which the model of a store notes landmarks."""
        return self._seen.setdefault(store, set()).add

    def missed(self) -> dict[str, list[str]]:
        """Landmarks that were not reached, by store."""
        wanted = all_landmarks()
        missed = {store: [name for name in wanted if name not in seen] for store, seen in self._seen.items()}
        return {store: names for store, names in missed.items() if names}

    def report(self) -> str:
        """What was missed, line by line."""
        lines = [f"  {store}: {name}" for store, names in self.missed().items() for name in names]
        return "\n".join(["the run did not come by", *lines])

    def unmapped(self) -> set[str]:
        """Landmarks that were reached and are not listed."""
        return set().union(*self._seen.values()) - set(all_landmarks())
