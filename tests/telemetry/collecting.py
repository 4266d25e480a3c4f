"""A collector of spans, as OpenTelemetry's is one: it takes them by OTLP over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """What has come so far, and where it is taken."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.services: set[str] = set()
        self._spans: list[Span] = []
        self._changed = threading.Condition()

    def take(self, body: bytes) -> None:
        """Take a request in."""
        asked = ExportTraceServiceRequest.FromString(body)
        with self._changed:
            for of_one in asked.resource_spans:
                named = {each.key: each.value.string_value for each in of_one.resource.attributes}
                self.services.add(named["service.name"])
                self._spans += [span for scope in of_one.scope_spans for span in scope.spans]
            self._changed.notify_all()

    def named(self, name: str, seconds: float = 60) -> Span:
        """The span of this name, once it is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._found(name), seconds), [
                one.name for one in self._spans
            ]
            [found] = self._found(name)
            return found

    def _found(self, name: str) -> list[Span]:
        return [span for span in self._spans if span.name == name]


@contextmanager
def collector() -> Iterator[Collector]:
    """One that listens while the context lasts."""

    class Taking(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            made.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        server.daemon_threads = True
        made = Collector(f"http://127.0.0.1:{server.server_port}")
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield made
        finally:
            server.shutdown()
            serving.join()
