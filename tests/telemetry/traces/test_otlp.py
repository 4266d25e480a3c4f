"""Commands that export spans: one trace over request, attempt and handler, in three processes."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tenure.assemble.span_export import exported
from tenure.core.errors import InvalidInput
from tenure.settings.settings import Settings
from tests.surfaces.command import fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import on
from tests.telemetry.collectors import collector
from tests.telemetry.scrape import Scrape
from tests.until import until_sync

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "hunter2-which-nobody-may-see"
APP = f"""
from opentelemetry import trace
from tenure import Tenure

app = Tenure()
SECRET = {SECRET!r}


@app.job("double")
def double(params: dict) -> int:
    with trace.get_tracer("tenure").start_as_current_span(f"ask with token={{SECRET}}") as span:
        span.set_attribute("db.password", SECRET)
    with trace.get_tracer("app").start_as_current_span("multiply") as span:
        span.set_attribute("db.password", SECRET)
        span.add_event(f"asked with token={{SECRET}}")
        span.record_exception(ValueError(f"no answer from https://ada:{{SECRET}}@mail, token={{SECRET}}"))
        span.set_status(trace.StatusCode.ERROR, f"token={{SECRET}}")
        return 2 * params["n"]
"""


@pytest.fixture(autouse=True)
def app(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)


def served(process: "subprocess.Popen[str]") -> str:
    """Where a server listens, once it says so."""
    assert process.stderr is not None
    output = ""
    while not (found := re.search(r"(http://127\.0\.0\.1:\d+) on ", output)):
        line = process.stderr.readline()
        assert line, output
        output += line
    return found[1]


def ended(process: "subprocess.Popen[str]") -> str:
    """All of its output, once it has ended in order."""
    process.send_signal(signal.SIGTERM)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


def run_one(url: str) -> None:
    """Run a job as a traced caller."""
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        made = client.post(
            "/v1/jobs",
            json={"definitionKey": "double", "params": {"n": 2}},
            headers={"traceparent": f"00-{TRACE}-{SPAN}-01"},
        )
        assert made.status_code == 202, made.text
        until_sync(lambda: client.get(made.headers["location"]).json()["status"] == "succeeded")


def counted(url: str, sample: str, **labels: str) -> float:
    """What the server's registry says of its calls of the collector, once there was one."""
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:

        def value() -> float:
            scraped = Scrape(client.get("/metrics").content)
            return scraped.value(sample, service="otlp", operation="export", **labels)

        return until_sync(value)


def test_a_trace_goes_from_a_request_through_the_attempt_into_the_handler(
    start: Start, database: str
) -> None:
    """S1.76, S1.79: the spans of all three are exported, those of a process that ended by `_exit` as well,
    and nothing of its secrets. S2.49: requests to the collector are timed.
    """
    on(database, lambda store: store.verify())
    with collector() as taken:
        variables = {
            "TENURE_TRACING": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": taken.url,
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
        }
        process = start("serve", "app:app", "--database", database, "--port", "0", **variables)
        url = served(process)
        run_one(url)
        assert counted(url, "external_duration_seconds_count") > 0
        ended(process)  # what has not been sent by now is sent then
        request, attempt, own, other = (
            taken.named(name)
            for name in ("POST /v1/jobs", "process double", "multiply", "ask with token=[redacted]")
        )
        assert {each.trace_id.hex() for each in (request, attempt, own, other)} == {TRACE}
        assert request.parent_span_id.hex() == SPAN
        assert attempt.parent_span_id == request.span_id
        assert own.parent_span_id == attempt.span_id
        assert taken.services == {"tenure"}
        assert own.status.message == "token=[redacted]"
        assert [event.name for event in own.events] == ["asked with token=[redacted]", "exception"]
        assert SECRET.encode() not in own.SerializeToString() + other.SerializeToString()


def test_without_a_collector_all_goes_on_and_is_told_once(start: Start, tmp_path: Path) -> None:
    """S2.50: and the calls that failed are counted."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without a listener
        variables = {
            "TENURE_TRACING": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{taken.getsockname()[1]}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        process = start("serve", "app:app", "--port", "0", **variables)
        url = served(process)
        run_one(url)
        run_one(url)
        assert counted(url, "external_error_total", error_code="ConnectionError") > 0
        output = ended(process)
    assert "Traceback" not in output
    assert output.count("spans cannot be exported") == 1


def test_a_way_to_export_that_there_is_not_is_refused(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "worker", "app:app", TENURE_TRACING="jaeger")
    assert fails(ran, 2, "TENURE_TRACING", "jaeger", "off, otlp")


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "from 1"),
        ("OTEL_TRACES_SAMPLER", "traceidratoi", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "10%", "from 0 to 1"),
        ("OTEL_TRACES_SAMPLER_ARG", "nan", "from 0 to 1"),
    ],
)
async def test_a_variable_of_the_sdk_that_makes_no_sense_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, instead: str
) -> None:
    """The SDK itself would record everything instead."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=f"tracing: .*{name} .*{instead}"):
        async with exported(Settings(tracing="otlp"), print):
            pass


def test_what_makes_no_sense_ends_the_command_in_good_order(tmp_path: Path) -> None:
    """With nothing of a key that stands where it should not."""
    wrong = {"OTEL_EXPORTER_OTLP_HEADERS": f"api-key: {SECRET}"}
    ran = tenure(tmp_path, "api", "--port", "0", TENURE_TRACING="otlp", **wrong)
    assert fails(ran, 2, "tracing", "OTEL_EXPORTER_OTLP_HEADERS", "name=value")
    assert SECRET not in ran.stdout + ran.stderr


async def test_what_is_not_installed_is_named_with_the_packages_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for loaded in ("otlp", "collector"):
        monkeypatch.delitem(sys.modules, f"tenure.telemetry.traces.{loaded}", raising=False)
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(
        InvalidInput, match=r"tracing: .*is not installed; run pip install 'opentelemetry-sdk>="
    ):
        async with exported(Settings(tracing="otlp"), print):
            pass
