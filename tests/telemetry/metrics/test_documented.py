"""The page names every family of each registry, and no other."""

import pytest

from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tests.telemetry.metrics_page import OF_THE_API, OF_WORKERS, check_whole
from tests.telemetry.scrape import Scrape


@pytest.mark.parametrize(
    ("kind", "part"), [(WorkerMetrics, OF_WORKERS), (ApiMetrics, OF_THE_API)], ids=["worker", "api"]
)
async def test_every_family_is_described_with_its_type(
    kind: type[WorkerMetrics | ApiMetrics], part: str
) -> None:
    check_whole(Scrape(await kind().text()), part)
