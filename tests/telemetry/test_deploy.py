"""What is shipped for Prometheus and Grafana speaks of metrics that there are, and Prometheus takes it."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tests.debian import fetched
from tests.telemetry.scrape import Scrape

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus/alerts.yml"
DASHBOARD = json.loads((DEPLOY / "grafana/tenure.json").read_text())
NOT_NAMES = re.compile(r"\{[^}]*\}|\[[^]]*\]|\b(?:by|on) \([^)]*\)")
NAME = re.compile(r"\b[a-z0-9]+_[a-z0-9_]+\b")
FUNCTIONS = {"histogram_quantile"}


def promtool(*arguments: str, text: bytes = b"") -> "subprocess.CompletedProcess[str]":
    program = fetched("prometheus") / "usr/bin/promtool"
    done = subprocess.run([program, *arguments], input=text, capture_output=True, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def names_in(expression: str) -> set[str]:
    """The families that an expression asks for."""
    found = set(NAME.findall(NOT_NAMES.sub(" ", expression))) - FUNCTIONS
    return {re.sub(r"_(bucket|sum|count)$", "", name) if "_bucket" in name else name for name in found}


async def known() -> set[str]:
    scrapes = [Scrape(await registry.text()) for registry in (WorkerMetrics(), ApiMetrics())]
    return {name for scrape in scrapes for name in scrape.families}


async def test_every_panel_asks_for_what_is_there() -> None:
    targets: list[dict[str, Any]] = [one for panel in DASHBOARD["panels"] for one in panel["targets"]]
    used = [names_in(target["expr"]) for target in targets]
    assert all(used)
    assert not set().union(*used) - await known()


async def test_every_alert_asks_for_what_is_there() -> None:
    result = promtool("check", "rules", str(RULES))
    assert result.returncode == 0, result.stderr
    rules = re.findall(r"expr: (\|\n(?: {10}.*\n)+|.*\n)", RULES.read_text())
    assert f"{len(rules)} rules found" in result.stdout
    used = [names_in(rule) for rule in rules]
    assert all(used)
    assert not set().union(*used) - await known()


def test_prometheus_takes_the_configuration() -> None:
    result = promtool("check", "config", str(DEPLOY / "prometheus/prometheus.yml"))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("kind", [WorkerMetrics, ApiMetrics])
async def test_prometheus_reads_what_is_exposed(kind: type[WorkerMetrics | ApiMetrics]) -> None:
    """It frowns at milliseconds, which were asked for, and at nothing else."""
    result = promtool("check", "metrics", text=await kind().text())
    complaints = [line for line in result.stderr.splitlines() if "job_queue_latency_milliseconds" not in line]
    assert not complaints
