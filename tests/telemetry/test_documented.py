"""The page names every family, and no other."""

import re
from pathlib import Path

from tenure.telemetry.worker import WorkerMetrics
from tests.telemetry.scraping import Scrape

PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \|", re.MULTILINE)


async def test_every_family_is_described_with_its_type() -> None:
    families = Scrape(await WorkerMetrics().text()).families
    assert dict(ROW.findall(PAGE)) == {name: family.kind for name, family in families.items()}
