"""Variables of a worker that concern Tenure: what handlers always have, and what is not theirs."""

from collections.abc import MutableMapping

BASE = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
"""The variables of the worker that every child is given, whatever an allow-list says."""

ALLOWED = "TENURE_CHILD_ENV"
"""The setting that names the variables which children are given, with patterns such as `AWS_*`."""

OURS = ("TENURE_", "PG")
"""How the names of variables begin that are settings of Tenure, or of its connection to PostgreSQL."""

NEVER = frozenset({"TENURE_DATABASE", "TENURE_WEBHOOK_KEY", ALLOWED})
"""Variables that no child is given: a handler must not reach the store, nor sign webhooks."""

OF_THE_PROCESS = (
    *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"),
    *("FDSTORE", "MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID", "JOURNAL_STREAM"),
    *("SUPERVISOR_SERVER_URL", "SUPERVISOR_ENABLED", "SUPERVISOR_PROCESS_NAME", "SUPERVISOR_GROUP_NAME"),
    *("TRACEPARENT", "TRACESTATE"),
)
"""What a service manager or a tracer said to the worker's own process.

With the first ones a job could speak for the worker: say that it is ready, alive or stopping. The others
describe descriptors, a pid or a span that no job has.
"""

OF_THE_USER = ("MAIL", "SHELL", "XDG_RUNTIME_DIR")
"""What belongs to the worker's user, and to no other one that runs attempts."""

PRIVATE = frozenset({"TMPDIR"})
"""Variables that each child has a value of its own for."""

EAGER = {"LD_BIND_NOW": "1"}
"""Resolves a zygote's C library functions when it starts, and not in each child that calls them."""

TAKEN = ("PYTHONPATH", "PYTHONSAFEPATH", "LC_CTYPE", *EAGER)
"""Variables that a zygote is started with values of its own for, or that Python sets."""

_KEPT = "TENURE_KEPT_"


def with_taken(shared: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """What a zygote is started with: the children's variables, and its own ones in their place."""
    kept = {f"{_KEPT}{name}": shared[name] for name in TAKEN if name in shared}
    started = {**shared, **own, **kept}
    started.pop("PYTHONSAFEPATH", None)  # the app is looked for in the current folder
    return started


def give_back_taken(environment: MutableMapping[str, str]) -> None:
    """Put the children's values in the place of a zygote's own; for the zygote, once it has started."""
    for name in TAKEN:
        environment.pop(name, None)
        if (kept := environment.pop(f"{_KEPT}{name}", None)) is not None:
            environment[name] = kept
