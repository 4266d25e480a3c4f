"""What the table of lanes says of warm processes is what is in force."""

from datetime import timedelta
from pathlib import Path

from tenure.execution.parent.runner_lanes import WARM_AGE, WARM_ATTEMPTS

PAGE = Path(__file__).parents[2] / "docs/how-to/lanes.md"


def test_the_page_names_when_a_warm_process_is_replaced() -> None:
    assert (1_000, timedelta(hours=1)) == (WARM_ATTEMPTS, WARM_AGE)
    assert "A warm process is replaced after 1,000 attempts, after an hour" in PAGE.read_text()
