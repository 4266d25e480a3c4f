"""The address of a PostgreSQL database, in parts: its servers, its name, and what Tenure itself reads of it.

Several servers stand in it as `host:port,host:port` before the name, or as `?host=a,b&port=1,2` after it.
This module reads them as the driver does, and refuses what the driver would misread. It does not load the
driver.
"""

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from tenure.core.errors import InvalidInput
from tenure.core.values.urls import masked

POOLED = {"true": True, "false": False}
"""What `pooled` may be."""

WRITABLE = ("read-write", "primary", "any")
"""What `target_session_attrs` may be: every other choice leads to servers that refuse to write."""

USUAL_PORT = 5432

_REMEDY = (
    "write postgresql://user@host:port/name, or host:port,host:port for several servers, and percent-encode "
    "what is special in a password"
)


class DatabaseServer(NamedTuple):
    """One of the servers: a host and a port, or the folder of a socket."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class PostgresAddress(NamedTuple):
    """An address: `dsn` is for the driver; without `servers` the driver finds the server by itself."""

    dsn: str
    servers: tuple[DatabaseServer, ...]
    name: str
    pooled: bool
    target: str | None
    """What the address says of `target_session_attrs`."""

    @property
    def where(self) -> str:
        """Servers and name, to be shown in messages."""
        return f"{','.join(map(str, self.servers)) or 'local socket'}/{self.name}"


def read_address(database: str) -> PostgresAddress:
    """Read an address. Raises InvalidInput that shows no password."""
    try:
        parts = urlsplit(database)
        parameters = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        servers = _servers(parts, dict(parameters))
    except ValueError:
        problem = f"has a host, port or parameter that cannot be read: {masked(database)!r}"
        raise InvalidInput("database", problem, _REMEDY) from None
    dsn, pooled = _without_pooled(database, parts)
    return PostgresAddress(dsn, servers, unquote(parts.path.lstrip("/")), pooled, _target(dict(parameters)))


def _servers(parts: SplitResult, parameters: dict[str, str]) -> tuple[DatabaseServer, ...]:
    # The driver ends user and password at the first such sign, and takes the rest of a password for a host.
    if parts.netloc.count("@") > 1 or "@" in parts.path:
        raise ValueError("an address with a password that is not percent-encoded")
    if hosts := parts.netloc.rpartition("@")[2]:
        return tuple(_server(host, USUAL_PORT, unquoted=True) for host in hosts.split(","))
    ports = [_port(port) for port in parameters.get("port", "").split(",") if parameters.get("port")]
    named = parameters.get("host", "").split(",") if parameters.get("host") else []
    if len(ports) > 1 and len(ports) != len(named):
        raise ValueError("as many ports as hosts, or one for all")
    usual = ports * len(named) if len(ports) == 1 else ports or [USUAL_PORT] * len(named)
    return tuple(_server(host, port) for host, port in zip(named, usual, strict=True))


def _server(text: str, usual: int, *, unquoted: bool = False) -> DatabaseServer:
    if text.startswith("/"):
        return DatabaseServer(text, usual)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError("an IPv6 address without its bracket")
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    if not host:
        raise ValueError("a server without a name")
    return DatabaseServer(unquote(host) if unquoted else host, _port(port) if port else usual)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 65_536):
        raise ValueError("not a port")
    return int(text)


def _without_pooled(database: str, parts: SplitResult) -> tuple[str, bool]:
    """The address without Tenure's own parameter, which the driver does not know, and its value."""
    settings = parts.query.split("&")
    ours = [setting for setting in settings if setting.partition("=")[0] == "pooled"]
    if not ours:
        return database, False
    choice = POOLED.get(ours[-1].partition("=")[2])
    if choice is None:
        raise InvalidInput("database", f"says {ours[-1]!r}", "write pooled=true or pooled=false")
    rest = "&".join(setting for setting in settings if setting not in ours)
    return parts._replace(query=rest).geturl(), choice


def _target(parameters: dict[str, str]) -> str | None:
    target = parameters.get("target_session_attrs")
    if target is not None and target not in WRITABLE:
        raise InvalidInput(
            "database",
            f"says target_session_attrs={target:.64}",
            f"Tenure writes: give {', '.join(WRITABLE[:-1])} or {WRITABLE[-1]}",
        )
    return target
