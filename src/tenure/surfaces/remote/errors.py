"""The errors of clients; besides these they raise `InvalidInput` before anything is sent.

    TenureError
    └── RemoteError             the server did not do what the client asked for
        ├── Unreachable         no answer in time; with `unknown` the server may have done it nevertheless
        ├── Untrusted           the TLS handshake failed, so nothing was sent
        ├── UnexpectedAnswer    the answer is not from a Tenure server, or not one this client understands
        └── Refused             the server says no, and why: `kind`, `detail`, `errors`, `request_id`
            ├── NotAllowed      the key is not valid, or lacks the scope
            ├── NotFound        it does not exist, or this key may not see it
            ├── Conflict        the state of the job does not allow it; see `problem.job_status`
            └── TooMany         too many requests, or the queue is full; see `retry_after`

How a job ended is raised as in the library: JobFailed, JobCancelled, JobBuried.
"""

from collections.abc import Sequence

from tenure.api.problem import Fault, Problem
from tenure.core.errors import TenureError


class RemoteError(TenureError):
    """The server did not do what the client asked for."""


class Unreachable(RemoteError):
    """No answer in time; with `unknown` the server may have done it nevertheless."""

    def __init__(self, url: str, reason: str, unknown: bool = False) -> None:
        super().__init__(url, reason, unknown)
        self.url = url
        self.reason = reason
        self.unknown = unknown

    def __str__(self) -> str:
        doubt = "; the server may have done it nevertheless" if self.unknown else ""
        return f"{self.url} did not answer in time: {self.reason}{doubt}"


class Untrusted(RemoteError):
    """The TLS handshake failed: no TLS there, or no trusted certificate. Nothing was sent."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        way_out = "check the address, or name your own certificate authority in SSL_CERT_FILE"
        return f"no trusted TLS connection to {self.url}, so nothing was sent: {self.reason}; {way_out}"


class UnexpectedAnswer(RemoteError):
    """The answer is not from a Tenure server, or not one this client understands."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.url} did not answer like a Tenure server: {self.reason}; check the address"


class Refused(RemoteError):
    """The server says no; `problem` is its whole answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def kind(self) -> str:
        """The kind of problem, such as `unknown-definition`: the same in every release."""
        return self.problem.type.rpartition("#")[2]

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.problem.status

    @property
    def detail(self) -> str:
        """What is wrong, in a sentence."""
        return self.problem.detail

    @property
    def errors(self) -> Sequence[Fault]:
        """Each error in the request, with a pointer to its place."""
        return self.problem.errors

    @property
    def request_id(self) -> str:
        """The id under which the server logs the request."""
        return self.problem.request_id

    def __str__(self) -> str:
        places = (
            f"{fault.pointer or fault.parameter or fault.code}: {fault.message}" for fault in self.errors
        )
        return f"{'; '.join(places) or self.detail} ({self.kind}, request {self.request_id})"


class NotAllowed(Refused):
    """The key is not valid, or lacks the scope."""


class NotFound(Refused, LookupError):
    """It does not exist, or this key may not see it."""


class Conflict(Refused):
    """The state of the job does not allow it.

    With `in_doubt` an earlier try, whose answer was lost, may have led to that state.
    """

    in_doubt = False


class TooMany(Refused):
    """Too many requests, or no room in the queue, for the whole timeout."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        super().__init__(problem)
        self.args = (problem, retry_after)
        self.retry_after = retry_after


BY_STATUS: dict[int, type[Refused]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict}
"""The error for a status; any other status is a plain Refused."""
