"""Collectors of spans, which read OTLP with OpenTelemetry's classes: one over HTTP, one in process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace.sampling import Sampler

from tenure.api.redaction import Redaction
from tenure.telemetry.traces.otlp import OtlpSpans


class Collector:
    """What has come so far, and the address to send it to; bodies are decoded when read."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.services: set[str] = set()
        self._bodies: list[bytes] = []
        self._spans: list[Span] = []
        self._changed = threading.Condition()

    def take(self, body: bytes) -> None:
        """Take a request in."""
        with self._changed:
            self._bodies.append(body)
            self._changed.notify_all()

    def named(self, name: str, seconds: float = 60) -> Span:
        """The span of this name, once it is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._found(name), seconds), [
                one.name for one in self._spans
            ]
            [found] = self._found(name)
            return found

    def forget(self) -> int:
        """How many spans have come since the last call."""
        with self._changed:
            self._read()
            count = len(self._spans)
            self._spans.clear()
            return count

    def _found(self, name: str) -> list[Span]:
        self._read()
        return [span for span in self._spans if span.name == name]

    def _read(self) -> None:
        for body in self._bodies:
            for of_one in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services.add(values_of(of_one.resource.attributes)["service.name"])
                self._spans += [span for scope in of_one.scope_spans for span in scope.spans]
        self._bodies.clear()


class LocalCollector:
    """Takes what is exported in this process; `spans` is the exporter."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.service = ""
        self._taken: list[Span] = []
        self.spans = OtlpSpans(self, print, Redaction(()), sampler=sampler)

    def send(self, body: bytes) -> str:
        """Take a request in."""
        for of_one in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.service = values_of(of_one.resource.attributes)["service.name"]
            self._taken += [span for scope in of_one.scope_spans for span in scope.spans]
        return ""

    def close(self) -> None:
        """There is nothing to retry."""

    @property
    def taken(self) -> list[Span]:
        """All spans: no more are exported after this."""
        self.spans.close()
        return self._taken

    def of(self, job: object) -> list[Span]:
        """The spans of a job's attempts, in order."""
        return [
            one for one in self.taken if values_of(one.attributes).get("messaging.message.id") == str(job)
        ]


def values_of(attributes: Any) -> dict[str, Any]:
    """The values of attributes, by name."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector that listens while the context lasts."""

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
