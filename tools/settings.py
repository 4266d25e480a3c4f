"""Writes the tables in docs/reference/settings.md: every setting, its names, its default and its bounds."""

import re
from pathlib import Path

from msgspec import structs

from tenure.settings.settings import BOUNDS, CHOICES, PREFIX, Settings
from tenure.settings.sources import ALIASES
from tools.tables import table

PAGE = Path(__file__).parent.parent / "docs/reference/settings.md"

MEANINGS = {
    "name": "what this installation is called, such as `production`: the dashboard shows it, so that nobody "
    "acts in the wrong window",
    "database": "where the jobs are",
    "connections": "how many [connections to PostgreSQL](../how-to/postgresql.md#connections) a worker has "
    "at most; an idle one has 3",
    "api_connections": "how many a server has at most; with an app, `tenure serve` may have both numbers "
    "together",
    "lease_seconds": "how long a claim holds without a heartbeat; longer than two heartbeats",
    "lost_margin_seconds": "how much longer than that the store waits before it takes the jobs of a silent "
    "worker for lost",
    "heartbeat_seconds": "how often a worker says that it is alive",
    "lock_timeout_seconds": "how long a claim over HTTP holds for a worker that says it sends no heartbeats",
    "poll_seconds": "how late a due job may be seen; an idle worker that hears hints looks ten times more "
    "seldom",
    "slots": "how many jobs a worker runs at once in processes of their own",
    "warm_slots": "how many processes it keeps for jobs of lane `warm`",
    "async_slots": "how many jobs of lane `async` it runs at once",
    "thread_slots": "how many jobs of lane `thread` it runs at once",
    "queues": "which queues a worker serves, with commas between",
    "buffer": "how many jobs a worker may claim beyond its free slots",
    "timeout_seconds": "how long an attempt may take, where the definition does not say",
    "max_attempts": "how often a job may be tried, where the definition does not say",
    "grace_seconds": "how long a job may take to stop, where the definition does not say",
    "transport": "what leads workers to jobs: the database alone, or messages [in SQS](../how-to/sqs.md) as "
    "well",
    "sqs_queue_url": "the queue of these messages",
    "sweep_seconds": "how often a worker that messages lead to jobs looks for those that none has named",
    "shutdown_seconds": "how long a worker waits for its jobs, and a server for its requests, when it is to "
    "end",
    "child_env": "variables that handlers [are given](../how-to/environment.md), names or patterns such as "
    "`AWS_*`, with commas between; `*` gives all that are not the worker's own, an empty list none",
    "child_user": "the user that runs the jobs of a worker that is root, so that they [cannot read "
    "it](../explanation/worker.md#what-jobs-can-read); a name or a number",
    "child_signals": "which processes an attempt may send signals to: its own, where the kernel can "
    "[keep it to them](../explanation/worker.md#neighbours), or every process of its user",
    "child_memory_bytes": "how much memory an attempt's process may have, where the definition does not "
    "say; 0 for any amount",
    "child_files": "how many files it may have open, where the definition does not say; 0 for any number",
    "child_file_bytes": "how large a file may be that it writes; 0 for any size",
    "host": "where `tenure api` listens; while there are no keys, an address of this machine alone",
    "port": "its port; 0 for any that is free",
    "allowed_hosts": "names by which clients call the server, beside `localhost` and its own address, with "
    "commas between and without ports",
    "trusted_proxies": "addresses or networks of proxies whose `X-Forwarded-For` [is "
    "believed](http.md#many-connections), with commas between",
    "requests_per_second": "how many requests a second one key may make of one process, and at once; 0 for "
    "any number",
    "max_queue_depth": "how many jobs may stand in line in one queue before a server [takes no "
    "more](http.md#full-queues) for it; 0 for any number",
    "max_namespace_jobs": "how many jobs of one namespace may be unfinished before a server [takes no "
    "more](http.md#full-queues) for it, the namespace `default` apart; 0 for any number",
    "http_connections": "how many connections a server has at once, [half of them](http.md#many-connections) "
    "with one peer at most",
    "http_streams": "how many [streams of events](../how-to/streams.md) a server has open at once",
    "http_streams_per_key": "how many of them with one key",
    "http_body_bytes": "how large a body may be",
    "http_batch_bytes": "how large that of a batch may be",
    "http_large_bodies": "how many bytes all bodies have together, the first 64 KiB of each not counted",
    "http_head_bytes": "how large the head of a request may be",
    "http_url_bytes": "how long its address may be",
    "http_headers": "how many headers it may have",
    "http_rest_seconds": "how long a connection stays open without a request",
    "http_head_seconds": "how long the head of a request may be on its way",
    "http_body_seconds": "how long its body may be, where the caller has a key; without one as long as the "
    "head",
    "http_write_seconds": "how long a connection stays open for a client that does not read",
    "http_request_seconds": "how long the work on a request may take, beyond what it was asked to wait; "
    "after that, or when the database says so, the answer is 503. A batch has 60 at least",
    "metrics_port": "where a worker offers [what it counts](metrics.md) to Prometheus, and "
    "[its health](metrics.md#the-health-of-a-worker); 0 for any port that is free",
    "metrics_host": "the address of that port; every client that reaches it may read it",
    "tracing": "`otlp` to [export spans](../how-to/tracing.md), as the variables `OTEL_…` say",
    "webhook_allow": "networks that webhooks may reach [beyond the public "
    "internet](../how-to/webhooks.md#which-addresses-are-reached), with commas between",
    "webhook_key": "the secret from which those of webhooks [are "
    "derived](../how-to/webhooks.md#secrets), so that none is stored; the same for all processes",
    "redact": "names whose values the server, the log and `tenure jobs` leave out, with commas between and "
    "`*` for anything; empty to show everything",
    "log_format": "how [the log](logs.md) is written, or as fits where it goes",
    "log_level": "what is in it: that, and what is worse",
}
"""What each setting says."""

WITHOUT = {
    "heartbeat_seconds": "a third of the lease, 10 at most",
    "warm_slots": "one a processor",
    "queues": "those of its definitions",
    "buffer": "what begins within a moment",
    "child_env": "`*`",
    "child_user": "the worker's own user",
    "child_memory_bytes": "half of the machine's or the container's, 2 GiB at least",
    "metrics_port": "none",
    "webhook_key": "none",
    "redact": "[see below](#what-is-not-shown)",
}
"""What holds where a default is no value that could be written down."""


def page(text: str) -> str:
    """The page with its tables as the code has them now."""
    rows = [
        (f"`{_variable(name)}`", f"`{name}`", _default(name), _bounds(name), MEANINGS[name])
        for name in MEANINGS
    ]
    aliases = [
        (f"`{_variable(name)}`", f"`{_variable(alias.name)}`{_unit(alias.unit)}")
        for name, alias in ALIASES.items()
    ]
    text = _put(text, "settings", table(("variable", "in tenure.toml", "default", "bounds", ""), rows))
    return _put(text, "aliases", table(("also", "is"), aliases))


def _put(text: str, name: str, written: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    whole = f"{begin}\n\n{written}\n{end}"
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: whole, text, flags=re.DOTALL)


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _unit(unit: float) -> str:
    return "" if unit == 1 else ", in milliseconds"


def _default(name: str) -> str:
    if name in WITHOUT:
        return WITHOUT[name]
    value = next(field.default for field in structs.fields(Settings) if field.name == name)
    match value:
        case str():
            return f"`{value}`"
        case int() | float():
            return _number(name, value)
        case _:
            return ""


def _bounds(name: str) -> str:
    if name in CHOICES:
        return ", ".join(f"`{word}`" for word in CHOICES[name])
    return " to ".join(_number(name, bound) for bound in BOUNDS[name]) if name in BOUNDS else ""


def _number(name: str, value: float) -> str:
    if "bytes" in name or "bodies" in name:
        for unit, word in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if value and value % unit == 0:
                return f"{value // unit} {word}"
    return str(value) if name.endswith("port") else f"{value:,.12g}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
