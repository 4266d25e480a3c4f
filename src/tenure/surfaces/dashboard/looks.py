"""How what pages show looks: for each thing that is no job, the silhouette of a state of jobs, and a word."""

from collections.abc import Mapping
from typing import NamedTuple

from tenure.api.views import WorkerStanding
from tenure.api.webhook_shapes import Standing
from tenure.core.model.durable import StepStatus
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.schedule.schedule import TickOutcome
from tenure.core.webhooks.delivery import DeliveryState


class Look(NamedTuple):
    """The state whose silhouette and tone stand beside a word."""

    state: State
    word: str


WORDS: Mapping[State, str] = {**{state: state.value for state in State}, State.CREATED: "held"}
"""What each state of a job is called."""

ATTEMPTS: Mapping[Ending, Look] = {
    Ending.SUCCEEDED: Look(State.SUCCEEDED, "succeeded"),
    Ending.RECOVERABLE: Look(State.FAILED, "failed"),
    Ending.UNRECOVERABLE: Look(State.FAILED, "failed"),
    Ending.STOPPED: Look(State.CANCELLED, "stopped"),
    Ending.SUSPENDED: Look(State.SUSPENDED, "suspended"),
    Ending.HANDED_BACK: Look(State.CANCELLED, "handed back"),
    Ending.KILLED: Look(State.FAILED, "killed"),
    Ending.LOST: Look(State.FAILED, "worker lost"),
}

STEPS: Mapping[StepStatus, Look] = {
    StepStatus.INTENDED: Look(State.RUNNING, "running"),
    StepStatus.CLEARED: Look(State.CREATED, "cleared"),
    StepStatus.WAITING: Look(State.SUSPENDED, "waiting"),
    StepStatus.DONE: Look(State.SUCCEEDED, "kept"),
    StepStatus.SKIPPED: Look(State.CANCELLED, "skipped"),
}

TICKS: Mapping[TickOutcome, Look | None] = {
    TickOutcome.FIRED: None,
    TickOutcome.BY_HAND: None,
    TickOutcome.MISSED: Look(State.CREATED, "missed"),
    TickOutcome.OVERLAPPED: Look(State.CANCELLED, "skipped"),
    TickOutcome.FULL: Look(State.FAILED, "no room"),
    TickOutcome.FAILED: Look(State.FAILED, "no job"),
}
"""One that made a job looks like its job."""

DELIVERIES: Mapping[DeliveryState, Look] = {
    DeliveryState.WAITING: Look(State.RETRYING, "waiting"),
    DeliveryState.DELIVERED: Look(State.SUCCEEDED, "delivered"),
    DeliveryState.DEAD: Look(State.FAILED, "given up"),
}

WEBHOOKS: Mapping[Standing, Look] = {
    "delivering": Look(State.SUCCEEDED, "delivering"),
    "failing": Look(State.FAILED, "failing"),
    "paused": Look(State.SUSPENDED, "paused"),
    "unreadable": Look(State.FAILED, "unreadable"),
}

WORKERS: Mapping[WorkerStanding, Look] = {
    "ready": Look(State.SUCCEEDED, "ready"),
    "unready": Look(State.RETRYING, "unready"),
    "draining": Look(State.CANCELLING, "draining"),
    "silent": Look(State.FAILED, "not heard from"),
}
"""In the order in which a list has them."""
