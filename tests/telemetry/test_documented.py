"""The page names every family of each registry, and no other."""

import re
from pathlib import Path

import pytest

from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.worker import WorkerMetrics
from tests.telemetry.scraping import Scrape

PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
OF_WORKERS, _, OF_THE_API = PAGE.partition("## The API's")
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.*?) ?\|", re.MULTILINE)


@pytest.mark.parametrize(
    ("kind", "part"), [(WorkerMetrics, OF_WORKERS), (ApiMetrics, OF_THE_API)], ids=["worker", "api"]
)
async def test_every_family_is_described_with_its_type(
    kind: type[WorkerMetrics | ApiMetrics], part: str
) -> None:
    families = Scrape(await kind().text()).families
    assert {name: type_ for name, type_, _ in ROW.findall(part)} == {
        name: family.kind for name, family in families.items()
    }
