"""What goes wrong where a job is told something from outside: signals, and answers about effects.

TenureError
├── JobEnded                the job has ended, so nothing can be sent to it
├── SignalDiffers           another payload was sent under that name, and the first one stands
├── TooManySignals          the job was sent as many signals as it may be
└── NotInDoubt              the job has no effect of that name that is in doubt
"""

from uuid import UUID

from tenure.core.errors import TenureError
from tenure.core.model.durable import MOST_SIGNALS
from tenure.core.model.states import State


class JobEnded(TenureError):
    """The job has ended, so nothing can be sent to it any more."""

    def __init__(self, job: UUID, state: State) -> None:
        super().__init__(job, state)
        self.job = job
        self.state = state

    def __str__(self) -> str:
        return f"job {self.job} has ended already: it is {self.state}"


class SignalDiffers(TenureError):
    """Another payload was sent to the job under that name before, and that one stands."""

    def __init__(self, job: UUID, name: str, state: State) -> None:
        super().__init__(job, name, state)
        self.job = job
        self.name = name
        self.state = state

    def __str__(self) -> str:
        signal = f"the signal {self.name!r:.220}"
        return f"job {self.job} was sent {signal} before with another payload, and the first one stands"


class TooManySignals(TenureError):
    """The job was sent as many signals as it may be."""

    def __init__(self, job: UUID, state: State) -> None:
        super().__init__(job, state)
        self.job = job
        self.state = state

    def __str__(self) -> str:
        return f"job {self.job} was sent {MOST_SIGNALS:,} signals, and takes no more"


class NotInDoubt(TenureError):
    """The job has no effect of that name that is in doubt."""

    def __init__(self, job: UUID, name: str, state: State) -> None:
        super().__init__(job, name, state)
        self.job = job
        self.name = name
        self.state = state

    def __str__(self) -> str:
        return (
            f"job {self.job} has no effect {self.name!r:.220} in doubt; its steps say how far each has come"
        )
