"""What goes wrong with durable steps of a handler; where an attempt ends for good, the error is `Fatal`.

TenureError
├── InDoubt                 an effect may or may not have happened, and nobody has said which
├── SuspensionSwallowed     the handler went on after a call that suspends it
└── Fatal
    ├── StepChanged         a step on record is of another call: the code or its order has changed
    ├── StepResultRefused   a step ran to its end, and its result cannot be kept
    └── TooManySteps        the job has as many steps as it may; nothing was run
"""

from tenure.core.errors import Fatal, TenureError

ONLY_ON_POSTGRESQL = "is for ctx.transaction, which needs jobs in PostgreSQL, and they are in an SQLite file"
USE_ONCE = "use ctx.once there: it runs nothing twice unknowingly"
"""What is said of transactions where there can be none, and the way out."""


class InDoubt(TenureError):
    """An effect may or may not have happened: an attempt was lost while it was under way. `step` names it."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step

    def __str__(self) -> str:
        return (
            f"it is not known whether {self.step!r} has happened: an attempt was lost while it was under way"
        )


class SuspensionSwallowed(TenureError):
    """The handler caught what ends its attempt when it waits, and went on. `step` names the wait."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step

    def __str__(self) -> str:
        return (
            f"the handler waits for {self.step!r} and went on all the same: something around that call "
            "catches BaseException; let it through, for instance by `except Exception`"
        )


class StepChanged(Fatal):
    """What is kept under a name belongs to another call: other code, arguments or order than before."""

    def __init__(self, step: str, problem: str) -> None:
        super().__init__(step, problem)
        self.step = step
        self.problem = problem

    def __str__(self) -> str:
        return f"the step {self.step!r} {self.problem}; give what has changed another name"


class StepResultRefused(Fatal):
    """A step ran to its end, and its result cannot be kept: it is not run again, and has no result.

    With `is_undone` it was a transaction, which was rolled back.
    """

    def __init__(self, step: str, problem: str, *, is_undone: bool = False) -> None:
        super().__init__(step, problem)
        self.step = step
        self.problem = problem
        self.is_undone = is_undone

    def __str__(self) -> str:
        remedy = "return less, or a reference to it"
        done = "was rolled back, since its result" if self.is_undone else "was done, but its result"
        return f"the step {self.step!r} {done} {self.problem}; {remedy}"


class TooManySteps(Fatal):
    """The job has as many steps as it may. The step that was asked for was not run."""

    def __init__(self, step: str, most: int) -> None:
        super().__init__(step, most)
        self.step = step
        self.most = most

    def __str__(self) -> str:
        return (
            f"the step {self.step!r} would be one more than the {self.most:,} that a job may keep; do more "
            "in each step, or forget finished ones together with a checkpoint: ctx.forget(prefix)"
        )
