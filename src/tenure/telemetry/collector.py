"""Who takes spans by OTLP over HTTP: where he is, and how he is spoken to, as `OTEL_EXPORTER_OTLP_…` say."""

import gzip
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import requests
from opentelemetry.util.re import parse_env_headers
from urllib3.exceptions import HTTPError

from tenure.version import __version__

HERE = "http://localhost:4318"
PATIENCE = 10.0
"""Seconds for a request, those that repeat it included."""

FIRST_PAUSE = 1.0
SHORTEST_PAUSE = 0.1
LARGEST_ANSWER = 2**16
"""The bytes of an answer that are read, for the sake of the connection: nobody looks at them."""

AGAIN = frozenset({429, 502, 503, 504})
"""The answers after which a request is worth repeating."""

_SENDABLE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
"""What the value of a header may hold."""

_PACKED: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": lambda body: gzip.compress(body, compresslevel=6),
    "deflate": zlib.compress,
}


class Collector:
    """A connection that is kept."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises ValueError, with the variable that makes no sense."""
        said = _Variables(environment)
        self._url = said.endpoint()
        self._patience = said.seconds()
        compression = said("COMPRESSION", "none").strip().lower()
        if compression not in _PACKED:
            raise ValueError(f"{said.named('COMPRESSION')} is none of {', '.join(_PACKED)}")
        self._packed = _PACKED[compression]
        self._session = requests.Session()
        self._session.headers["content-type"] = "application/x-protobuf"
        self._session.headers["user-agent"] = f"tenure/{__version__}"
        if compression != "none":
            self._session.headers["content-encoding"] = compression
        self._session.headers.update(said.headers())
        self._session.verify = said.file("CERTIFICATE") or True
        if certificate := said.file("CLIENT_CERTIFICATE"):
            key = said.file("CLIENT_KEY")
            self._session.cert = (certificate, key) if key else certificate
        self._closing = threading.Event()

    def take(self, body: bytes) -> str:
        """Send a request, again where that may help; answers with what was wrong, if it was not taken."""
        packed = self._packed(body)
        deadline = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                answer = self._asked(packed, left)
            except (requests.ConnectionError, requests.Timeout) as error:
                problem, wait = type(error).__name__, pause
            else:
                problem, wait = str(answer.status_code), _asked_to_wait(answer, pause)
                if answer.status_code not in AGAIN:
                    return "" if 200 <= answer.status_code < 300 else problem  # nobody is sent elsewhere
            pause *= 2
            if time.monotonic() + wait > deadline or self._closing.wait(wait):
                return problem

    def close(self) -> None:
        """Repeat nothing any more."""
        self._closing.set()

    def _asked(self, packed: bytes, patience: float) -> requests.Response:
        """The answer, of which only the head counts; one that does not end soon costs the connection."""
        asked = self._session.post(
            self._url, data=packed, timeout=patience, allow_redirects=False, stream=True
        )
        with asked as answer, suppress(HTTPError):
            answer.raw.read(LARGEST_ANSWER, decode_content=False)
        return answer


class _Variables:
    """What is said of traces goes before what is said of everything."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __call__(self, name: str, unless: str = "") -> str:
        return self._environment.get(self.named(name)) or unless

    def named(self, name: str) -> str:
        """The variable that is heard."""
        of_traces = f"OTEL_EXPORTER_OTLP_TRACES_{name}"
        return of_traces if self._environment.get(of_traces) else f"OTEL_EXPORTER_OTLP_{name}"

    def endpoint(self) -> str:
        name, url = self.named("ENDPOINT"), self("ENDPOINT", HERE)
        if not _is_address(url):
            raise ValueError(f"{name} is no address as {HERE} is one")
        return url if "TRACES" in name else f"{url.rstrip('/')}/v1/traces"

    def headers(self) -> Mapping[str, str]:
        """Refused as a whole, and never repeated: there are keys among them."""
        found: dict[str, str] = {}
        for one in filter(str.strip, self("HEADERS").split(",")):
            header = parse_env_headers(one, liberal=True)
            if not header or not all(map(_SENDABLE.fullmatch, header.values())):
                raise ValueError(f"{self.named('HEADERS')} is no list as name=value,name=value is one")
            found.update(header)
        return found

    def file(self, name: str) -> str:
        if (path := self(name)) and not Path(path).exists():
            raise ValueError(f"{self.named(name)} names no file")
        return path

    def seconds(self) -> float:
        try:
            found = float(self("TIMEOUT", str(PATIENCE)))
        except ValueError:
            found = 0.0
        if not 0 < found < threading.TIMEOUT_MAX:
            raise ValueError(f"{self.named('TIMEOUT')} is no number of seconds above 0")
        return found


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # which repeats part of what it was given, of a password perhaps
        return False


def _asked_to_wait(answer: requests.Response, unless: float) -> float:
    """By `Retry-After`, where it is a number: a date is too coarse for some seconds.

    Never at once: whoever has no time for us must not be asked as fast as he can refuse.
    """
    said = answer.headers.get("retry-after", "").strip()
    return max(float(said), SHORTEST_PAUSE) if said.isascii() and said.isdecimal() else unless
