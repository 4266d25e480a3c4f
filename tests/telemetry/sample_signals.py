"""Sample jobs and signals, for tests of logs and metrics."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tenure.core.model.aside import Aside, Met
from tenure.core.model.job import LapsedAttempt, StepTaken
from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.outcome import Ending, Outcome, Recoverable, Report, Succeeded, Unrecoverable
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.schedule import DueTick, ScheduleName, TickOutcome
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    ConnectionsFreed,
    ConnectionsShort,
    DutyDone,
    ForeignMessages,
    HookFailed,
    JobPutAside,
    JobsReminded,
    Measured,
    MessagesSent,
    NoMessage,
    Recovered,
    ScheduleLeftAlone,
    ScheduleTicked,
    Signal,
    Troubled,
    WebhookPaused,
    WorkerDraining,
    WorkerHalting,
    WorkerReady,
    WorkerStopped,
)
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tests import canaries

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
NASTY = f"\x1b[2J\r\nforged\u2028\x85\x7f\udc80 password={canaries.PARAM}"
"""A text that no line may hold unescaped."""

ADDRESS = f"postgresql://ada:{canaries.PASSWORD}@db/jobs"


def claimed(n: int = 1, attempt: int = 1) -> Claimed:
    """A job, with secrets in its params."""
    now = datetime.now(UTC)
    return Claimed(
        lease=Lease(UUID(int=n), n),
        namespace="default",
        definition="mail",
        version=2,
        queue="post",
        params=Document(f'{{"to":"{canaries.PARAM}"}}'),
        policy=Policy(),
        attempt=attempt,
        traceparent=f"00-{TRACE}-00f067aa0ba902b7-01",
        queued_at=now,
        started_at=now,
    )


def settled(outcome: Outcome, state: State, n: int = 1, attempt: int = 1) -> AttemptSettled:
    """The signal of an attempt that ended."""
    of = claimed(n, attempt)
    usage = Usage(exit_code=0, cpu=timedelta(milliseconds=20), peak_memory=3 << 20)
    return AttemptSettled(of, Report(of.lease, outcome, usage), state, 0.25)


def success(n: int = 1) -> AttemptSettled:
    return settled(Succeeded(Document(f'{{"password":"{canaries.PARAM}"}}')), State.SUCCEEDED, n)


WORKER = WorkerInfo(
    id="host-7-abc", host="host", pid=7, version="0.1.0", slots=4, lines=(Line("post", "mail", 2),)
)
FAILURE = Failure("ValueError", NASTY, f"Traceback: {NASTY}")
LAPSED = LapsedAttempt("mail", 2, "post", "host-8-def", 1, 3, timedelta(seconds=31))
OF_A_JOB: list[Signal] = [
    AttemptStarted(claimed()),
    success(),
    settled(Recoverable(FAILURE, timedelta(seconds=4)), State.RETRYING, attempt=2),
    settled(Unrecoverable(FAILURE), State.FAILED, attempt=3),
    AttemptHandedBack(claimed(), State.QUEUED, True, 1.5, NASTY),
    AttemptLost(claimed(), fenced=True, took=1.5),
    HookFailed(str(UUID(int=1)), "on_end", NASTY, claimed()),
]
ASIDE = Aside(
    job=UUID(int=1),
    line=Line("post", "mail", 2),
    namespace="default",
    state=State.RUNNING,
    fence=1,
    verb=Met.SETTLE,
    code="23505",
    text=NASTY,
    since=datetime.now(UTC),
    by="host-7-abc",
    ending=Ending.SUCCEEDED,
    result=Document(f'"{canaries.PARAM}"'),
    error=FAILURE,
)
NIGHTLY = ScheduleName("default", "nightly")
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
TICKED = ScheduleTicked(
    NIGHTLY,
    (
        DueTick(at=MIDNIGHT - timedelta(days=9), outcome=TickOutcome.MISSED, count=9),
        DueTick(at=MIDNIGHT, outcome=TickOutcome.FIRED),
    ),
    MIDNIGHT + timedelta(seconds=0.2),
)
FAILED_TICK = ScheduleTicked(
    NIGHTLY,
    (DueTick(at=MIDNIGHT, outcome=TickOutcome.FAILED, problem=NASTY),),
    MIDNIGHT + timedelta(seconds=0.2),
)
LEFT_ALONE = ScheduleLeftAlone(NIGHTLY, f"this version of tenure cannot read it ({NASTY})")
OTHERS: list[Signal] = [
    TICKED,
    FAILED_TICK,
    LEFT_ALONE,
    JobPutAside(ASIDE),
    HookFailed(str(UUID(int=1)), "on_end", NASTY),
    DutyDone("reap", (StepTaken(UUID(int=1), State.RUNNING, State.QUEUED, LAPSED),)),
    JobPutAside(ASIDE),
    DutyDone("promote", (StepTaken(UUID(int=1), State.RETRYING, State.QUEUED),)),
    Troubled("dispatch", f"PostgreSQL at {ADDRESS} is away", 1),
    Troubled("dispatch", f"Traceback\n  {NASTY}\nKeyError: {ADDRESS}", 2),
    Troubled("dispatch", "", 1),
    Recovered("dispatch"),
    ConnectionsShort(1, 2, "PostgreSQL is not available: sorry, too many clients already"),
    ConnectionsFreed(2.5),
    WebhookPaused(UUID(int=5), "hooks.example.com", NASTY),
    ForeignMessages(str(UUID(int=2)), 3),
    NoMessage(NASTY.encode(errors="replace")),
    JobsReminded(4),
    MessagesSent(10, 2, f"SQS at {ADDRESS} is away"),
    WorkerDraining("host-7-abc", 3, "told by SIGTERM", 30.0),
    WorkerHalting("host-7-abc", 2, "told again, by SIGTERM"),
    WorkerStopped("host-7-abc", 1, 2),
]
SILENT = Measured("mail", "counted", ("a",), 1.0)
EVERY_SIGNAL: list[Signal] = [WorkerReady(WORKER), *OF_A_JOB, *OTHERS, SILENT]
