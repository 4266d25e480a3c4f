"""What can be set from outside, with its defaults and bounds; `tenure.sources` reads it."""

import re

from msgspec import Struct, structs

from tenure.core.bounds import named, within
from tenure.core.errors import InvalidInput
from tenure.core.urls import DEFAULT, masked

PREFIX = "TENURE_"
REDACTED = (
    *("*password*", "*passwd*", "*passphrase*", "*secret*", "*credential*", "*token", "*api_key", "*apikey"),
    *("*private_key", "*access_key", "authorization", "*_authorization", "cookie", "set_cookie"),
)
"""Names whose values are shown to nobody, `*` for anything."""

_DAY = 86_400.0
_WEEK = 7 * _DAY
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")


class Settings(Struct, frozen=True, kw_only=True):
    """What is in force. Seconds are seconds; `queues` is empty for those of the app's definitions."""

    database: str = DEFAULT
    lease_seconds: float = 30.0
    heartbeat_seconds: float | None = None
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
    shutdown_seconds: float = 30.0
    lost_margin_seconds: float = 0.0
    child_env: tuple[str, ...] = ()
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
    http_connections: int = 512
    http_streams: int = 128
    http_streams_per_key: int = 32
    http_body_bytes: int = 2**20
    http_batch_bytes: int = 16 * 2**20
    http_large_bodies: int = 64 * 2**20
    http_head_bytes: int = 16_384
    http_url_bytes: int = 8192
    http_headers: int = 100
    http_rest_seconds: float = 15.0
    http_head_seconds: float = 10.0
    http_body_seconds: float = 60.0
    http_write_seconds: float = 60.0
    http_request_seconds: float = 10.0
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    tracing: str = "off"
    webhook_allow: tuple[str, ...] = ()
    redact: tuple[str, ...] = REDACTED
    log_format: str = "auto"
    log_level: str = "info"

    def __repr__(self) -> str:
        """Every setting, the address without its password."""
        told = (f"{name}={value!r}" for name, value in structs.asdict(self).items() if name != "database")
        return f"Settings(database={masked(self.database)!r}, {', '.join(told)})"

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            if (value := getattr(self, name)) is not None:
                within(name, value, least, most)
        if 2 * self.heartbeat >= self.lease_seconds:
            raise InvalidInput(
                "heartbeat_seconds",
                f"is {self.heartbeat:g} with a lease of {self.lease_seconds:g} seconds",
                f"one that is missed would cost the lease: give less than {self.lease_seconds / 2:g}, "
                f"or set lease_seconds to more than {2 * self.heartbeat:g}",
            )
        if self.lease_seconds + self.lost_margin_seconds > _DAY:
            raise InvalidInput(
                "lost_margin_seconds",
                f"is {self.lost_margin_seconds:g} with a lease of {self.lease_seconds:g} seconds",
                "let the two be a day at most",
            )
        _check_limits(self)
        for name, choices in CHOICES.items():
            if (chosen := getattr(self, name)) not in choices:
                raise InvalidInput(name, f"is {chosen!r:.64}", f"give one of {', '.join(choices)}")
        for queue in self.queues:
            named("queues", queue)
        for variable in self.child_env:
            if not _VARIABLE.fullmatch(variable):
                raise InvalidInput("child_env", f"holds {variable!r:.64}", "give names of variables")
        _check_networks("webhook_allow", self.webhook_allow)
        _check_networks("trusted_proxies", self.trusted_proxies)
        for host in self.allowed_hosts:
            if not _HOST.fullmatch(host):
                raise InvalidInput("allowed_hosts", f"holds {host!r:.64}", "give names without a port")

    @property
    def heartbeat(self) -> float:
        """Seconds between two heartbeats: a third of the lease unless set, and ten at most."""
        return min(self.lease_seconds / 3, 10) if self.heartbeat_seconds is None else self.heartbeat_seconds

    def for_definitions(self) -> dict[str, str]:
        """The variables that give a definition's defaults in another process, as this one has them."""
        return {f"{PREFIX}{name.upper()}": str(getattr(self, name)) for name in _OF_DEFINITIONS}


BOUNDS: dict[str, tuple[float, float]] = {
    "lease_seconds": (1, _DAY),
    "heartbeat_seconds": (0.1, 30),
    "poll_seconds": (0.01, 60),
    "slots": (1, 1000),
    "warm_slots": (1, 1000),
    "async_slots": (1, 1000),
    "thread_slots": (1, 1000),
    "buffer": (0, 1000),
    "timeout_seconds": (1, _WEEK),
    "max_attempts": (1, 100),
    "grace_seconds": (0, _DAY),
    "shutdown_seconds": (0, _DAY),
    "lost_margin_seconds": (0, _DAY),
    "child_memory_bytes": (0, 2**50),
    "child_files": (0, 2**20),
    "child_file_bytes": (0, 2**60),
    "port": (0, 65_535),
    "requests_per_second": (0, 1_000_000),
    "max_queue_depth": (0, 1_000_000_000),
    "max_namespace_jobs": (0, 100_000),
    "http_connections": (1, 65_536),
    "http_streams": (0, 65_536),
    "http_streams_per_key": (1, 65_536),
    "http_body_bytes": (1024, 2**26),
    "http_batch_bytes": (1024, 2**28),
    "http_large_bodies": (0, 2**32),
    "http_head_bytes": (1024, 2**20),
    "http_url_bytes": (256, 2**16),
    "http_headers": (8, 10_000),
    "http_rest_seconds": (1, 3600),
    "http_head_seconds": (1, 3600),
    "http_body_seconds": (1, 3600),
    "http_write_seconds": (1, 3600),
    "http_request_seconds": (0.1, 600),
    "metrics_port": (0, 65_535),
}
"""The least and the most that each number may be."""

LEAST = {"child_memory_bytes": 2**20, "child_files": 16, "child_file_bytes": 2**20}
"""Limits of attempts, which 0 lifts: less than this nobody can work with."""

CHOICES = {
    "child_signals": ("own", "any"),
    "log_format": ("auto", "json", "console"),
    "log_level": ("debug", "info", "warning", "error"),
    "tracing": ("off", "otlp"),
}
"""The words that some settings may be."""

_OF_DEFINITIONS = ("timeout_seconds", "max_attempts", "grace_seconds")


def _check_limits(settings: Settings) -> None:
    for name, least in LEAST.items():
        value = getattr(settings, name)
        if value and value < least:
            raise InvalidInput(name, f"is {value}", f"give {least:,} at least, or 0 for any number")


def _check_networks(name: str, networks: tuple[str, ...]) -> None:
    import ipaddress

    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError as error:
        raise InvalidInput(name, str(error), "give networks such as 10.0.0.0/8") from None
