"""A collector is spoken to as the variables `OTEL_EXPORTER_OTLP_…` say, and again where that may help."""

import gzip
import socket
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tenure.api.redaction import Redaction
from tenure.core.signals import SpanEnded
from tenure.core.values.span import Attributes, Span
from tenure.storage.sqlite.store import SqliteStore
from tenure.telemetry.traces.attempt_spans import AttemptSpans
from tenure.telemetry.traces.batches import BatchLimits
from tenure.telemetry.traces.collector import LARGEST_ANSWER, Collector
from tenure.telemetry.traces.otlp import OtlpSpans
from tests.telemetry.sample_signals import claimed

BODY = b"spans" * 100


class Scripted(ThreadingHTTPServer):
    """A server with scripted answers, and the requests that it got."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.callers: set[int] = set()
        """The ports of its callers: one for each connection."""
        self.says = b""
        """What each answer holds."""
        self.goes_on = False
        """Whether the body is sent again and again, until the caller hangs up."""
        self.was_hung_up_on = threading.Event()
        self.answers_now = threading.Event()
        self.answers_now.set()
        super().__init__(("127.0.0.1", 0), _Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.server.callers.add(self.client_address[1])
        assert self.server.answers_now.wait(30)
        status, headers = self.server.answers.pop(0) if self.server.answers else (200, {})
        says, goes_on = self.server.says, self.server.goes_on
        self.send_response(status)
        for name, value in {"content-length": str(len(says)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(says)
        while goes_on:
            try:
                self.wfile.write(says)
            except OSError:
                self.server.was_hung_up_on.set()
                return

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted() as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    ("compression", "read"), [("none", bytes), ("gzip", gzip.decompress), ("deflate", zlib.decompress)]
)
def test_where_spans_go_and_in_which_form_is_what_the_variables_say(
    server: Scripted, compression: str, read: "type[bytes]"
) -> None:
    collector = Collector(
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": server.url + "/",
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=general",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key=of%20traces,other=1",
            "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
        }
    )
    assert collector.send(BODY) == ""
    [(path, headers, body)] = server.requests
    assert (path, read(body)) == ("/v1/traces", BODY)
    assert (headers["api-key"], headers["other"]) == ("of traces", "1")
    assert headers["content-type"] == "application/x-protobuf"
    assert headers.get("content-encoding", "none") == compression


def test_an_address_for_traces_is_taken_as_it_is(server: Scripted) -> None:
    collector = Collector({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{server.url}/mine"})
    assert collector.send(BODY) == ""
    assert server.requests[0][0] == "/mine"


def test_a_collector_that_has_no_time_is_asked_again_when_it_says_and_one_that_refuses_is_not(
    server: Scripted,
) -> None:
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url})
    server.answers = [(503, {"retry-after": "0"}), (429, {"retry-after": "0"}), (200, {})]
    assert collector.send(BODY) == ""
    assert len(server.requests) == 3
    server.answers = [(400, {})]
    assert collector.send(BODY) == "400"
    assert len(server.requests) == 4
    server.answers = [(503, {"retry-after": "100"})]  # which is longer than a request may take
    assert collector.send(BODY) == "503"
    collector.close()
    server.answers = [(503, {"retry-after": "1"})]
    assert collector.send(BODY) == "503"
    assert len(server.requests) == 6


def test_one_connection_is_kept_whatever_is_answered_on_it(server: Scripted) -> None:
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url})
    for body in (b"", b"\x0a\x00", b"x" * (LARGEST_ANSWER - 1)):
        server.says = body
        assert collector.send(BODY) == ""
    server.answers = [(400, {})]
    assert collector.send(BODY) == "400"
    assert (len(server.requests), len(server.callers)) == (4, 1)


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_never_ends_is_hung_up_on(server: Scripted, status: int) -> None:
    """Only its head matters."""
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url})
    server.says, server.goes_on = b"x" * LARGEST_ANSWER, True
    server.answers = [(status, {"content-length": str(2**40)})]
    assert collector.send(BODY) == ("" if status == 200 else "400")
    assert server.was_hung_up_on.wait(30)
    server.goes_on = False
    assert collector.send(BODY) == ""
    assert len(server.callers) == 2


def test_large_spans_that_wait_for_a_slow_collector_hold_only_so_many_bytes(
    server: Scripted, tmp_path: Path
) -> None:
    """S1.76: those beyond are dropped and counted, and the rest arrives."""
    limits = BatchLimits(together=5, seconds=30, most_bytes=500_000, bytes_together=200_000)
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url})
    spans = OtlpSpans(collector, print, Redaction(()), limits=limits)
    attempts = AttemptSpans(spans, SqliteStore(tmp_path / "never-opened.db"))
    attributes: Attributes = {"text": "x" * 50_000}
    large = Span(name="n", trace_id="1" * 32, span_id="1" * 16, began_at=1, ended_at=2, attributes=attributes)
    server.answers_now.clear()
    for _ in range(30):
        attempts(SpanEnded(claimed(), large))
    assert spans.dropped == 21
    server.answers_now.set()
    spans.close()
    came = [ExportTraceServiceRequest.FromString(body) for _, _, body in server.requests]
    counts = [len(scope.spans) for one in came for of in one.resource_spans for scope in of.scope_spans]
    assert counts == [4, 4, 1]


def test_who_sends_elsewhere_has_taken_nothing(server: Scripted) -> None:
    """A redirect is not followed: the headers, with their keys, are for one address."""
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url})
    server.answers = [(307, {"location": f"{server.url}/elsewhere"})]
    assert collector.send(BODY) == "307"
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["0", "-1", "nan", "1e-9", "soon"])
def test_a_collector_that_has_never_time_is_not_asked_without_a_pause(server: Scripted, header: str) -> None:
    """Nor for longer than a request may take, whatever it says of when to come again."""
    collector = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url, "OTEL_EXPORTER_OTLP_TIMEOUT": "0.3"})
    server.answers = [(503, {"retry-after": header})] * 100
    assert collector.send(BODY) == "503"
    assert len(server.requests) <= 4


def test_nobody_there_is_a_problem_and_no_exception() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without a listener
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        away = Collector({"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "0.5"})
        assert away.send(BODY) == "ConnectionError"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://ada:[secret]@collector:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:431800"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://collector"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key: secret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "other=1,api-key=secret%0D%0Aforged:1"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", 'api-key="secret"'),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/nowhere/client.pem"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "nan"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name: str, value: str) -> None:
    """And not repeated: it may hold a key."""
    with pytest.raises(ValueError, match=name) as refused:
        Collector({name: value})
    assert "secret" not in str(refused.value)
