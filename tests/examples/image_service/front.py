"""Stands between the service and the cloud: at one address, remembers every call, and breaks some."""

import http.client
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

from examples.image_service.local_cloud import BUCKET

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OPERATIONS = {"PUT": "put_object", "DELETE": "delete_object", "POST": "create_invalidation"}


class Call(NamedTuple):
    """A call as it came: its operation as the SDK names it, the key, and the image that it is about."""

    operation: str
    key: str
    image: str


class Answered(NamedTuple):
    """A call, and the status of its answer; 0 if there was none."""

    call: Call
    status: int


class Fault(NamedTuple):
    """How a call is broken: with a status and a code, with no answer, or carried out with the answer lost."""

    status: int = 0
    code: str = ""
    is_done: bool = False


Judge = Callable[[Call], Fault | None]


class Front(ThreadingHTTPServer):
    """A server that hands calls on to wherever the cloud is."""

    daemon_threads = True

    def __init__(self, cloud: Callable[[], str]) -> None:
        """`cloud` gives its address at the moment."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cloud = cloud
        self.judge: Judge = lambda _: None
        self.answered: list[Answered] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def operations(self) -> Counter[str]:
        """How many calls there were of each operation."""
        return Counter(one.call.operation for one in self.answered)

    def of(self, image: str) -> list[Answered]:
        """The calls about an image, in the order of their answers."""
        return [one for one in self.answered if one.call.image == image]


@contextmanager
def running_front(cloud: Callable[[], str]) -> Iterator[Front]:
    front = Front(cloud)
    thread = threading.Thread(target=front.serve_forever, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        front.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def _carry(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        call = _call(self.command, self.path, body)
        fault = self.server.judge(call)
        if fault is not None and fault.status:
            self._answer(call, fault.status, f"<Error><Code>{fault.code}</Code></Error>".encode(), {})
            return
        if fault is not None and not fault.is_done:
            self._hang_up(call)
            return
        try:
            status, headers, answer = self._ask(body)
        except OSError:
            self._hang_up(call)  # the cloud is away
            return
        if fault is not None:
            self._hang_up(call)
            return
        self._answer(call, status, answer, headers)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _carry  # noqa: N815

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        to = urlsplit(self.server.cloud())
        wire = http.client.HTTPConnection(to.hostname or "", to.port, timeout=60)
        try:
            wire.request(self.command, self.path, body, dict(self.headers))
            got = wire.getresponse()
            headers = {name: value for name, value in got.getheaders() if name.lower() not in _HOP}
            return got.status, headers, got.read()
        except http.client.HTTPException as error:
            raise ConnectionError from error
        finally:
            wire.close()

    def _answer(self, call: Call, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.server.answered.append(Answered(call, status))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _hang_up(self, call: Call) -> None:
        self.server.answered.append(Answered(call, 0))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing: the calls are kept."""


_HOP = {"connection", "transfer-encoding", "content-length", "server", "date"}


def _call(method: str, path: str, body: bytes) -> Call:
    parts = urlsplit(path)
    key = parts.path.removeprefix(f"/{BUCKET}").strip("/")
    about = _ID.search(path.replace("%2F", "/")) or _ID.search(body[:2000].decode(errors="replace"))
    is_object = method == "GET" and bool(key)
    operation = "get_object" if is_object else _OPERATIONS.get(method, "list_objects_v2")
    return Call(operation, key, about.group() if about else "")
