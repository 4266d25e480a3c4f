"""What clients of a server raise, beside `InvalidInput` for what need not be sent at all.

    TenureError
    └── RemoteError             a server did not do what it was asked
        ├── Unreachable         nobody answered in time; `unknown`: it may have been done all the same
        ├── Untrusted           who is there cannot prove to be who was asked for; nothing was sent
        ├── UnexpectedAnswer    who answered is no Tenure server, or one that this client does not understand
        └── Refused             the server says no, and why: `kind`, `detail`, `errors`, `request_id`
            ├── NotAllowed      the key opens nothing, or not this
            ├── NotFound        there is no such thing, or not for this key
            ├── Conflict        not as the job stands; `problem.job_status` says where that is
            └── TooMany         too often, or the queue is full, until the time was over; `retry_after`

What became of a job is told as the library tells it: JobFailed, JobCancelled, JobBuried.
"""

from collections.abc import Sequence

from tenure.core.errors import TenureError
from tenure.surfaces.http.problems import Fault, Problem


class RemoteError(TenureError):
    """A server did not do what it was asked."""


class Unreachable(RemoteError):
    """Nobody answered in time; with `unknown` what was asked may have been done all the same."""

    def __init__(self, url: str, reason: str, unknown: bool = False) -> None:
        super().__init__(url, reason, unknown)
        self.url = url
        self.reason = reason
        self.unknown = unknown

    def __str__(self) -> str:
        doubt = "; it may have been done all the same" if self.unknown else ""
        return f"{self.url} gave no answer in time: {self.reason}{doubt}"


class Untrusted(RemoteError):
    """Who is there cannot prove to be who was asked for, or does not speak TLS; nothing was sent."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        way_out = "check the address, and name a certificate authority of your own by SSL_CERT_FILE"
        return f"{self.url} is not trusted, and nothing was sent: {self.reason}; {way_out}"


class UnexpectedAnswer(RemoteError):
    """Who answered is no Tenure server, or one that this client does not understand."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.url} does not answer as a Tenure server does: {self.reason}; check the address"


class Refused(RemoteError):
    """The server says no; `problem` is all that it says of why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def kind(self) -> str:
        """The kind of problem, such as `unknown-definition`: the same in every release."""
        return self.problem.type.rpartition("#")[2]

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.problem.status

    @property
    def detail(self) -> str:
        """What is wrong, in a sentence."""
        return self.problem.detail

    @property
    def errors(self) -> Sequence[Fault]:
        """Each thing that is wrong with what was sent, with a pointer to it."""
        return self.problem.errors

    @property
    def request_id(self) -> str:
        """By which the server's operator finds the request in the log."""
        return self.problem.request_id

    def __str__(self) -> str:
        places = (
            f"{fault.pointer or fault.parameter or fault.code}: {fault.message}" for fault in self.errors
        )
        return f"{'; '.join(places) or self.detail} ({self.kind}, request {self.request_id})"


class NotAllowed(Refused):
    """The key opens nothing, or not this."""


class NotFound(Refused, LookupError):
    """There is no such thing, or not for this key."""


class Conflict(Refused):
    """It cannot be done to a job that stands where this one does.

    With `in_doubt` an earlier try, whose answer never came, may have brought it there.
    """

    in_doubt = False


class TooMany(Refused):
    """Too many requests, or no room in the queue, until the time was over."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        super().__init__(problem)
        self.args = (problem, retry_after)
        self.retry_after = retry_after


BY_STATUS: dict[int, type[Refused]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict}
"""Which refusal a status is, where it is a kind of its own that comes at once."""
