"""Whether a text holds the address or the password of a database: what a worker keeps from its handlers.

An address is found in any form: with another scheme, user or password, as one of several hosts, as
`host=… dbname=…`. A host or a name alone is no address. A password is found as it is, percent-encoded or
escaped. One that could be an ordinary word (shorter than eight characters, or fewer than sixteen letters and
nothing else) would be found everywhere: it counts only as the password in an address, and as the whole value
of a variable whose name says that it is secret.
"""

import json
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from tenure.core.errors import InvalidInput
from tenure.core.values.secret_names import REDACTED
from tenure.storage.postgres.wire.addresses import USUAL_PORT, read_address

SHORTEST = 8
"""How many characters a password has at least that is looked for anywhere."""

SHORTEST_OF_LETTERS = 16
"""The same of one that has letters only."""

# Not in the middle of a word: a long value without an address must not take time quadratic in its length.
_URL = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z0-9+.-]+)://([^\s\"'<>]*)")
_KEYWORD = re.compile(
    r"\b(host|hostaddr|port|dbname|database|password)\s*=\s*(?:'([^']*)'|([^\s;&'\"]+))", re.IGNORECASE
)
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_HOST_OF_POSTGRES = re.compile(r"postg|pg|psql", re.IGNORECASE)


class Place(NamedTuple):
    """A database on a server, as one of its addresses names it."""

    host: str
    port: int
    name: str


class AddressTraces:
    """Finds traces of the addresses that a process was given, of which one is in use."""

    def __init__(self, databases: Iterable[str], environment: Mapping[str, str]) -> None:
        self._places: set[Place] = set()
        self._files: set[str] = set()
        self._passwords: set[str] = set()
        databases = [database for database in databases if database]
        # One that is nothing but a scheme stands in every other address.
        self._addresses = {database for database in databases if database.partition("://")[2].strip("/")}
        for database in databases:
            if (file := _sqlite_file(database)) is not None:
                self._files.add(file)
            else:
                self._learn(database, environment)
        self._found_anywhere = {
            form for one in self._passwords if not _is_ordinary(one) for form in _forms(one)
        }

    def are_in(self, name: str, value: str) -> bool:
        """Whether the value of a variable holds an address or a password."""
        return any(self._are_in_text(name, text) for text in {value, unquote(value)})

    def _are_in_text(self, name: str, text: str) -> bool:
        if any(form in text for form in self._found_anywhere | self._addresses):
            return True
        if text in self._passwords and _is_secret_name(name):
            return True
        return (
            any(self._is_ours(scheme, rest) for scheme, rest in _URL.findall(text))
            or self._is_ours_in_words(text)
            or text in self._files
        )

    def _is_ours(self, scheme: str, rest: str) -> bool:
        if scheme.lower().startswith("sqlite"):
            return _sqlite_file(f"sqlite://{rest}") in self._files
        address = f"postgresql://{rest}"
        if not self._passwords.isdisjoint(_passwords_in(address)):
            return True
        has_ports = re.search(r":\d+(?:[,/?]|$)", rest.rpartition("@")[2]) is not None
        may_be_postgres = has_ports or _ANY_HOST_OF_POSTGRES.search(scheme) is not None
        return may_be_postgres and not self._places.isdisjoint(_places(address, {}))

    def _is_ours_in_words(self, text: str) -> bool:
        words = {key.lower(): quoted or plain for key, quoted, plain in _KEYWORD.findall(text)}
        if words.get("password") in self._passwords:
            return True
        host, name = words.get("host", words.get("hostaddr")), words.get("dbname", words.get("database"))
        if host is None or name is None:
            return False
        port = words.get("port", "")
        each = int(port) if port.isascii() and port.isdecimal() else USUAL_PORT
        return any(Place(_plain(one), each, name) in self._places for one in host.split(","))

    def _learn(self, database: str, environment: Mapping[str, str]) -> None:
        self._passwords |= {*_passwords_in(database), environment.get("PGPASSWORD", "")} - {""}
        self._places |= _places(database, environment)


def _places(database: str, environment: Mapping[str, str]) -> set[Place]:
    """Where an address leads; `environment` says what it leaves out. Empty for one that cannot be read."""
    for text in (database, database.partition("?")[0]):
        try:
            address = read_address(text)
        except InvalidInput:
            continue
        user = unquote(urlsplit(text).netloc.rpartition("@")[0].partition(":")[0])
        name = address.name or environment.get("PGDATABASE") or user
        if address.servers:
            return {Place(_plain(server.host), server.port, name) for server in address.servers}
        port = environment.get("PGPORT", "")
        usual = int(port) if port.isascii() and port.isdecimal() else USUAL_PORT
        return {Place(_plain(host), usual, name) for host in environment.get("PGHOST", "").split(",") if host}
    return set()


def _passwords_in(database: str) -> set[str]:
    try:
        parts = urlsplit(database)
        given = {value for key, value in parse_qsl(parts.query) if key.lower() == "password"}
    except ValueError:
        return set()
    raw = parts.netloc.rpartition("@")[0].partition(":")[2]
    return {*given, raw, unquote(raw)} - {""}


def _sqlite_file(database: str) -> str | None:
    scheme, _, name = database.partition(":///")
    return str(Path(name).absolute()) if scheme.lower().startswith("sqlite") and name else None


def _plain(host: str) -> str:
    return "localhost" if host.lower() in _THIS_MACHINE else host.lower()


def _is_ordinary(password: str) -> bool:
    return len(password) < (SHORTEST_OF_LETTERS if password.isalpha() else SHORTEST)


def _forms(password: str) -> set[str]:
    return {password, quote(password, safe=""), quote_plus(password), json.dumps(password)[1:-1]}


def _is_secret_name(name: str) -> bool:
    lower = name.lower()
    return "pass" in lower or any(fnmatchcase(lower, pattern) for pattern in REDACTED)
