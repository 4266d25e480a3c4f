"""Metrics in the text format of Prometheus. The first scrape loads the library that writes it."""

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING

from tenure.telemetry.metrics.instruments import FamilySnapshot

if TYPE_CHECKING:
    from prometheus_client import Metric

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def expose(families: Iterable[FamilySnapshot]) -> bytes:
    """Families as text, with the system's figures of this process; too slow for an event loop."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Fixed([_metric(family) for family in families]))
    return generate_latest(registry)


class _Fixed:
    def __init__(self, metrics: "list[Metric]") -> None:
        self._metrics = metrics

    def collect(self) -> "list[Metric]":
        return self._metrics


def _metric(family: FamilySnapshot) -> "Metric":
    from prometheus_client import Metric

    name = family.name
    metric = Metric(name.removesuffix("_total"), family.text, family.kind)
    ends = [*(str(float(bound)) for bound in family.bounds), "+Inf"]
    for values, numbers in family.series:
        labels = dict(zip(family.labels, values, strict=True))
        if family.kind != "histogram":
            metric.add_sample(name, labels, numbers[0])
            continue
        *cells, total = numbers
        for end, count in zip(ends, accumulate(cells), strict=True):
            metric.add_sample(f"{name}_bucket", {**labels, "le": end}, count)
        metric.add_sample(f"{name}_count", labels, sum(cells))
        metric.add_sample(f"{name}_sum", labels, total)
    return metric
