"""Every setting with its default and bounds; `tenure.settings.sources` reads them."""

import re
from typing import Any

from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import named, within
from tenure.core.values.secret_names import REDACTED
from tenure.core.values.urls import DEFAULT, masked
from tenure.settings.http_limits import HTTP_BOUNDS, HttpLimits

PREFIX = "TENURE_"

HIDDEN = "***"
"""What is shown of a secret."""

SHORTEST_KEY, LONGEST_KEY = 32, 1024

LONGEST_NAME = 32

_DAY = 86_400.0
_WEEK = 7 * _DAY
_NAME = re.compile(rf"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{{0,{LONGEST_NAME}}}")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_QUEUE_URL = re.compile(r"https?://[^\s/?#]+/[^\s?#]+")
_VARIABLE = re.compile(r"[A-Za-z_*][A-Za-z0-9_*]*")
_NEVER_BY_PATTERN = (PREFIX, "PG")
"""How names begin that a handler is given only where they are spelled out."""


class Settings(HttpLimits, frozen=True, kw_only=True):
    """The settings in force. Empty `queues` means those of the app's definitions."""

    name: str = ""
    database: str = DEFAULT
    connections: int = 10
    api_connections: int = 10
    lease_seconds: float = 30.0
    heartbeat_seconds: float | None = None
    lock_timeout_seconds: float = 600.0
    poll_seconds: float = 1.0
    slots: int = 10
    warm_slots: int | None = None
    async_slots: int = 100
    thread_slots: int = 20
    queues: tuple[str, ...] = ()
    buffer: int | None = None
    timeout_seconds: float = 3600.0
    max_attempts: int = 3
    grace_seconds: float = 10.0
    transport: str = "database"
    sqs_queue_url: str = ""
    sweep_seconds: float = 30.0
    shutdown_seconds: float = 30.0
    lost_margin_seconds: float = 0.0
    child_env: tuple[str, ...] = ("*",)
    child_user: str = ""
    child_signals: str = "own"
    child_memory_bytes: int | None = None
    child_files: int = 1024
    child_file_bytes: int = 4 * 2**30
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    requests_per_second: float = 1000.0
    max_queue_depth: int = 0
    max_namespace_jobs: int = 0
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    tracing: str = "off"
    webhook_allow: tuple[str, ...] = ()
    webhook_key: str = ""
    redact: tuple[str, ...] = REDACTED
    log_format: str = "auto"
    log_level: str = "info"

    def __repr__(self) -> str:
        """Every setting, without secrets."""
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.shown().items())})"

    def shown(self) -> dict[str, Any]:
        """Every setting as it may be shown: the database's address without its password, and no key."""
        key = HIDDEN if self.webhook_key else ""
        return {**structs.asdict(self), "database": masked(self.database), "webhook_key": key}

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            if (value := getattr(self, name)) is not None:
                within(name, value, least, most)
        if 2 * self.heartbeat >= self.lease_seconds:
            raise InvalidInput(
                "heartbeat_seconds",
                f"is {self.heartbeat:g} with a lease of {self.lease_seconds:g} seconds",
                f"one missed heartbeat would lose the lease: give less than {self.lease_seconds / 2:g}, "
                f"or set lease_seconds to more than {2 * self.heartbeat:g}",
            )
        if self.lease_seconds + self.lost_margin_seconds > _DAY:
            raise InvalidInput(
                "lost_margin_seconds",
                f"is {self.lost_margin_seconds:g} with a lease of {self.lease_seconds:g} seconds",
                "together they may be one day at most",
            )
        _check_limits(self)
        for name, choices in CHOICES.items():
            if (chosen := getattr(self, name)) not in choices:
                raise InvalidInput(name, f"is {chosen!r:.64}", f"give one of {', '.join(choices)}")
        _check_transport(self)
        if not _NAME.fullmatch(self.name):
            problem = f"is {self.name!r:.64}"
            raise InvalidInput("name", problem, f"give at most {LONGEST_NAME} characters on one line")
        for queue in self.queues:
            named("queues", queue)
        if self.webhook_key and not SHORTEST_KEY <= len(self.webhook_key) <= LONGEST_KEY:
            problem = f"has {len(self.webhook_key)} characters"
            raise InvalidInput(
                "webhook_key", problem, f"give {SHORTEST_KEY} to {LONGEST_KEY}, made at random"
            )
        _check_variables("child_env", self.child_env)
        _check_networks("webhook_allow", self.webhook_allow)
        _check_networks("trusted_proxies", self.trusted_proxies)
        for host in self.allowed_hosts:
            if not _HOST.fullmatch(host):
                raise InvalidInput("allowed_hosts", f"holds {host!r:.64}", "give host names without a port")

    @property
    def heartbeat(self) -> float:
        """Seconds between two heartbeats; if not set, a third of the lease, and ten at most."""
        return min(self.lease_seconds / 3, 10) if self.heartbeat_seconds is None else self.heartbeat_seconds

    def for_definitions(self) -> dict[str, str]:
        """Environment variables that give definitions the same defaults in another process."""
        return {f"{PREFIX}{name.upper()}": str(getattr(self, name)) for name in _DEFINITION_DEFAULTS}


BOUNDS: dict[str, tuple[float, float]] = {
    "connections": (3, 1000),
    "api_connections": (3, 1000),
    "lease_seconds": (1, _DAY),
    "heartbeat_seconds": (0.1, 30),
    "lock_timeout_seconds": (1, _DAY),
    "poll_seconds": (0.01, 60),
    "slots": (1, 1000),
    "warm_slots": (1, 1000),
    "async_slots": (1, 1000),
    "thread_slots": (1, 1000),
    "buffer": (0, 1000),
    "timeout_seconds": (1, _WEEK),
    "max_attempts": (1, 100),
    "grace_seconds": (0, _DAY),
    "sweep_seconds": (1, _DAY),
    "shutdown_seconds": (0, _DAY),
    "lost_margin_seconds": (0, _DAY),
    "child_memory_bytes": (0, 2**50),
    "child_files": (0, 2**20),
    "child_file_bytes": (0, 2**60),
    "port": (0, 65_535),
    "requests_per_second": (0, 1_000_000),
    "max_queue_depth": (0, 1_000_000_000),
    "max_namespace_jobs": (0, 100_000),
    **HTTP_BOUNDS,
    "metrics_port": (0, 65_535),
}
"""The smallest and the largest value of each number."""

LEAST = {"child_memory_bytes": 2**20, "child_files": 16, "child_file_bytes": 2**20}
"""The smallest useful limits of attempts; 0 means no limit."""

CHOICES = {
    "child_signals": ("own", "any"),
    "log_format": ("auto", "json", "console"),
    "log_level": ("debug", "info", "warning", "error"),
    "tracing": ("off", "otlp"),
    "transport": ("database", "sqs"),
}
"""Settings that take one of a few words."""

_DEFINITION_DEFAULTS = ("timeout_seconds", "max_attempts", "grace_seconds")


def _check_limits(settings: Settings) -> None:
    for name, least in LEAST.items():
        value = getattr(settings, name)
        if value and value < least:
            raise InvalidInput(name, f"is {value}", f"give at least {least:,}, or 0 for no limit")


def _check_transport(settings: Settings) -> None:
    url, example = settings.sqs_queue_url, "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
    if url and not _QUEUE_URL.fullmatch(url):
        raise InvalidInput("sqs_queue_url", f"is {url!r:.64}", f"give the URL of a queue, such as {example}")
    if url.endswith(".fifo"):
        problem = "names a FIFO queue, where one message waits for another"
        raise InvalidInput("sqs_queue_url", problem, "make a standard queue: order is the database's")
    if settings.transport == "sqs" and not url:
        problem = "is missing, and the transport is sqs"
        raise InvalidInput("sqs_queue_url", problem, f"give the URL of the queue, such as {example}")


def _check_variables(name: str, variables: tuple[str, ...]) -> None:
    for variable in variables:
        if not _VARIABLE.fullmatch(variable):
            remedy = "give names of variables, or patterns such as AWS_*, with commas between"
            raise InvalidInput(name, f"holds {variable!r:.64}", remedy)
        if "*" in variable and variable.startswith(_NEVER_BY_PATTERN):
            problem = f"holds {variable!r:.64}, but patterns give no variables of Tenure or PostgreSQL"
            raise InvalidInput(name, problem, "spell out each name, such as PGHOST")


def _check_networks(name: str, networks: tuple[str, ...]) -> None:
    import ipaddress

    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError as error:
        raise InvalidInput(name, str(error), "give networks such as 10.0.0.0/8") from None
