"""The OTLP/HTTP endpoint: address, headers, retries, as set by `OTEL_EXPORTER_OTLP_…`."""

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

DEFAULT_ENDPOINT = "http://localhost:4318"
PATIENCE = 10.0
"""Seconds for a request, its retries included."""

FIRST_PAUSE = 1.0
SHORTEST_PAUSE = 0.1
LARGEST_ANSWER = 2**16
"""The bytes of an answer that are read, only to reuse the connection."""

RETRIED = frozenset({429, 502, 503, 504})
"""The statuses after which a request is sent again."""

_SENDABLE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
"""What the value of a header may hold."""

_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": lambda body: gzip.compress(body, compresslevel=6),
    "deflate": zlib.compress,
}


class Collector:
    """Sends requests over a connection that it keeps open."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises ValueError, which names the variable, if one is invalid."""
        variables = _Variables(environment)
        self._url = variables.endpoint()
        self._patience = variables.seconds()
        compression = variables("COMPRESSION", "none").strip().lower()
        if compression not in _COMPRESSIONS:
            raise ValueError(f"{variables.named('COMPRESSION')} is none of {', '.join(_COMPRESSIONS)}")
        self._compress = _COMPRESSIONS[compression]
        self._session = requests.Session()
        self._session.headers["content-type"] = "application/x-protobuf"
        self._session.headers["user-agent"] = f"tenure/{__version__}"
        if compression != "none":
            self._session.headers["content-encoding"] = compression
        self._session.headers.update(variables.headers())
        self._session.verify = variables.file("CERTIFICATE") or True
        if certificate := variables.file("CLIENT_CERTIFICATE"):
            key = variables.file("CLIENT_KEY")
            self._session.cert = (certificate, key) if key else certificate
        self._closing = threading.Event()

    def send(self, body: bytes) -> str:
        """Send a request, with retries where these may help; returns the problem, or an empty text."""
        packed = self._compress(body)
        deadline = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                answer = self._post(packed, left)
            except (requests.ConnectionError, requests.Timeout) as error:
                problem, wait = type(error).__name__, pause
            else:
                problem, wait = str(answer.status_code), _retry_after(answer, pause)
                if answer.status_code not in RETRIED:
                    return "" if 200 <= answer.status_code < 300 else problem  # redirects are not followed
            pause *= 2
            if time.monotonic() + wait > deadline or self._closing.wait(wait):
                return problem

    def close(self) -> None:
        """Send no more retries."""
        self._closing.set()

    def _post(self, packed: bytes, patience: float) -> requests.Response:
        """The answer, of which only the head counts; after a long body the connection is not reused."""
        posted = self._session.post(
            self._url, data=packed, timeout=patience, allow_redirects=False, stream=True
        )
        with posted as answer, suppress(HTTPError):
            answer.raw.read(LARGEST_ANSWER, decode_content=False)
        return answer


class _Variables:
    """Variables for traces go before those for all signals."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __call__(self, name: str, unless: str = "") -> str:
        return self._environment.get(self.named(name)) or unless

    def named(self, name: str) -> str:
        """The full name of the variable that applies."""
        of_traces = f"OTEL_EXPORTER_OTLP_TRACES_{name}"
        return of_traces if self._environment.get(of_traces) else f"OTEL_EXPORTER_OTLP_{name}"

    def endpoint(self) -> str:
        name, url = self.named("ENDPOINT"), self("ENDPOINT", DEFAULT_ENDPOINT)
        if not _is_address(url):
            raise ValueError(f"{name} is not an address such as {DEFAULT_ENDPOINT}")
        return url if "TRACES" in name else f"{url.rstrip('/')}/v1/traces"

    def headers(self) -> Mapping[str, str]:
        """Refused as a whole, and never repeated in an error: they may hold keys."""
        found: dict[str, str] = {}
        for one in filter(str.strip, self("HEADERS").split(",")):
            header = parse_env_headers(one, liberal=True)
            if not header or not all(map(_SENDABLE.fullmatch, header.values())):
                raise ValueError(f"{self.named('HEADERS')} is not a list such as name=value,name=value")
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
            raise ValueError(f"{self.named('TIMEOUT')} is not a number of seconds above 0")
        return found


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its text may repeat part of a password
        return False


def _retry_after(answer: requests.Response, unless: float) -> float:
    """The seconds of `Retry-After`, if it is a number: a date is too coarse for some seconds.

    Never zero: a collector that is overloaded must not get retries as fast as it can refuse them.
    """
    header = answer.headers.get("retry-after", "").strip()
    return max(float(header), SHORTEST_PAUSE) if header.isascii() and header.isdecimal() else unless
